// Kinds of rows that a workspace has in addition to its document and records, each as lines of JSON: how they are read,
// and how they become rows of another workspace. They contain no ids and no names of schemas; entities are referenced
// by name. A member of a later version is missing in older files, and null then.
import { empty, type Fragment, ident, integerLiteral, join, sql, type TableName, tableRef } from '../sql/fragment.ts';

export interface RowKind {
  /** Name of the kind in the file. */
  readonly name: string;
  /** Selects the lines, for COPY: values are literals in the text. */
  readonly lines: (workspaceId: string) => Fragment;
  /**
   * Inserts the lines of a table with the one column `line`. Rows that another workspace has are skipped. Returns
   * `shows` for each row: whether its times are in the range that the API can show.
   */
  readonly insert: (workspaceId: string, lines: TableName) => Fragment;
}

interface RowKindDefinition {
  readonly name: string;
  readonly table: Fragment;
  /** Expressions on the row `t` by member name. */
  readonly members: Readonly<Record<string, Fragment>>;
  readonly where?: Fragment;
  readonly order: Fragment;
  /** Types of the members, for json_to_record. */
  readonly types: Fragment;
  /** Columns other than workspace_id, and their values from the members, `r`. */
  readonly columns: Fragment;
  readonly values: Fragment;
  readonly conflict?: Fragment;
  /** Columns that contain times. */
  readonly times?: Fragment;
}

// Scopes by the names of entities; ids of deleted entities are left out.
const SCOPE = sql`case when t.entities is not null then (
  select coalesce(json_agg(e.key order by e.key), '[]') from wda.workspace w, jsonb_each_text(w.entity_ids) e
  where w.id = t.workspace_id and e.value::bigint = any(t.entities)) end`;
const SCOPE_IDS = sql`case when json_typeof(r.entities) = 'array' then (
  select coalesce(array_agg((w.entity_ids ->> e.name)::bigint), '{}') from json_array_elements_text(r.entities) e (name)
  where w.entity_ids ? e.name) end`;

const HAS_ONE_ENTITY = sql`cardinality(${SCOPE_IDS}) = 1`;

const selectMembers = (names: Readonly<Record<string, Fragment>>): Fragment =>
  sql`select ${join(Object.entries(names).map(([name, value]) => sql`${value} as ${ident(name)}`))}`;

const defineRowKind = ({
  name,
  table,
  members: read,
  where,
  order,
  types,
  columns,
  values,
  conflict,
  times,
}: RowKindDefinition): RowKind => ({
  name,
  lines: (workspaceId) =>
    sql`select row_to_json(l)::text from (${selectMembers(read)} from ${table} t
where t.workspace_id = ${integerLiteral(Number(workspaceId))}${where === undefined ? empty : sql` and ${where}`} order by ${order}) l`,
  insert: (workspaceId, lines) => sql`insert into ${table} as i (workspace_id, ${columns})
select w.id, ${values} from ${tableRef(lines)} l cross join json_to_record(l.line::json) r (${types})
join wda.workspace w on w.id = ${workspaceId}::bigint order by l.at${conflict === undefined ? empty : sql` on conflict ${conflict} do nothing`} returning ${times === undefined ? sql`true` : checkTimes(times)} as shows`,
});

// least() and greatest() ignore null; without any time the result is null.
const checkTimes = (times: Fragment): Fragment =>
  sql`(coalesce(least(${times}) >= '0001-01-01Z' and greatest(${times}) < '9999-12-31 23:59:59.9995Z', true))`;

const PERMISSIONS = sql`t.permissions`;
const NAME = sql`t.name`;
const CREATED = sql`t.created_at`;

/** Row kinds in the order of the file. */
export const ROW_KINDS: readonly RowKind[] = [
  defineRowKind({
    name: 'apiKeys',
    table: sql`wda.api_key`,
    members: {
      name: NAME,
      prefix: sql`t.prefix`,
      hash: sql`encode(t.hash, 'hex')`,
      permissions: PERMISSIONS,
      grants: sql`t.grants`,
      entities: SCOPE,
      expires_at: sql`t.expires_at`,
      created_at: CREATED,
      last_used_at: sql`t.last_used_at`,
    },
    order: sql`t.id`,
    times: sql`i.expires_at, i.created_at, i.last_used_at`,
    types: sql`name text, prefix text, hash text, permissions text, grants json, entities json, expires_at timestamptz, created_at timestamptz, last_used_at timestamptz`,
    columns: sql`name, prefix, hash, permissions, grants, entities, expires_at, created_at, last_used_at`,
    values: sql`r.name, r.prefix, decode(r.hash, 'hex'), r.permissions, r.grants, ${SCOPE_IDS}, r.expires_at, r.created_at, r.last_used_at`,
    conflict: sql`(hash)`,
  }),
  defineRowKind({
    name: 'oauthClients',
    table: sql`wda.oauth_client`,
    members: {
      client_id: sql`t.client_id`,
      name: NAME,
      secret_hash: sql`encode(t.secret_hash, 'hex')`,
      permissions: PERMISSIONS,
      grants: sql`t.grants`,
      entities: SCOPE,
      created_at: CREATED,
    },
    order: sql`t.id`,
    times: sql`i.created_at`,
    types: sql`client_id text, name text, secret_hash text, permissions text, grants json, entities json, created_at timestamptz`,
    columns: sql`client_id, name, secret_hash, permissions, grants, entities, created_at`,
    values: sql`r.client_id, r.name, decode(r.secret_hash, 'hex'), r.permissions, r.grants, ${SCOPE_IDS}, r.created_at`,
    conflict: sql`(client_id)`,
  }),
  defineRowKind({
    name: 'identityProvider',
    table: sql`wda.identity_provider`,
    members: {
      issuer_url: sql`t.issuer_url`,
      jwks_uri: sql`t.jwks_uri`,
      audience: sql`t.audience`,
      default_permissions: sql`t.default_permissions`,
      enabled: sql`t.enabled`,
      role_claim: sql`t.role_claim`,
      required_claims: sql`t.required_claims`,
      created_at: CREATED,
      updated_at: sql`t.updated_at`,
    },
    order: sql`t.workspace_id`,
    times: sql`i.created_at, i.updated_at`,
    types: sql`issuer_url text, jwks_uri text, audience text, default_permissions text, enabled boolean, role_claim text, required_claims json, created_at timestamptz, updated_at timestamptz`,
    columns: sql`issuer_url, jwks_uri, audience, default_permissions, enabled, role_claim, required_claims, created_at, updated_at`,
    values: sql`r.issuer_url, r.jwks_uri, r.audience, r.default_permissions, r.enabled, r.role_claim, r.required_claims, r.created_at, r.updated_at`,
  }),
  defineRowKind({
    name: 'agents',
    table: sql`wda.agent_settings`,
    members: { enabled: sql`t.enabled`, writes: sql`t.writes`, entities: SCOPE },
    order: sql`t.workspace_id`,
    types: sql`enabled boolean, writes text, entities json`,
    columns: sql`enabled, writes, entities`,
    values: sql`r.enabled, r.writes, ${SCOPE_IDS}`,
  }),
  // Without secrets and values of headers, disabled: a copy of a workspace never calls the receivers of the original.
  defineRowKind({
    name: 'webhooks',
    table: sql`wda.webhook`,
    members: {
      name: NAME,
      url: sql`t.url`,
      entities: SCOPE,
      types: sql`to_json(t.types)`,
      fields: sql`to_json(t.fields)`,
      filter: sql`t.filter`,
      previous: sql`t.previous`,
      max_batch: sql`t.max_batch`,
      ordering: sql`t.ordering`,
      header_names: sql`to_json(t.header_names)`,
      created_at: CREATED,
    },
    order: sql`t.id`,
    times: sql`i.created_at`,
    types: sql`name text, url text, entities json, types text[], fields text[], filter json, previous boolean, max_batch int4, ordering text, header_names text[], created_at timestamptz`,
    columns: sql`name, url, entities, types, fields, filter, previous, max_batch, ordering, header_names, headers, enabled, disabled_reason, created_at`,
    // Removes what names fields of an entity that was dropped.
    values: sql`r.name, r.url, ${SCOPE_IDS}, r.types, case when ${HAS_ONE_ENTITY} then r.fields end, case when ${HAS_ONE_ENTITY} then r.filter end,
  r.previous, r.max_batch, r.ordering, r.header_names, '', false, 'restored', r.created_at`,
  }),
  // The owner is a key by its hash, as ids differ elsewhere; views of keys that are missing there are the operator's.
  defineRowKind({
    name: 'views',
    table: sql`wda.saved_view`,
    members: {
      entity: sql`(select e.key from wda.workspace w, jsonb_each_text(w.entity_ids) e where w.id = t.workspace_id and e.value::bigint = t.entity_id)`,
      key: sql`(select encode(k.hash, 'hex') from wda.api_key k where t.owner = 'key:' || k.id)`,
      name: NAME,
      shared: sql`t.shared`,
      content: sql`t.content`,
      created_at: CREATED,
      updated_at: sql`t.updated_at`,
    },
    where: sql`exists (select from wda.workspace w, jsonb_each_text(w.entity_ids) e where w.id = t.workspace_id and e.value::bigint = t.entity_id)`,
    order: sql`t.id`,
    times: sql`i.created_at, i.updated_at`,
    types: sql`entity text, key text, name text, shared boolean, content json, created_at timestamptz, updated_at timestamptz`,
    columns: sql`entity_id, owner, name, shared, content, created_at, updated_at`,
    values: sql`(w.entity_ids ->> r.entity)::bigint, coalesce((select 'key:' || k.id from wda.api_key k where k.hash = decode(r.key, 'hex')), 'operator'),
  r.name, r.shared, r.content, r.created_at, r.updated_at`,
    conflict: sql`(workspace_id, owner, entity_id, name)`,
  }),
  // History only: an open migration is left out, as it ends where it runs.
  defineRowKind({
    name: 'migrations',
    table: sql`wda.migration`,
    members: {
      state: sql`t.state`,
      strategy: sql`t.strategy`,
      steps: sql`t.steps`,
      error: sql`t.error`,
      document: sql`t.document`,
      created_at: CREATED,
      started_at: sql`t.started_at`,
      finished_at: sql`t.finished_at`,
    },
    where: sql`t.state not in ('pending', 'running')`,
    order: sql`t.id`,
    times: sql`i.created_at, i.started_at, i.finished_at`,
    types: sql`state text, strategy text, steps jsonb, error jsonb, document json, created_at timestamptz, started_at timestamptz, finished_at timestamptz`,
    columns: sql`state, strategy, steps, error, document, created_at, started_at, finished_at`,
    values: sql`r.state, r.strategy, r.steps, r.error, r.document, r.created_at, r.started_at, r.finished_at`,
  }),
];
