// Defines a step that makes a server match a configuration file: its requests, and what it needs and changes.

import type { Query } from './admin-client.ts';
import type { WorkspaceAddress } from './command.ts';
import type { SchemaFile } from './schema-file.ts';

export interface Request {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
}

/** Options of `wda config` that allow a step. */
export type Need = 'prune' | 'pruneWorkspaces' | 'allowDestructive';

export interface Step {
  /** `acme` or `acme/shop`. */
  readonly place: string;
  readonly change: 'create' | 'change' | 'remove';
  readonly what: string;
  /** Differences, one line each. */
  readonly details: readonly string[];
  /** Options that the step requires. */
  readonly needs: readonly Need[];
  /** Requests of the step, in order. */
  readonly requests: readonly Request[];
  /** List and name of the secret that the step creates. */
  readonly secret?: { readonly list: string; readonly name: string };
  /** Number of records that make the step impossible at the moment. */
  readonly recordsInTheWay?: number;
  /** Prefix of the API key that the step revokes. */
  readonly endsKey?: string;
  /** Workspace that the step migrates, and the file that mistakes in the response refer to. */
  readonly schema?: { readonly address: WorkspaceAddress; readonly file: SchemaFile };
  /** Document of a shared schema, which mistakes in the response refer to. */
  readonly file?: SchemaFile;
  /** Shared schema (`acme/helpdesk`) whose rollout the step waits for. */
  readonly rollout?: string;
  /** Workspace whose migration the step waits for, which the response does not have. */
  readonly migrates?: WorkspaceAddress;
}

/** Returns the step of a DELETE. */
export const removal = (place: string, what: string, request: Request, needs: Step['needs']): Step => ({
  place,
  change: 'remove',
  what,
  details: [],
  needs,
  requests: [request],
});

/** Returns the step of a PUT. */
export function put(
  place: string,
  what: string,
  path: string,
  { details, ...parts }: { readonly body: unknown; readonly details: readonly string[]; readonly query?: Query },
): Step {
  return { place, change: 'change', what, details, needs: [], requests: [{ method: 'PUT', path, ...parts }] };
}
