// Requests of the admin API for "Copy as". Pure.
import { type AdminCall, quoteShell } from './snippets.ts';

/** Workspace of a server. */
export interface Target {
  readonly origin: string;
  readonly org: string;
  readonly ws: string;
}

export interface AdminRequest {
  readonly method?: AdminCall['method'];
  /** Path below the workspace, with its slash. */
  readonly rest: string;
  /** JSON text. */
  readonly body?: string | undefined;
  /** Entity tag with its quotes. */
  readonly ifMatch?: string | undefined;
  /** Command for the same request, without workspace and server. */
  readonly wda?: string;
  /** Standard input of the command, without line breaks. */
  readonly input?: string;
}

export function createAdminCall({ origin, org, ws }: Target, request: AdminRequest): AdminCall {
  const { method = 'GET', rest, body, ifMatch, wda, input } = request;
  const where = `-w ${quoteShell(`${org}/${ws}`)} --url ${quoteShell(origin)}`;
  return {
    origin,
    method,
    path: `/api/admin/v1/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(ws)}${rest}`,
    ...(body === undefined ? {} : { body }),
    ...(ifMatch === undefined ? {} : { headers: [['If-Match', ifMatch]] }),
    ...(wda === undefined
      ? {}
      : { wda: `WDA_KEY="$WDA_KEY" wda ${wda} ${where}${input === undefined ? '' : ` <<'JSON'\n${input}\nJSON`}` }),
  };
}

/** Returns the option for the workspace of a command. */
export const workspaceOption = ({ org, ws }: Pick<Target, 'org' | 'ws'>): string => `-w ${quoteShell(`${org}/${ws}`)}`;

/** Creates a read request by its path below `/api`; `wda`: command for the same, without the server. */
export const createReadCall = (origin: string, path: string, wda?: string): AdminCall => ({
  origin,
  method: 'GET',
  path: `/api${path}`,
  ...(wda === undefined ? {} : { wda: `WDA_KEY="$WDA_KEY" wda ${wda} --url ${quoteShell(origin)}` }),
});

/** Import of a file into an entity. */
export interface Imported extends Target {
  readonly entity: string;
  readonly file: { readonly name: string; readonly type: string };
  /** Parameters of the request. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
}

export function createImportCall({ origin, org, ws, entity, file, parameters }: Imported): AdminCall {
  const entries = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const query = entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`;
  const { map, formats, onConflict, conflictOn, rejects, maxErrors } = parameters;
  const conflict = conflictOn ?? onConflict;
  const options = [
    ...(map === undefined ? [] : [` --map ${quoteShell(map)}`]),
    ...(formats === undefined ? [] : [` --formats ${quoteShell(formats)}`]),
    ...(conflict === undefined ? [] : [` --on-conflict ${quoteShell(conflict)}`]),
    ...(rejects === undefined ? [] : [' --rejects rejected-rows']),
    ...(maxErrors === undefined ? [] : [` --max-errors ${maxErrors}`]),
  ].join('');
  const name = quoteShell(file.name.startsWith('-') ? `./${file.name}` : file.name);
  const wda = `WDA_KEY="$WDA_KEY" wda import ${quoteShell(entity)} ${name} ${workspaceOption({ org, ws })} --url ${quoteShell(origin)}${options}`;
  return {
    origin,
    method: 'POST',
    path: `/api/v1/${encodeURIComponent(org)}/${encodeURIComponent(ws)}/${encodeURIComponent(entity)}/_import${query}`,
    file,
    // The command detects the format by the name, and with `conflictOn` it can only update existing records.
    ...((conflictOn !== undefined && onConflict === 'skip') || !/\.(?:csv|ndjson|jsonl)$/.test(file.name)
      ? {}
      : { wda }),
  };
}

/** Change of the schema document. */
export interface SchemaChange {
  /** JSON text without line breaks. */
  readonly document: string;
  readonly strategy: 'online' | 'blocking';
  /** ETag of the document that the draft started from, without quotes. */
  readonly basedOn: string | undefined;
}

export function createPlanCall(target: Target, { document, strategy, basedOn }: SchemaChange): AdminCall {
  const based = basedOn === undefined ? '' : `&basedOn=${encodeURIComponent(basedOn)}`;
  return createAdminCall(target, {
    method: 'POST',
    rest: `/schema/plan?strategy=${strategy}${based}`,
    body: document,
    wda: `schema plan - --strategy ${strategy}${printBasedOn(basedOn)}`,
    input: document,
  });
}

export function createApplyCall(
  target: Target,
  change: SchemaChange & { readonly allowDestructive: boolean },
): AdminCall {
  const { document, strategy, basedOn, allowDestructive } = change;
  const destroys = allowDestructive ? ' --allow-destructive' : '';
  return createAdminCall(target, {
    method: 'PUT',
    rest: `/schema?strategy=${strategy}&allowDestructive=${allowDestructive}&wait=0`,
    body: document,
    ifMatch: basedOn === undefined ? undefined : `"${basedOn}"`,
    wda: `schema apply - --strategy ${strategy}${destroys}${printBasedOn(basedOn)} --wait 0`,
    input: document,
  });
}

const printBasedOn = (basedOn: string | undefined): string =>
  basedOn === undefined ? '' : ` --based-on ${quoteShell(basedOn)}`;

/** Parses the tag of an ETag: `"abc.def"` and `W/"abc"` are of the document `abc`. */
export const parseEtag = (etag: string | undefined): string | undefined =>
  etag === undefined ? undefined : /^(?:W\/)?"?([^".]*)/.exec(etag)?.[1];
