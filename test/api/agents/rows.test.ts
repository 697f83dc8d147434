// What an external user gets through an agent: what the data API gives, no more and no less.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { connectAgent } from '../../support/agent.ts';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import { documentOf, drawClaims, drawSchema, fill } from '../../support/row-rules-arbitrary.ts';
import { drawWish, pathsOf, treeOf, type Wish } from '../../support/row-rules-requests.ts';
import { draws } from '../../support/runs.ts';
import { LOCAL_PROVIDER, makeUsers } from '../../support/users.ts';

// That tools give what the data API gives; test/api/access/row-property.test.ts holds row rules against a model.
const WORKSPACES = 1;
const REQUESTS = 20;

const issuer = useIssuer();
const server = useServer({ ...LOCAL_PROVIDER, WDA_MCP_RATE_LIMIT: '0' });

/** The URL of the endpoint, which tokens are for. */
const audience = (path: string): string => `http://localhost:0/api/v1/${path}/_mcp`;

const queryOf = ({ entity: _, condition, search, expand, fields, sort, size }: Wish) => ({
  filter: treeOf(condition),
  ...(search === undefined ? {} : { search }),
  ...(fields === undefined ? {} : { fields }),
  expand: pathsOf(expand),
  sort: sort.map(([path, direction]) => `${path.join('.')},${direction}`),
  size,
});

test('random queries of users give the records that the data API gives them', async () => {
  let made = 0;
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (g) => {
      const drawn = drawSchema(g);
      const workspace = await server.workspace(`acme/rows-${made++}`, documentOf(drawn));
      const model = await fill(g, workspace, drawn);
      const tokenOf = await makeUsers(workspace, issuer);
      const credential = tokenOf({ ...drawClaims(g), aud: audience(workspace.path) });
      const agent = await connectAgent(server, workspace.path, credential);
      for (let count = 0; count < REQUESTS; count++) {
        const wish = drawWish(g, model);
        const { entity } = wish;
        const query = queryOf(wish);
        const rest = await workspace.call(`${entity}/_query`, { method: 'POST', credential, body: query });
        assert.equal(rest.status, 200, rest.text);
        assert.equal(await agent.data('query_records', { entity, ...query }), rest.text);
        const { filter, search } = query as { filter: unknown; search?: string };
        const counted = await agent.text('count_records', {
          entity,
          filter,
          ...(search === undefined ? {} : { search }),
        });
        assert.equal(counted, String(rest.json.meta.totalElements));
        const sums = { entity, filter, select: ['count', 'max:id'], group: ['word'], sort: ['word'] };
        const { entity: _, ...body } = sums;
        const grouped = await workspace.call(`${entity}/_aggregate`, { method: 'POST', credential, body });
        assert.equal(await agent.data('aggregate_records', sums), grouped.text);
        const id = g(fc.integer, { min: 1, max: 7 });
        const one = await workspace.call(`${entity}/${id}?fields=word`, { credential });
        const read = await agent.text('read_record', { entity, id, fields: ['word'] });
        if (one.status === 200) assert.ok(read.includes(one.text), read);
        else assert.equal(read, '404 NOT_FOUND: Record not found');
      }
      await agent.close();
    }),
    draws(WORKSPACES),
  );
});

const SECRET = 'xyzzy';
const CLINIC = {
  entities: {
    patients: {
      fields: {
        name: { type: 'string', unique: true, searchable: true },
        doctor: { type: 'string' },
      },
      relations: { visits: { kind: 'hasMany', entity: 'visits', inverse: 'patient' } },
      rowRules: [{ column: 'doctor', claim: 'sub' }],
    },
    visits: {
      fields: { note: { type: 'text' } },
      relations: { patient: { kind: 'belongsTo', entity: 'patients', required: true } },
    },
  },
};
const clinic = use(() => server.workspace('acme/clinic', CLINIC));
const tokenOf = useUsers(clinic, issuer);
const hidden = use(async () => {
  await clinic.create('patients', [{ name: 'Ada', doctor: 'eve' }]);
  const [patient] = await clinic.create('patients', [{ name: `${SECRET}-name`, doctor: 'mallory' }]);
  const [visit] = await clinic.create('visits', [{ note: 'seen', patientId: patient.id }]);
  return { patient: patient.id, visit: visit.id };
});

test('nothing of a hidden record is in any text, whatever is asked', async () => {
  const agent = await connectAgent(server, clinic.path, tokenOf({ sub: 'eve', aud: audience(clinic.path) }));
  const patients = { entity: 'patients' };
  const asked: readonly (readonly [string, Record<string, unknown>])[] = [
    ['list_entities', {}],
    ['describe_entities', { entities: ['patients', 'visits'] }],
    ['explain_access', {}],
    ['query_records', patients],
    ['query_records', { ...patients, filter: { field: 'name', op: 'startsWith', value: 'x' } }],
    ['query_records', { ...patients, search: 'xyz', count: 'estimated' }],
    ['query_records', { entity: 'visits', expand: ['patient'], sort: ['patient.name'] }],
    ['query_records', { entity: 'visits', filter: { field: 'patient.doctor', op: 'eq', value: 'mallory' } }],
    ['count_records', { ...patients, filter: { field: 'doctor', op: 'eq', value: 'mallory' } }],
    ['aggregate_records', { ...patients, select: ['count', 'max:name'], group: ['doctor'] }],
    ['aggregate_records', { entity: 'visits', select: ['count', 'min:patient.name'], group: ['patient.doctor'] }],
    ['read_record', { ...patients, id: hidden.patient }],
    ['read_record', { entity: 'visits', id: hidden.visit, expand: ['patient'] }],
  ];
  for (const [tool, args] of asked) {
    assert.doesNotMatch(await agent.text(tool, args), /xyzzy|mallory/, `${tool} ${JSON.stringify(args)}`);
  }
  assert.equal(await agent.text('count_records', patients), '1');
  assert.equal(await agent.text('read_record', { ...patients, id: hidden.patient }), '404 NOT_FOUND: Record not found');
  assert.match(
    await agent.text('describe_entities', { entities: ['patients'] }),
    /\n {2}you see: doctor = "eve" \(from your sub\)/,
  );
  assert.match(
    await agent.text('explain_access'),
    /^You are the user whose sub is eve, with READ_WRITE permissions, in acme\/clinic\.\n.*\npatients: doctor = "eve" \(from your sub\)$/ms,
  );
  await agent.close();
});
