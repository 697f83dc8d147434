// What a write of an external user must do, said a second time in the simplest way: a state of records in arrays, and
// each refusal as a stage. The property of row rules holds single writes, bulk writes, upserts and batches against it.
import type { Drawn } from './row-rules-arbitrary.ts';
import {
  type Claims,
  type Model,
  type ModelEntity,
  makeRowModel,
  type Rec,
  type Value,
} from './row-rules-read-model.ts';

/** The id of what an earlier operation of the batch answered with. */
export interface Ref {
  readonly operation: number;
}
export type Body = Readonly<Record<string, Value | Ref>>;
export type Write =
  | { readonly kind: 'create'; readonly entity: string; readonly bodies: readonly Body[] }
  | { readonly kind: 'upsert'; readonly entity: string; readonly bodies: readonly Body[]; readonly skips: boolean }
  | { readonly kind: 'update'; readonly entity: string; readonly bodies: readonly Body[] }
  | { readonly kind: 'delete'; readonly entity: string; readonly ids: readonly (number | Ref)[] }
  | { readonly kind: 'read'; readonly entity: string; readonly ids: readonly (number | Ref)[] }
  | { readonly kind: 'list'; readonly entity: string };

/** Why a write is refused, in the order in which refusals come; in a batch the last two may come in either order. */
export type Fault = 'body' | 'hidden' | 'column' | 'reference' | 'conflict';
const STATUS = { body: 400, hidden: 404, column: 403, reference: 400, conflict: 409 } as const;

/** What one write does: its refusals, or the state that it leaves and the records that it answers with. */
export interface Done {
  /** Statuses with which it must be refused; none when it must be done. */
  readonly refusals: readonly number[];
  /** Those with which it may be refused though all would be well: a reference of a record that is left as it is. */
  readonly allowed: readonly number[];
  readonly model: Model;
  readonly records: readonly Rec[];
  /** Ids that the server draws, as they are called until it answers. */
  readonly drawn: readonly number[];
}

/** Ids that the server draws are called these; they are greater than all others, as real ones are. */
const FIRST_DRAWN = 1_000_000;
const UNIQUE = 'code';

export const isRef = (value: unknown): value is Ref => typeof value === 'object' && value !== null;

export function makeWriteModel(schema: ReadonlyMap<string, Drawn>, claims: Claims, isBatch: boolean) {
  const drawnOf = (name: string): Drawn => schema.get(name) as Drawn;
  const stampsOf = (name: string) => drawnOf(name).rules.filter(({ enabled }) => enabled);
  const uniquesOf = (name: string): string[] => [
    UNIQUE,
    ...drawnOf(name)
      .references.filter(({ unique }) => unique)
      .map(({ column }) => column),
  ];

  /** What a rule sets; undefined for a claim that the column cannot hold. */
  function stampOf(column: string, claim: string): Value | undefined {
    const value = claims[claim];
    if (value === null || value === undefined || typeof value === 'object') return undefined;
    if (column === 'word') return String(value);
    return /^\d+$/.test(String(value)) ? Number(value) : undefined;
  }

  function isSeen(model: Model, name: string, id: unknown): boolean {
    return makeRowModel(model, claims)
      .visible(name)
      .some((record) => record.id === id);
  }

  /** The values as a create has them, stamped, and what is wrong with them. */
  function stamped(name: string, body: Readonly<Record<string, Value>>, faults: Set<Fault>): Record<string, Value> {
    const values: Record<string, Value> = { ...body };
    for (const { column, required } of drawnOf(name).references)
      if (required && (body[column] === null || (body[column] === undefined && !isRuled(name, column))))
        faults.add('body');
    for (const { column, claim } of stampsOf(name)) {
      // The server draws ids, so nobody creates records under a rule by id.
      if (column === 'id') {
        faults.add('column');
        continue;
      }
      const stamp = stampOf(column, claim);
      if (stamp === undefined || (values[column] !== undefined && values[column] !== stamp)) faults.add('column');
      else values[column] = stamp;
    }
    return values;
  }
  const isRuled = (name: string, column: string): boolean => stampsOf(name).some((rule) => rule.column === column);

  const hasHiddenReference = (
    model: Model,
    name: string,
    values: Readonly<Record<string, Value>>,
    now?: Rec,
  ): boolean =>
    drawnOf(name).references.some(({ column, to }) => {
      const value = values[column] ?? null;
      return value !== null && value !== now?.[column] && !isSeen(model, to, value);
    });

  const whole = (name: string, values: Readonly<Record<string, Value>>, id: number): Rec => ({
    ...Object.fromEntries(drawnOf(name).fields.map((field) => [field, values[field] ?? null])),
    id,
  });

  const isTwice = (values: readonly Value[]): boolean => {
    const present = values.filter((value) => value !== null);
    return new Set(present).size < present.length;
  };

  function writeRecords(
    before: Model,
    write: Extract<Write, { bodies: readonly Body[] }>,
    resolve: (value: Value | Ref) => Value,
    draw: () => number,
  ): Done {
    const { entity, kind } = write;
    const faults = new Set<Fault>();
    const allowed = new Set<number>();
    const { records } = before[entity] as ModelEntity;
    const after = new Map(records.map((record) => [record.id, record]));
    const answered: number[] = [];
    const drawn: number[] = [];
    const isTaken = ({ id }: Rec): boolean => !isSeen(before, entity, id) || answered.includes(id);
    let isLost = false;
    for (const sent of write.bodies) {
      const body = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, resolve(value)]));
      if (kind === 'update') {
        const now = records.find(({ id }) => id === body.id);
        if (drawnOf(entity).references.some(({ column, required }) => required && body[column] === null))
          faults.add('body');
        if (now === undefined || !isSeen(before, entity, now.id)) {
          faults.add('hidden');
          continue;
        }
        if (stampsOf(entity).some(({ column }) => body[column] !== undefined && body[column] !== now[column]))
          faults.add('column');
        if (hasHiddenReference(before, entity, body, now)) faults.add('reference');
        answered.push(now.id);
        after.set(now.id, whole(entity, { ...now, ...body }, now.id));
        continue;
      }
      const values = stamped(entity, body, faults);
      const key = kind === 'upsert' ? (values[UNIQUE] ?? null) : null;
      const now = key === null ? undefined : records.find((record) => record[UNIQUE] === key);
      const isKept = kind === 'upsert' && (write.skips || Object.keys(body).join() === UNIQUE);
      if (hasHiddenReference(before, entity, values)) {
        isLost = true;
        if (!isKept || now === undefined || isTaken(now)) faults.add('reference');
        else if (!write.skips) allowed.add(400);
      }
      if (now === undefined) {
        const id = draw();
        drawn.push(id);
        answered.push(id);
        after.set(id, whole(entity, values, id));
      } else if (isTaken(now)) {
        faults.add('conflict');
      } else {
        answered.push(now.id);
        if (!isKept) after.set(now.id, whole(entity, { ...now, ...values }, now.id));
      }
    }
    for (const column of uniquesOf(entity)) {
      if (isTwice([...after.values()].map((record) => record[column] ?? null))) faults.add('conflict');
    }
    // A reference of a record that is left as it is counts when the request is refused anyway.
    if (isLost && ((drawn.length > 0 && !(kind === 'upsert' && write.skips)) || faults.has('conflict')))
      faults.add('reference');
    const model = { ...before, [entity]: { ...(before[entity] as ModelEntity), records: [...after.values()] } };
    const read = answered.map((id) => after.get(id) as Rec);
    return { refusals: refusalsOf(faults, isBatch), allowed: [...allowed], model, records: read, drawn };
  }

  function remove(before: Model, entity: string, ids: readonly number[]): Done {
    const faults = new Set<Fault>();
    if (!ids.every((id) => isSeen(before, entity, id))) faults.add('hidden');
    const { model, isRestricted } = deleteRecords(schema, before, entity, ids);
    if (isRestricted) faults.add('conflict');
    return { refusals: refusalsOf(faults, isBatch), allowed: [], model, records: [], drawn: [] };
  }

  /** Does the writes one after the other, each in the state that the one before has left. */
  function run(before: Model, writes: readonly Write[]): Done[] {
    const done: Done[] = [];
    let drawnSoFar = 0;
    const draw = (): number => FIRST_DRAWN + drawnSoFar++;
    const resolve = (value: Value | Ref): Value =>
      isRef(value) ? ((done[value.operation]?.records[0] as Rec | undefined)?.id ?? null) : value;
    let model = before;
    for (const write of writes) {
      const step = runOne(model, write, resolve, draw);
      done.push(step);
      if (step.refusals.length > 0) break;
      model = step.model;
    }
    return done;
  }

  function runOne(model: Model, write: Write, resolve: (value: Value | Ref) => Value, draw: () => number): Done {
    const seen = makeRowModel(model, claims).visible(write.entity);
    const nothing = { refusals: [], allowed: [], model, drawn: [] };
    switch (write.kind) {
      case 'create':
      case 'update':
      case 'upsert':
        return writeRecords(model, write, resolve, draw);
      case 'delete':
        return remove(model, write.entity, write.ids.map(resolve) as number[]);
      case 'list':
        return { ...nothing, records: [...seen].sort((a, b) => a.id - b.id) };
      case 'read': {
        const records = seen.filter(({ id }) => write.ids.map(resolve).includes(id));
        return { ...nothing, refusals: records.length === 0 ? [404] : [], records };
      }
      default:
        write satisfies never;
        throw new TypeError('no such write');
    }
  }

  return { run };
}

/** Deletes records with all that the schema says. `isRestricted`: whether others refer to them that may not be left. */
export function deleteRecords(
  schema: ReadonlyMap<string, Drawn>,
  before: Model,
  entity: string,
  ids: readonly number[],
): { readonly model: Model; readonly isRestricted: boolean } {
  const gone = new Map(Object.keys(before).map((name) => [name, new Set<number>()]));
  for (const id of ids) gone.get(entity)?.add(id);
  const isGone = (name: string, id: Value | undefined): boolean => gone.get(name)?.has(id as number) === true;
  const each = function* () {
    for (const [name, { references }] of schema)
      for (const reference of references)
        for (const record of (before[name] as ModelEntity).records) {
          const isLeft = !isGone(name, record.id) && isGone(reference.to, record[reference.column]);
          if (isLeft) yield { name, record, ...reference };
        }
  };
  for (let isMore = true; isMore; ) {
    isMore = false;
    for (const { name, record, onDelete } of each())
      if (onDelete === 'cascade') {
        gone.get(name)?.add(record.id);
        isMore = true;
      }
  }
  const isRestricted = [...each()].some(({ onDelete }) => onDelete === 'restrict');
  const forget = (name: string, record: Rec): Rec => {
    const lost = (schema.get(name) as Drawn).references.filter(({ to, column }) => isGone(to, record[column]));
    return { ...record, ...Object.fromEntries(lost.map(({ column }) => [column, null])) };
  };
  const left = ([name, entry]: [string, ModelEntity]): [string, ModelEntity] => [
    name,
    { ...entry, records: entry.records.filter(({ id }) => !isGone(name, id)).map((record) => forget(name, record)) },
  ];
  const model = Object.fromEntries(Object.entries(before).map(left));
  return { model, isRestricted };
}

export function refusalsOf(faults: ReadonlySet<Fault>, isBatch: boolean): number[] {
  const inOrder = ['body', 'hidden', 'column', ...(isBatch ? [] : ['reference' as const])] as const;
  for (const first of inOrder) if (faults.has(first)) return [STATUS[first]];
  return [...faults].map((fault) => STATUS[fault]);
}
