// Entity scopes of keys and clients in the control tables: ids of entities, or null for all.
import type { Scope } from '../model/principal.ts';
import { type Fragment, sql } from '../sql/fragment.ts';

/**
 * Builds the scope of a row as text, for a statement that returns its values as text. `row`: the alias of its table in
 * the statement.
 */
export const scopeText = (row: Fragment): Fragment => sql`array_to_string(${row}.entities, ',')`;

/** Parses the result of scopeText(). */
export function readScope(text: string | null): Scope {
  if (text === null) return null;
  return text === '' ? [] : text.split(',');
}

/**
 * Builds the entity names in the scope of a row, in alphabetical order; null for all. Deleted entities have no name.
 */
export const scopeNames = (row: Fragment): Fragment => sql`case when ${row}.entities is not null then array(
    select e.key from wda.workspace s, jsonb_each_text(s.entity_ids) e
    where s.id = ${row}.workspace_id and e.value::bigint = any(${row}.entities) order by e.key collate "C") end as entities`;
