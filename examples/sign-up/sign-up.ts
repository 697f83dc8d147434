// Makes the workspace of a new customer by one request of the admin API, and reads how much of its limits it uses.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { LimitChange, NewWorkspace, SchemaDocument, WorkspaceCreated } from '../../admin-types/admin-api.d.ts';

/** What a customer may use; raised later by `wda workspace limits`. */
const PLANS = {
  free: { maxRecords: 1_000, maxBytes: 50_000_000, maxRequestsPerMinute: 60 },
  team: { maxRecords: 100_000, maxBytes: 2_000_000_000, maxRequestsPerMinute: 1_200 },
} as const satisfies Readonly<Record<string, LimitChange>>;
export type Plan = keyof typeof PLANS;

/** Returns true for the name of a plan. */
export const isPlan = (name: unknown): name is Plan => typeof name === 'string' && Object.hasOwn(PLANS, name);

export interface Settings {
  /** URL of the server, without a slash at its end. */
  readonly url: string;
  /** The operator's key: it stays in this process. */
  readonly operatorKey: string;
  /** Organization that gets the workspaces. */
  readonly organization: string;
  /** Shared schema that they follow; without it they are made with schema.yaml. */
  readonly follows?: string | undefined;
  /** Identity provider of the product; without it only keys have access. */
  readonly provider?: { readonly issuer: string; readonly audience: string } | undefined;
}

export interface Customer {
  readonly workspace: string;
  /** URL of the data API. */
  readonly api: string;
  /** The only time that the key is known: neither the server nor this program stores it. */
  readonly key: string;
}

/** Makes a workspace with its schema, provider, first key and limits: all of it or nothing. */
export async function signUp(settings: Settings, company: string, plan: Plan): Promise<Customer> {
  const { url, operatorKey, organization, follows, provider } = settings;
  const slug = makeSlug(company);
  const workspace: NewWorkspace = {
    slug,
    name: company,
    ...(follows === undefined ? { schema: await readSchema() } : { follows: { schema: follows } }),
    ...(provider && {
      identityProvider: {
        issuerUrl: provider.issuer,
        audience: provider.audience,
        roleClaim: 'roles',
        // All customers have one provider: a token counts in the workspace that it names, and in no other.
        requiredClaims: { organization: slug },
        defaultPermissions: 'READ_WRITE',
        enabled: true,
      },
    }),
    apiKeys: [{ name: 'sign-up', permissions: 'OWNER' }],
    limits: PLANS[plan],
  };
  const response = await fetch(`${url}/api/admin/v1/organizations/${organization}/workspaces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(workspace),
    signal: AbortSignal.timeout(30_000),
  });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  const { data } = (await response.json()) as { readonly data: WorkspaceCreated };
  const [key] = data.apiKeys ?? [];
  if (key === undefined) throw new Error('the answer has no key');
  return { workspace: slug, api: `${url}/api/v1/${organization}/${slug}`, key: key.key };
}

/** Asks the server for the use of a workspace, with the key of its customer. */
export function fetchUsage(
  { url, organization }: Settings,
  workspace: string,
  authorization: string,
): Promise<Response> {
  return fetch(`${url}/api/admin/v1/organizations/${organization}/workspaces/${encodeURIComponent(workspace)}/usage`, {
    headers: { authorization },
    signal: AbortSignal.timeout(10_000),
  });
}

/**
 * Returns a slug that nobody else has, or had: it is in the URLs of programs, and a former one may still be called by those
 * of another customer.
 */
function makeSlug(company: string): string {
  const name = company
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-|-$/g, '');
  return `${name === '' ? 'customer' : name}-${randomBytes(4).toString('hex')}`;
}

const readSchema = async (): Promise<SchemaDocument> =>
  parse(await readFile(join(import.meta.dirname, 'schema.yaml'), 'utf8'));
