// A model of grants in plain TypeScript: what a user with roles and claims sees of records in memory, and which writes it
// may do. What it reads follows from its part of the records by the model of row-rules-read-model.ts.
import type { Drawn } from './row-rules-arbitrary.ts';
import type { Model, ModelEntity, ModelRelation, Rec, Value } from './row-rules-read-model.ts';
import {
  type Body,
  type Done,
  deleteRecords,
  type Fault,
  isRef,
  refusalsOf,
  type Write,
} from './row-rules-write-model.ts';

export type Where =
  | { readonly and: readonly Where[] }
  | { readonly or: readonly Where[] }
  | { readonly not: Where }
  | { readonly field: string; readonly op: string; readonly value?: unknown };
export interface GrantDocument {
  readonly role?: string | readonly string[];
  readonly can: readonly string[];
  readonly where?: Where;
  readonly fields?: readonly string[];
  readonly write?: readonly string[];
  readonly set?: Readonly<Record<string, unknown>>;
}
/** Grants by entity; null for one without. */
export type Grants = Readonly<Record<string, readonly GrantDocument[] | null>>;
export interface User {
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether it is a key that acts as a role. */
  readonly onlyGrants: boolean;
}
type Values = Readonly<Record<string, Value>>;
type Type = 'text' | 'integer' | 'flag' | 'day' | 'at';

const EVERYTHING: readonly GrantDocument[] = [{ can: ['read', 'create', 'update', 'delete'] }];
const DENIED: Readonly<Record<string, string>> = { ne: 'eq', nin: 'in', isNull: 'notNull' };
const PARTS = ['contains', 'startsWith', 'endsWith', 'ieq'];
const FORMS = {
  integer: /^-?\d{1,9}$/,
  flag: /^(?:true|false)$/,
  day: /^\d{4}-\d\d-\d\d$/,
  at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
};
/** Ids that the server draws are called these until it answers. */
const FIRST_DRAWN = 1_000_000;

const getType = (name: string): Type =>
  name === 'word' ? 'text' : name === 'flag' || name === 'day' || name === 'at' ? name : 'integer';

/** The claim in the place of a value, or undefined if there is none. */
const getClaim = (value: unknown): string | undefined => (value as { readonly claim?: string } | null)?.claim;

export class GrantsModel {
  readonly schema: ReadonlyMap<string, Drawn>;
  readonly grants: Grants;
  readonly user: User;

  constructor(schema: ReadonlyMap<string, Drawn>, grants: Grants, user: User) {
    this.schema = schema;
    this.grants = grants;
    this.user = user;
  }

  /** Returns the grants of the user's roles; an entity without grants is one that all users may do everything with. */
  getGrants(entity: string, operation?: string): readonly GrantDocument[] {
    const grants = this.grants[entity] ?? (this.user.onlyGrants ? [] : EVERYTHING);
    return grants.filter(
      ({ role, can }) =>
        (role === undefined || [role].flat().some((one) => this.user.roles.includes(one))) &&
        (operation === undefined || can.includes(operation)),
    );
  }

  exists = (entity: string): boolean => this.getGrants(entity).length > 0;

  listFields(entity: string): readonly string[] {
    const { fields: all } = this.schema.get(entity) as Drawn;
    const names = this.getGrants(entity, 'read').flatMap(({ fields }) => fields ?? all);
    return all.filter((name) => name === 'id' || names.includes(name));
  }

  /** Returns the values of a claim, or undefined if it is not there or cannot be read as values of the type. */
  #readClaim(name: string, type: Type, isList: boolean): readonly Value[] | undefined {
    const { claims } = this.user;
    const [head = '', tail = ''] = name.split('.');
    const below = claims[head] as Readonly<Record<string, unknown>> | null | undefined;
    const value = Object.hasOwn(claims, name) ? claims[name] : typeof below === 'object' ? below?.[tail] : undefined;
    if (Array.isArray(value) && !isList) return undefined;
    const values = [value].flat().map((one) => readValue(one, type));
    return values.includes(undefined) ? undefined : (values as Value[]);
  }

  #applies({ where, set = {} }: GrantDocument): boolean {
    const check = (node: Where): boolean => {
      if ('and' in node) return node.and.every(check);
      if ('or' in node) return node.or.every(check);
      if ('not' in node) return check(node.not);
      const type = PARTS.includes(node.op) ? 'text' : getType(node.field.split('.').at(-1) as string);
      return [node.value].flat().every((value) => {
        const claim = getClaim(value);
        return claim === undefined || this.#readClaim(claim, type, node.op === 'in' || node.op === 'nin') !== undefined;
      });
    };
    const isUsable = ([name, value]: readonly [string, unknown]): boolean =>
      getClaim(value) === undefined || this.#resolve(name, value) !== undefined;
    return (where === undefined || check(where)) && Object.entries(set).every(isUsable);
  }

  listUsable = (entity: string, operation: string): readonly GrantDocument[] =>
    this.getGrants(entity, operation).filter((grant) => this.#applies(grant));

  #resolve(field: string, value: unknown): Value | undefined {
    const claim = getClaim(value);
    return claim === undefined ? (value as Value) : this.#readClaim(claim, getType(field), false)?.[0];
  }

  /** Whether the record satisfies the condition, which looks at all records and fields. */
  matches(entity: string, where: Where | undefined, record: Rec, model: Model): boolean {
    if (where === undefined) return true;
    if ('and' in where) return where.and.every((one) => this.matches(entity, one, record, model));
    if ('or' in where) return where.or.some((one) => this.matches(entity, one, record, model));
    if ('not' in where) return !this.matches(entity, where.not, record, model);
    const { field, op, value } = where;
    const [head = '', ...rest] = field.split('.');
    if (rest.length > 0) {
      const relation = getRelation(model, entity, head);
      const holds = (operator: string): boolean =>
        listRelated(model, relation, record).some((other) =>
          this.matches(relation.to, { field: rest.join('.'), op: operator, value }, other, model),
        );
      const denied = DENIED[op];
      return denied !== undefined && isToOne(model, entity, [head, ...rest]) ? !holds(denied) : holds(op);
    }
    const type = PARTS.includes(op) ? 'text' : getType(head);
    const isList = op === 'in' || op === 'nin';
    const read = (one: unknown): readonly (Value | undefined)[] => {
      const claim = getClaim(one);
      if (claim !== undefined) return this.#readClaim(claim, type, isList) ?? [undefined];
      if ((one as { readonly now?: boolean } | null)?.now !== true) return [one as Value];
      return [new Date().toISOString().slice(0, type === 'day' ? 10 : 19) + (type === 'day' ? '' : 'Z')];
    };
    return compare(record[head] ?? null, op, [value].flat().flatMap(read) as Value[]);
  }

  #obeysRules = (entity: string, record: Rec): boolean =>
    this.#listRules(entity).every(({ column, claim }) => {
      const value = this.#readClaim(claim, getType(column), false)?.[0];
      return value !== undefined && record[column] === value;
    });

  #listRules = (entity: string) => (this.schema.get(entity) as Drawn).rules.filter(({ enabled }) => enabled);

  /** Whether the user sees the field of the record. */
  showsField(entity: string, id: number, field: string, model: Model): boolean {
    const record = (model[entity] as ModelEntity).records.find((one) => one.id === id);
    if (record === undefined || !this.exists(entity) || !this.#obeysRules(entity, record)) return false;
    return this.listUsable(entity, 'read').some(
      ({ where, fields }) =>
        (field === 'id' || fields === undefined || fields.includes(field)) &&
        this.matches(entity, where, record, model),
    );
  }

  /** Returns what the user sees of a record, or undefined if it is hidden. */
  show(entity: string, record: Rec, model: Model): Rec | undefined {
    if (!this.#obeysRules(entity, record)) return undefined;
    const seeing = this.listUsable(entity, 'read').filter(({ where }) => this.matches(entity, where, record, model));
    if (seeing.length === 0) return undefined;
    const isShown = (name: string): boolean =>
      name === 'id' || seeing.some(({ fields }) => fields === undefined || fields.includes(name));
    const members = this.listFields(entity).map((name) => [name, isShown(name) ? (record[name] ?? null) : null]);
    return Object.fromEntries(members) as Rec;
  }

  /** Returns the entities, fields, relations and records that there are for the user. */
  view(model: Model): Model {
    const isField = (entity: string, column: string): boolean => this.listFields(entity).includes(column);
    const isFollowed = (owner: string, { to, by }: ModelRelation): boolean => {
      if (!this.exists(to)) return false;
      if ('own' in by) return isField(owner, by.own);
      if ('theirs' in by) return isField(to, by.theirs);
      return this.exists(by.through) && isField(by.through, by.from) && isField(by.through, by.other);
    };
    const entries = Object.entries(model).filter(([name]) => this.exists(name));
    return Object.fromEntries(
      entries.map(([name, { relations, records }]): [string, ModelEntity] => [
        name,
        {
          fields: this.listFields(name),
          relations: Object.fromEntries(Object.entries(relations).filter(([, relation]) => isFollowed(name, relation))),
          rules: [],
          records: records.map((record) => this.show(name, record, model)).filter((one) => one !== undefined),
        },
      ]),
    );
  }

  /** Columns that a create sets for a body that leaves them out. */
  listStamped(entity: string): ReadonlySet<string> {
    const rules = this.#listRules(entity).map(({ column }) => column);
    const grants = this.listUsable(entity, 'create').flatMap((grant) => [...this.#listStamps(entity, grant).keys()]);
    return new Set([...rules, ...grants]);
  }

  /** Values of `set`, and those that every record of the grant must have. */
  #listStamps(entity: string, { set = {}, where }: GrantDocument): ReadonlyMap<string, unknown> {
    const demands = listDemands(where).filter(
      ([name, value]) => name !== 'id' && (value as { readonly now?: true } | null)?.now !== true,
    );
    const stamps = new Map<string, unknown>(Object.entries(set));
    for (const [name, value] of demands) if (!stamps.has(name)) stamps.set(name, value);
    return new Map([...stamps].filter(([name]) => (this.schema.get(entity) as Drawn).fields.includes(name)));
  }

  /** Whether a body may name the field under the grant. */
  canWrite(entity: string, { fields, write }: GrantDocument, name: string): boolean {
    const all = write ?? fields ?? (this.schema.get(entity) as Drawn).fields;
    return name !== 'id' && all.includes(name);
  }

  /** Whether the body names a field that the roles can neither read nor write, or leaves out what a record needs. */
  #isMistaken(entity: string, body: Values, isCreate: boolean): boolean {
    const known = new Set(this.listFields(entity));
    for (const grant of [...this.getGrants(entity, 'create'), ...this.getGrants(entity, 'update')]) {
      const { fields } = this.schema.get(entity) as Drawn;
      for (const name of fields) if (this.canWrite(entity, grant, name)) known.add(name);
      for (const name of Object.keys(grant.set ?? {})) known.add(name);
    }
    const { references } = this.schema.get(entity) as Drawn;
    const stamped = this.listStamped(entity);
    const isMissing = references.some(
      ({ column, required }) =>
        required &&
        known.has(column) &&
        (body[column] === null || (isCreate && body[column] === undefined && !stamped.has(column))),
    );
    return isMissing || Object.keys(body).some((name) => !known.has(name));
  }

  #isSeen(model: Model, entity: string, id: unknown): boolean {
    const record = (model[entity] as ModelEntity).records.find((one) => one.id === id);
    return record !== undefined && this.exists(entity) && this.show(entity, record, model) !== undefined;
  }

  #listUnique(entity: string): readonly string[] {
    const references = (this.schema.get(entity) as Drawn).references.filter(({ unique }) => unique);
    return ['code', ...references.map(({ column }) => column)];
  }

  /** Whether a record has the unique value of another. */
  #isTaken(entity: string, { records }: ModelEntity): boolean {
    return this.#listUnique(entity).some((column) => {
      const present = records.map((record) => record[column] ?? null).filter((value) => value !== null);
      return new Set(present).size < present.length;
    });
  }

  create(model: Model, entity: string, bodies: readonly Values[], ids: readonly number[]): Step {
    const faults = new Set<Fault>();
    if (bodies.some((body) => this.#isMistaken(entity, body, true))) faults.add('body');
    const { fields, references } = this.schema.get(entity) as Drawn;
    const chosen: { readonly grant: GrantDocument; readonly record: Rec }[] = [];
    let isDangling = false;
    for (const [index, body] of bodies.entries()) {
      const choice = this.#chooseGrant(model, entity, body, ids[index] as number);
      if (choice === undefined) {
        faults.add('column');
        continue;
      }
      const { record, stamps } = choice;
      chosen.push(choice);
      for (const { column, to, required } of references) {
        const value = record[column] ?? null;
        if (value === null) {
          if (required) isDangling = true;
          continue;
        }
        const isGiven = stamps.has(column) && this.#resolve(column, stamps.get(column)) === value;
        if (!isGiven && !this.#isSeen(model, to, value)) faults.add('reference');
        if (!(model[to] as ModelEntity).records.some(({ id }) => id === value)) isDangling = true;
      }
    }
    const records = chosen.map(({ record }) =>
      Object.fromEntries(fields.map((name) => [name, record[name] ?? null])),
    ) as Rec[];
    const after = replaceRecords(model, entity, records);
    if (chosen.some(({ grant, record }) => !this.matches(entity, grant.where, record, after))) faults.add('column');
    if (this.#isTaken(entity, after[entity] as ModelEntity)) faults.add('conflict');
    return { faults, isDangling, model: after, ids: ids.slice(0, bodies.length) };
  }

  /** Whether some record may be created. */
  mayCreate(entity: string): boolean {
    const isIdRuled = this.#listRules(entity).some(({ column }) => column === 'id');
    return !isIdRuled && this.#listCreators(entity).length > 0;
  }

  #listCreators = (entity: string): readonly GrantDocument[] =>
    this.listUsable(entity, 'create').filter(({ where }) => !listDemands(where).some(([name]) => name === 'id'));

  /** Returns the first grant that allows the body and the record, or undefined. */
  #chooseGrant(model: Model, entity: string, body: Values, id: number) {
    const candidates = this.#listCreators(entity);
    const rules = this.#listRules(entity);
    const rows = candidates.flatMap((grant) => {
      const set = grant.set ?? {};
      if (Object.keys(body).some((name) => !this.canWrite(entity, grant, name) && !(name in set))) return [];
      if (Object.entries(set).some(([name, value]) => name in body && body[name] !== this.#resolve(name, value)))
        return [];
      const stamps = this.#listStamps(entity, grant);
      const stored: Record<string, Value> = {};
      for (const [name, value] of stamps) stored[name] = this.#resolve(name, value) as Value;
      Object.assign(stored, body, { id });
      return [{ grant, stamps, stored }];
    });
    const ruled = rows.map(({ grant, stamps, stored }) => {
      const record = { ...stored };
      let isRefused = false;
      for (const { column, claim } of rules) {
        const value = this.#readClaim(claim, getType(column), false)?.[0];
        if (column === 'id' || value === undefined || (record[column] !== undefined && record[column] !== value))
          isRefused = true;
        else record[column] = value;
      }
      return { grant, stamps, record: record as Rec, isRefused };
    });
    if (ruled.some(({ isRefused }) => isRefused)) return undefined;
    return ruled.find(({ grant, record }) => this.matches(entity, grant.where, record, model));
  }

  update(model: Model, entity: string, bodies: readonly Values[]): Step {
    const faults = new Set<Fault>();
    const { references } = this.schema.get(entity) as Drawn;
    const usable = this.listUsable(entity, 'update');
    const changed: Rec[] = [];
    for (const { id, ...body } of bodies) {
      if (this.#isMistaken(entity, body, false)) faults.add('body');
      const before = (model[entity] as ModelEntity).records.find((one) => one.id === id);
      const shown = before && this.show(entity, before, model);
      if (before === undefined || shown === undefined) {
        faults.add('hidden');
        continue;
      }
      const isRuled = this.#listRules(entity).some(
        ({ column }) => body[column] !== undefined && body[column] !== before[column],
      );
      const isCarried = usable.some(
        (grant) =>
          Object.keys(body).every((name) => this.canWrite(entity, grant, name)) &&
          this.matches(entity, grant.where, before, model),
      );
      if (isRuled || !isCarried) faults.add('column');
      for (const { column, to } of references) {
        const value = body[column] ?? null;
        if (value !== null && value !== shown[column] && !this.#isSeen(model, to, value)) faults.add('reference');
      }
      changed.push({ ...before, ...body } as Rec);
    }
    const after = replaceRecords(model, entity, changed);
    if (changed.some((one) => !usable.some(({ where }) => this.matches(entity, where, one, after))))
      faults.add('column');
    if (this.#isTaken(entity, after[entity] as ModelEntity)) faults.add('conflict');
    const { records } = model[entity] as ModelEntity;
    // PostgreSQL compares with records that the same statement changes a moment later.
    const mayConflict = changed.some((one) =>
      this.#listUnique(entity).some(
        (column) =>
          one[column] !== null && records.some((other) => other.id !== one.id && other[column] === one[column]),
      ),
    );
    return { faults, isDangling: false, mayConflict, model: after, ids: changed.map(({ id }) => id) };
  }

  remove(model: Model, entity: string, ids: readonly number[]): Step {
    const faults = new Set<Fault>();
    const { records } = model[entity] as ModelEntity;
    const usable = this.listUsable(entity, 'delete');
    for (const id of ids) {
      const record = records.find((one) => one.id === id);
      if (record === undefined || !this.#isSeen(model, entity, id)) faults.add('hidden');
      else if (!usable.some(({ where }) => this.matches(entity, where, record, model))) faults.add('column');
    }
    const { model: after, isRestricted } = deleteRecords(this.schema, model, entity, ids);
    if (isRestricted) faults.add('conflict');
    return { faults, isDangling: false, model: after, ids: [] };
  }

  /** Does the writes one after the other, each in the state that the one before has left. */
  run(before: Model, writes: readonly Write[], isBatch: boolean): Done[] {
    const done: Done[] = [];
    let drawn = 0;
    const draw = (): number => FIRST_DRAWN + drawn++;
    const resolve = (value: Value | { readonly operation: number }): Value =>
      isRef(value) ? (done[value.operation]?.records[0]?.id ?? null) : value;
    let model = before;
    for (const write of writes) {
      const step = this.exists(write.entity)
        ? this.#runOne(model, write, { isBatch, draw, resolve })
        : this.#refuse(model, [404]);
      done.push(step);
      if (step.refusals.length > 0) break;
      model = step.model;
    }
    return done;
  }

  #refuse = (model: Model, refusals: readonly number[]): Done => ({
    refusals,
    allowed: [],
    model,
    records: [],
    drawn: [],
  });

  #runOne(model: Model, write: Write, { isBatch, draw, resolve }: RunContext): Done {
    const { entity } = write;
    const finish = ({ faults, isDangling, mayConflict, model: after, ids }: Step, drawn: readonly number[]): Done => {
      const refusals = refusalsOf(faults, isBatch);
      if (refusals.length > 0) return this.#refuse(model, isDangling ? [...refusals, 400] : refusals);
      if (isDangling) return this.#refuse(model, [400]);
      const { records } = after[entity] as ModelEntity;
      const answer = ids.map((id) => this.show(entity, records.find((one) => one.id === id) as Rec, after) ?? { id });
      return { refusals, allowed: mayConflict === true ? [409] : [], model: after, records: answer, drawn };
    };
    const resolveBody = (body: Body): Values =>
      Object.fromEntries(Object.entries(body).map(([name, value]) => [name, resolve(value)]));
    switch (write.kind) {
      case 'create': {
        const ids = write.bodies.map(draw);
        return finish(this.create(model, entity, write.bodies.map(resolveBody), ids), ids);
      }
      case 'update':
        return finish(this.update(model, entity, write.bodies.map(resolveBody)), []);
      case 'upsert':
        return this.#upsert(model, write, { isBatch, draw, resolve });
      case 'delete':
        return finish(this.remove(model, entity, write.ids.map(resolve) as number[]), []);
      case 'list': {
        const records = this.view(model)[entity]?.records ?? [];
        return { ...this.#refuse(model, []), records: records.toSorted((a, b) => a.id - b.id) };
      }
      case 'read': {
        const [id] = write.ids.map(resolve);
        const records = this.view(model)[entity]?.records.filter((record) => record.id === id) ?? [];
        return { ...this.#refuse(model, records.length === 0 ? [404] : []), records };
      }
      default:
        write satisfies never;
        throw new TypeError('no such write');
    }
  }

  /** Imports rows. `ids`: of new records, one for each row. */
  importRows(model: Model, write: Extract<Write, { kind: 'create' | 'upsert' }>, ids: readonly number[]): Imported {
    const { entity, kind } = write;
    const {
      statuses,
      isSeen,
      model: after,
    } = this.#writeKeyed(
      model,
      {
        entity,
        kind,
        skips: kind === 'upsert' && write.skips,
        bodies: write.bodies as readonly Values[],
        needsAll: false,
      },
      ids,
    );
    if (statuses.length > 0) return { isRefused: true };
    const seen = isSeen.filter(Boolean).length;
    const [updated, skipped] = kind === 'upsert' && write.skips ? [0, seen] : [seen, 0];
    return { isRefused: false, model: after, data: { inserted: isSeen.length - seen, updated, skipped } };
  }

  /**
   * Writes records that the user sees with the key first, then new ones. `statuses`: of refusals, in any order;
   * `needsAll`: whether a body must have what a new record needs, also where the record exists.
   */
  #writeKeyed(
    model: Model,
    {
      entity,
      kind,
      skips,
      bodies,
      needsAll,
    }: { entity: string; kind: string; skips: boolean; bodies: readonly Values[]; needsAll: boolean },
    ids: readonly number[],
  ) {
    const isUpsert = kind === 'upsert';
    const statuses: number[] = [];
    if (isUpsert && !this.listFields(entity).includes('code')) statuses.push(400);
    if (isUpsert && bodies.some((body) => this.#isMistaken(entity, body, needsAll))) statuses.push(400);
    const codes = bodies.map(({ code }) => code ?? null).filter((code) => code !== null);
    if (isUpsert && new Set(codes).size < codes.length) statuses.push(409);
    const seen = isUpsert ? (this.view(model)[entity]?.records ?? []) : [];
    const found = bodies.map(({ code = null }) => seen.find((one) => code !== null && one.code === code));
    const updates = bodies.flatMap(({ code, ...changes }, index) => {
      const record = found[index];
      return record === undefined || skips ? [] : [{ ...changes, id: record.id }];
    });
    const updated = this.update(model, entity, updates);
    const creates = bodies.filter((_, index) => found[index] === undefined);
    const created = this.create(updated.model, entity, creates, ids);
    for (const { faults, isDangling } of [updated, created])
      statuses.push(
        ...[...faults].flatMap((fault) => refusalsOf(new Set([fault]), true)),
        ...(isDangling ? [400] : []),
      );
    const fresh = [...created.ids];
    const answered = found.map((record) => record?.id ?? (fresh.shift() as number));
    const isSeen = found.map((record) => record !== undefined);
    return { statuses, isSeen, ids: answered, model: created.model, mayConflict: updated.mayConflict === true };
  }

  #upsert(model: Model, write: Extract<Write, { kind: 'upsert' }>, { draw, resolve }: RunContext): Done {
    const { entity, kind, skips } = write;
    const bodies = write.bodies.map(
      (body): Values => Object.fromEntries(Object.entries(body).map(([name, value]) => [name, resolve(value)])),
    );
    const drawn = bodies.map(draw);
    const done = this.#writeKeyed(model, { entity, kind, skips, bodies, needsAll: true }, drawn);
    if (done.statuses.length > 0) return this.#refuse(model, done.statuses);
    const { records } = done.model[entity] as ModelEntity;
    const answer = done.ids.map(
      (id) => this.show(entity, records.find((one) => one.id === id) as Rec, done.model) ?? { id },
    );
    const made = done.ids.filter((_, index) => !done.isSeen[index]);
    return { refusals: [], allowed: done.mayConflict ? [409] : [], model: done.model, records: answer, drawn: made };
  }
}

/** What an import leaves: refused, or the state and the numbers of rows. */
export type Imported =
  | { readonly isRefused: true }
  | {
      readonly isRefused: false;
      readonly model: Model;
      readonly data: { readonly inserted: number; readonly updated: number; readonly skipped: number };
    };

interface RunContext {
  readonly isBatch: boolean;
  readonly draw: () => number;
  readonly resolve: (value: Value | { readonly operation: number }) => Value;
}

/** What a write of some records leaves if nothing is wrong with it. `isDangling`: whether PostgreSQL refuses a reference. */
interface Step {
  readonly faults: ReadonlySet<Fault>;
  readonly isDangling: boolean;
  readonly mayConflict?: boolean;
  readonly model: Model;
  readonly ids: readonly number[];
}

function replaceRecords(model: Model, entity: string, records: readonly Rec[]): Model {
  const owner = model[entity] as ModelEntity;
  const all = new Map(owner.records.map((record) => [record.id, record]));
  for (const record of records) all.set(record.id, record);
  return { ...model, [entity]: { ...owner, records: [...all.values()] } };
}

/** Comparisons by eq on fields of the entity that every record must satisfy. */
function listDemands(where: Where | undefined): readonly (readonly [string, unknown])[] {
  if (where === undefined) return [];
  if ('and' in where) return where.and.flatMap(listDemands);
  return 'op' in where && where.op === 'eq' && !where.field.includes('.') ? [[where.field, where.value]] : [];
}

function readValue(value: unknown, type: Type): Value | undefined {
  if (value === null || value === undefined || typeof value === 'object') return undefined;
  const text = String(value);
  if (type === 'text') return text;
  if (
    typeof value !== (type === 'integer' ? 'number' : type === 'flag' ? 'boolean' : 'string') &&
    typeof value !== 'string'
  )
    return undefined;
  if (!FORMS[type].test(text)) return undefined;
  return type === 'integer' ? Number(text) : type === 'flag' ? text === 'true' : text;
}

const getRelation = (model: Model, entity: string, name: string): ModelRelation =>
  model[entity]?.relations[name] as ModelRelation;

function isToOne(model: Model, entity: string, [head = '', ...rest]: readonly string[]): boolean {
  if (rest.length === 0) return true;
  const relation = getRelation(model, entity, head);
  return relation.isToOne && isToOne(model, relation.to, rest);
}

function listRelated(model: Model, { to, by }: ModelRelation, record: Rec): readonly Rec[] {
  const { records } = model[to] as ModelEntity;
  if ('own' in by) return records.filter(({ id }) => id === record[by.own]);
  if ('theirs' in by) return records.filter((other) => other[by.theirs] === record.id);
  const links = (model[by.through] as ModelEntity).records.filter((link) => link[by.from] === record.id);
  return records.filter(({ id }) => links.some((link) => link[by.other] === id));
}

function compare(own: Value, op: string, values: readonly Value[]): boolean {
  const [first, second] = values as readonly [Value, Value];
  switch (op) {
    case 'eq':
      return own !== null && own === first;
    case 'ne':
      return own !== first;
    case 'in':
      return own !== null && values.includes(own);
    case 'nin':
      return own === null || !values.includes(own);
    case 'isNull':
      return own === null;
    case 'notNull':
      return own !== null;
    default:
      return own !== null && compareOrder(own, op, first as never, second as never);
  }
}

function compareOrder(own: string | number | boolean, op: string, first: string, second: string): boolean {
  switch (op) {
    case 'gt':
      return own > first;
    case 'gte':
      return own >= first;
    case 'lt':
      return own < first;
    case 'lte':
      return own <= first;
    case 'between':
      return own >= first && own <= second;
    case 'contains':
      return String(own).includes(first);
    case 'startsWith':
      return String(own).startsWith(first);
    case 'endsWith':
      return String(own).endsWith(first);
    case 'ieq':
      return String(own).toUpperCase() === first.toUpperCase();
    default:
      throw new TypeError(op);
  }
}
