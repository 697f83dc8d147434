// The part of `npm run bench:access` about grants: two tables with the same records, one under a row rule and one under
// the grants of roles, which are told apart by the tokens.

import { ADMIN, call, type RunningServer, schemaOfWorkspace, withClient } from './setup.ts';
import type { Provider } from './tokens.ts';

const GRANTED = `${ADMIN}/bench/workspaces/granted`;
/** Members of the claims that all tokens have: each finds one record in a thousand. */
const CLAIMS = { company_id: 7, team_id: 9 };
/** Records of each table at scale 1. */
const RECORDS = 1_000_000;

const NAMES = Array.from({ length: 16 }, (_, index) => `f${index + 1}`);
const fields = {
  companyId: { type: 'integer' },
  teamId: { type: 'integer' },
  ...Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])),
};
const ofCompany = { field: 'companyId', op: 'eq', value: { claim: 'company_id' } };
const ofTeam = { field: 'teamId', op: 'eq', value: { claim: 'team_id' } };
const read = { can: ['read'] } as const;
/** A grant of one field alone makes all others depend on the record. */
const grants = [
  { ...read, role: ['company', 'both', 'partial'], where: ofCompany },
  { ...read, role: ['team', 'both'], where: ofTeam },
  { ...read, role: 'partial', where: ofTeam, fields: ['companyId', 'teamId'] },
];
const indexes = [{ fields: ['companyId'] }, { fields: ['teamId'] }];
export const schema = {
  roles: ['company', 'team', 'both', 'partial'],
  entities: {
    ruled: { fields, indexes, rowRules: [{ column: 'companyId', claim: 'company_id', enabled: true }] },
    granted: { fields, indexes, grants },
  },
};

/** Makes the workspace with both tables. */
export async function makeGranted(
  server: RunningServer,
  { url, adminKey }: { readonly url: string; readonly adminKey: string },
  settings: object,
  scale: number,
): Promise<void> {
  const body = { slug: 'granted', name: 'Granted', schema };
  await call(server, adminKey, 'POST', `${ADMIN}/bench/workspaces`, body);
  await call(server, adminKey, 'PUT', `${GRANTED}/identity-provider`, { ...settings, roleClaim: 'roles' });
  await withClient(url, async (client) => {
    const name = await schemaOfWorkspace(client, 'granted');
    const columns = NAMES.map((field) => `"${field}"`).join();
    const values = NAMES.map((field) => `'${field} of ' || n`).join();
    const count = Math.round(RECORDS * scale);
    // Companies and teams have a record in a thousand each, far from each other.
    for (const table of ['ruled', 'granted']) {
      await client.query(
        `insert into ${name}.${table} ("companyId", "teamId", ${columns}) select n % 1000, (n / 1000 * 7 + n * 31) % 997, ${values} from generate_series(1, ${count}) n`,
      );
      await client.query(`vacuum analyze ${name}.${table}`);
    }
  });
}

/** Returns the headers of a user with the role. */
export const roleHeaders = (provider: Provider, role: string) => ({
  authorization: `Bearer ${provider.token({ ...CLAIMS, roles: [role] })}`,
});
