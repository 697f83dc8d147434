// Which entities keys and clients reach, as their rows have it: ids of entities, or null for all.
import type { Scope } from '../model/principal.ts';
import { type Fragment, sql } from '../sql/fragment.ts';

/** The scope of a row as text, for a statement whose values come as text. `row`: the name of its table in the statement. */
export const scopeText = (row: Fragment): Fragment => sql`array_to_string(${row}.entities, ',')`;

/** What scopeText() gave. */
export function readScope(text: string | null): Scope {
  if (text === null) return null;
  return text === '' ? [] : text.split(',');
}

/** The names of the entities in the scope of a row, by their alphabet; null for all. Those that are gone have none. */
export const scopeNames = (row: Fragment): Fragment => sql`case when ${row}.entities is not null then array(
    select e.key from wda.workspace s, jsonb_each_text(s.entity_ids) e
    where s.id = ${row}.workspace_id and e.value::bigint = any(${row}.entities) order by e.key collate "C") end as entities`;
