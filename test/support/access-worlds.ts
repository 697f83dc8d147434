// Two workspaces that differ in hidden records alone, and how much of their states must be equal. In the second one the
// hidden records are not there; references to them are left as they are. Or they have other contents: for requests whose
// answers depend on unique values and references of hidden records, which cannot be kept secret (docs/reference/row-rules.md).
import type { Model, ModelEntity, Rec, Value } from './row-rules-read-model.ts';
import type { TestServer, TestWorkspace } from './server.ts';

export type WorldKind = 'absent' | 'blank';
/** Ids of hidden records, by entity. */
export type Hidden = Readonly<Record<string, ReadonlySet<number>>>;
type State = Readonly<Record<string, readonly Rec[]>>;

export interface Worlds {
  readonly kind: WorldKind;
  readonly workspaces: readonly [TestWorkspace, TestWorkspace];
  /** Says which records differ that may not since the last call; undefined for none. */
  compare(): Promise<string | undefined>;
  /** Changes a record of the first world, and changes it back. */
  stir(entity: string, id: number, values: Readonly<Record<string, Value>>): Promise<void>;
  /** The records of the first one, hidden ones as well, as of the last comparison. */
  model(): Model;
}

const blank = { word: null, number: null } as const;

export interface WorldOptions {
  readonly kind: WorldKind;
  /** Path `organization/workspace` without its last letter. */
  readonly path: string;
  readonly document: unknown;
  readonly records: Model;
  readonly hidden: Hidden;
  /** Whether a field is hidden of a visible record; the second world has none of its values of `word` and `number`. */
  readonly isMasked: (entity: string, id: number, field: string) => boolean;
}

export async function makeWorlds(server: TestServer, options: WorldOptions): Promise<Worlds> {
  const { kind, path, document, records, hidden, isMasked } = options;
  const names = Object.keys(records);
  const of = (name: string): ModelEntity => records[name] as ModelEntity;
  const make = async (suffix: string, twin: (name: string, record: Rec) => Rec | undefined) => {
    const workspace = await server.workspace(`${path}${suffix}`, document);
    const [, slug] = workspace.path.split('/');
    const [row] = await server.database.query('select database_schema as schema from wda.workspace where slug = $1', [
      slug,
    ]);
    const tables = new Map(names.map((name) => [name, `"${row?.schema}"."${name}"`]));
    const inserts = [...tables].map(([name, table]) => {
      const twins = of(name)
        .records.map((record) => twin(name, record))
        .filter((record) => record !== undefined);
      // Statistics, which estimates of totals are made from, would be gathered at other times in each world.
      return `alter table ${table} set (autovacuum_enabled = false);
insert into ${table} overriding system value
select * from json_populate_recordset(null::${table}, '${JSON.stringify(twins)}')`;
    });
    await server.database.query(`begin; set local session_replication_role = replica; ${inserts.join('; ')}; commit`);
    return { workspace, tables };
  };
  const first = await make('a', (_, record) => record);
  const masked = new Map(
    names.map((name) => [name, new Map(of(name).records.map(({ id }) => [id, listMasked(name, id)]))]),
  );
  function listMasked(name: string, id: number): Partial<typeof blank> {
    const fields = Object.keys(blank).filter((field) => isMasked(name, id, field));
    return Object.fromEntries(fields.map((field) => [field, null]));
  }
  const second = await make('b', (name, record) => {
    if (hidden[name]?.has(record.id) !== true) return { ...record, ...masked.get(name)?.get(record.id) };
    // A column of a rule that is null matches nobody.
    return kind === 'absent' ? undefined : { ...record, ...blank };
  });

  const readState = async ({ tables }: typeof first): Promise<State> => {
    const members = [...tables].map(
      ([name, table]) => `'${name}', (select coalesce(json_agg(t order by id), '[]') from ${table} t)`,
    );
    const [row] = await server.database.query(`select json_build_object(${members.join()})::text as state`);
    return JSON.parse(String(row?.state).replaceAll('+00:00"', 'Z"')) as State;
  };
  // Refused requests use up ids of their own number in each of the two, and no answer is to differ for them.
  const levelIds = async (): Promise<void> => {
    const sequences = names.map((name) => {
      const [one, other] = [first, second].map(({ tables }) => `pg_get_serial_sequence('${tables.get(name)}', 'id')`);
      return `(select setval(${one}, greatest(1000, a, b)) + setval(${other}, greatest(1000, a, b))
from (select coalesce(pg_sequence_last_value(${one}), 0) as a, coalesce(pg_sequence_last_value(${other}), 0) as b) l)`;
    });
    await server.database.query(`select ${sequences.join()}`);
  };

  await levelIds();
  let before: readonly [State, State] = [await readState(first), await readState(second)];
  return {
    kind,
    workspaces: [first.workspace, second.workspace],
    model: () =>
      Object.fromEntries(names.map((name) => [name, { ...of(name), records: before[0][name] as readonly Rec[] }])),
    async stir(entity, id, values) {
      const table = first.tables.get(entity);
      const old = (before[0][entity] as readonly Rec[]).find((record) => record.id === id);
      const set = (record: Readonly<Record<string, Value>>): string =>
        Object.keys(values)
          .map((name) => `"${name}" = ${record[name] == null ? 'null' : `'${record[name]}'`}`)
          .join();
      if (old === undefined) return;
      await server.database.query(`update ${table} set ${set(values)} where id = ${id}`);
      await server.database.query(`update ${table} set ${set(old)} where id = ${id}`);
    },
    async compare() {
      await levelIds();
      const after = [await readState(first), await readState(second)] as const;
      const differences = names.flatMap((name) => {
        const ids = hidden[name] as ReadonlySet<number>;
        const shown = (state: State) =>
          (state[name] as readonly Rec[])
            .filter(({ id }) => !ids.has(id))
            .map((record) => ({ ...record, ...masked.get(name)?.get(record.id) }));
        const rest = (state: State) => (state[name] as readonly Rec[]).filter(({ id }) => ids.has(id));
        const now = after.map(rest) as [Rec[], Rec[]];
        // Writes reach a hidden record by the cascades of references alone, which are the same in both worlds.
        const expected = before.map((state, index) => {
          const then = rest(state);
          if (kind === 'absent') return then;
          return (now[index] as Rec[]).map(({ id }) => {
            const old: Partial<Rec> = then.find((record) => record.id === id) ?? {};
            const { word = null, number = null } = old;
            return { ...(now[1 - index]?.find((record) => record.id === id) as Rec), word, number };
          });
        });
        return [
          [`visible ${name}`, ...after.map(shown)],
          [`hidden ${name}`, now[0], expected[0]],
          [`hidden ${name} of the second`, now[1], expected[1]],
        ].flatMap(([what, one, other]) =>
          JSON.stringify(one) === JSON.stringify(other)
            ? []
            : [`${what}:\n${JSON.stringify(one)}\n${JSON.stringify(other)}`],
        );
      });
      before = after;
      return differences.length === 0 ? undefined : differences.join('\n');
    },
  };
}

/** Lists the ids of hidden records. */
export function findHidden(records: Model, isHidden: (entity: string, id: number) => boolean): Hidden {
  const entries = Object.entries(records).map(([name, entity]): [string, ReadonlySet<number>] => [
    name,
    new Set(entity.records.map(({ id }) => id).filter((id) => isHidden(name, id))),
  ]);
  return Object.fromEntries(entries);
}
