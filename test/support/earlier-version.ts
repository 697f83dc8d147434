// A database as the version before install/workspace left it: what stands beside the tables of its workspaces lies in `wda`.
import type { TestDatabase } from './database.ts';

const TRIGGERS = [
  ['insert', 'referencing new table as added '],
  ['delete', 'referencing old table as removed '],
  ['truncate', ''],
] as const;

/**
 * Puts keys back to where they were, and takes away what a workspace has by now. `counted`: a table whose total is kept by the
 * functions of before. `file`: whether install/data/000024 and those after it have not run either.
 */
export async function makeEarlier(
  database: TestDatabase,
  schema: string,
  { counted, file }: { readonly counted?: string; readonly file: boolean },
): Promise<void> {
  const { query } = database;
  await query(
    `insert into wda.idempotency_key (scope, fingerprint, workspace_id, created_at, status, etag, location, body, records)
     select k.scope, k.fingerprint, w.id, k.created_at, k.status, k.etag, k.location, k.body, k.records
     from "${schema}"."$idempotency_key" k, wda.workspace w where w.database_schema = '${schema}' on conflict do nothing;
do $$
declare one text;
begin
  for one in select format('drop function %s cascade', oid::regprocedure) from pg_proc
    where pronamespace = '"${schema}"'::regnamespace and proname ^@ '$' and proname <> '$words'
  loop execute one; end loop;
  for one in select format('drop table %s', oid::regclass) from pg_class
    where relnamespace = '"${schema}"'::regnamespace and relkind = 'r' and relname ^@ '$'
  loop execute one; end loop;
end $$`,
  );
  for (const [event, rows] of counted === undefined ? [] : TRIGGERS) {
    await query(
      `create trigger "$total_${event}" after ${event} on "${schema}".${counted} ${rows}for each statement execute function wda.count_records()`,
    );
    await query(`alter table "${schema}".${counted} enable always trigger "$total_${event}"`);
  }
  if (counted !== undefined) {
    await query(
      `insert into wda.total (relid, slot, n, relation, pending) select '"${schema}".${counted}'::regclass,
       -17 - pg_snapshot_xmax(pg_current_snapshot())::text::int8, count(*), '${schema}.${counted}', '{}' from "${schema}".${counted}`,
    );
  }
  if (!file) return;
  await query('drop table wda.move');
  await query('drop trigger renew_version on wda.workspace');
  await query('alter table wda.workspace drop column moves');
  await query(`create trigger renew_version before update of version, organization_id, slug, name, database_schema, document, names,
    gates, entity_ids, epoch on wda.workspace for each row execute function wda.renew_version()`);
  await query("delete from wda.installed where name = '000025-moves'");
  await query('drop function wda.tell_key() cascade');
  await query('drop function wda.hand_over_keys(int8, text), wda.kept_totals(text), wda.workspace_stage(text)');
  await query('drop index wda.idempotency_key_workspace');
  await query("delete from wda.installed where name = '000024-whole-schemas'");
}
