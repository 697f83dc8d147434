// Words that many records of a searchable entity have, of the statistics that PostgreSQL gathers when it analyzes the table.
// They are read in the background when an entity is searched, and again when they are old; a search does not wait for them.
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/pool.ts';
import type { Entity } from '../model/entity.ts';
import { keyword, literal, sql, tableRef, toQuery } from '../sql/fragment.ts';

export interface CommonWords {
  /**
   * Returns words of which each is in many records; none while they are not known, or where the words of so many rows take
   * longer to parse than the index takes to return all that match.
   */
  find(entity: Pick<Entity, 'table'>, rows: number): readonly string[];
}

interface Statistics {
  readonly words: readonly string[];
  /** Rows of the table. */
  readonly rows: number;
  /** Bytes of the words of a record, on average. */
  readonly width: number;
}

// Share of the records from which on a word is common.
const MIN_SHARE = 0.3;
// Entities that are remembered, with some ten words each; a text has few words that a third of all texts have.
const MAX_ENTITIES = 10_000;
const MAX_WORDS = 50;
const MAX_AGE_MS = 600_000;
// Microseconds to parse the words of a record, for each byte of its words, and to find a record by the index.
const PARSE_US = 0.25;
const FIND_US = 0.3;

const NONE: Statistics = { words: [], rows: 0, width: 0 };

/** `now`: milliseconds of any clock that does not go back. */
export function makeCommonWords(
  db: Pick<Database, 'query'>,
  onError: (message: string, error: unknown) => void,
  now: () => number = () => performance.now(),
): CommonWords {
  const cache = new LRUCache<string, Statistics>({
    max: MAX_ENTITIES,
    ttl: MAX_AGE_MS,
    allowStale: true,
    noDeleteOnStaleGet: true,
    perf: { now },
  });

  async function load(name: string): Promise<void> {
    // A search meanwhile does not load them again.
    cache.set(name, cache.get(name) ?? NONE);
    const [row] = await db.query<{ words: string[] | null; rows: number; width: number }>(
      toQuery(selectStatistics(name)),
    );
    if (row !== undefined) cache.set(name, { words: row.words ?? [], rows: row.rows, width: row.width });
  }

  return {
    find({ table }, rows) {
      const name = tableRef(table).text;
      const { words, rows: total, width } = cache.get(name) ?? NONE;
      if (cache.getRemainingTTL(name) <= 0)
        load(name).catch((error) => onError('the statistics of a search could not be read', error));
      return rows * width * PARSE_US > total * FIND_US ? [] : words;
    },
  };
}

/** Selects `words`, `rows` and `width` of the index of words of a table, if it has one that was analyzed. */
const selectStatistics = (name: string) => sql`
select array(
  select u.word from unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) u (word, share)
  where u.word is not null and u.share >= ${keyword(String(MIN_SHARE))} limit ${keyword(String(MAX_WORDS))}
) as words, t.reltuples::float8 as rows, s.avg_width as width
from pg_index i join pg_class t on t.oid = i.indrelid join pg_class c on c.oid = i.indexrelid
join pg_namespace n on n.oid = c.relnamespace
join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname
where i.indrelid = to_regclass(${literal(name)}) and s.most_common_elems is not null limit 1`;
