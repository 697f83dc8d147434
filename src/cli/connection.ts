// Where a command goes and as whom: options first, then the environment, then the default address. Takes the parsed
// options, gives a client and the workspace's paths, or a usage failure that says which setting is missing.
import { clientSettings } from '../config.ts';
import { ADMIN_PREFIX, type AdminClient, makeAdminClient } from './admin-client.ts';
import { usageFailure } from './failure.ts';
import type { Io } from './io.ts';

/** The options that every command takes. */
export interface GlobalOptions {
  readonly url?: string;
  readonly key?: string;
  readonly workspace?: string;
  readonly json?: boolean;
  readonly io: Io;
}

export interface WorkspaceAddress {
  readonly organization: string;
  readonly workspace: string;
}

export const DEFAULT_URL = 'http://localhost:3000';

/** The client for the server that the options or the environment name. */
export function connect(options: GlobalOptions): AdminClient {
  const { url, key } = getServer(options);
  return makeAdminClient(url, key);
}

/** Where the server is, and the credential. */
export function getServer(options: GlobalOptions): { readonly url: string; readonly key: string } {
  const settings = clientSettings(options.io.env);
  const key = options.key ?? settings.key;
  if (key === undefined || key === '')
    throw usageFailure('A credential is needed', [
      'Set WDA_KEY (an owner key of the workspace) or WDA_ADMIN_KEY, or pass --key.',
    ]);
  // node:http would refuse to send it as a header; this message does not repeat the key.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw usageFailure('The credential holds characters that no key has: check WDA_KEY or --key');
  return { url: options.url ?? settings.url ?? DEFAULT_URL, key };
}

/** The workspace that -w or WDA_WORKSPACE names. */
export function requireWorkspace(options: GlobalOptions): WorkspaceAddress {
  const text = options.workspace ?? clientSettings(options.io.env).workspace;
  if (text === undefined || text === '')
    throw usageFailure('A workspace is needed', ['Pass -w <organization>/<workspace> or set WDA_WORKSPACE.']);
  return parseWorkspace(text);
}

/** `acme/shop` as an address; a usage failure for anything but two slugs. */
export function parseWorkspace(text: string): WorkspaceAddress {
  const parts = text.split('/');
  const [organization, workspace] = parts;
  if (parts.length !== 2 || !isSlug(organization) || !isSlug(workspace))
    throw usageFailure(`A workspace is written <organization>/<workspace>, such as acme/shop, not ${text}`);
  return { organization, workspace };
}

/** `acme/shop`, as options and messages write it. */
export const workspaceName = ({ organization, workspace }: WorkspaceAddress): string => `${organization}/${workspace}`;

/** Path of an organization in the admin API. */
export const organizationPath = (organization: string): string =>
  `${ADMIN_PREFIX}/organizations/${encodeURIComponent(organization)}`;

/** Path of a workspace in the admin API. */
export const workspacePath = ({ organization, workspace }: WorkspaceAddress): string =>
  `${organizationPath(organization)}/workspaces/${encodeURIComponent(workspace)}`;

export const RECORDS_PREFIX = '/api/v1';

/** Path of an entity in the data API. */
export const entityPath = ({ organization, workspace }: WorkspaceAddress, entity: string): string =>
  `${RECORDS_PREFIX}/${encodeURIComponent(organization)}/${encodeURIComponent(workspace)}/${encodeURIComponent(entity)}`;

/** Whether organizations and workspaces can be called so in paths. */
export function isSlug(text: string | undefined): text is string {
  return text !== undefined && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}
