// A model of grants in plain TypeScript: what a user with roles and claims sees and may do, over tables in memory.
// Two entities: `parents` (level), and `items` (a, b, parentId, originId), which refer to parents and to each other.

export type Row = Readonly<Record<string, number | string | null>> & { readonly id: number };
export type Tables = Readonly<Record<EntityName, readonly Row[]>>;
export type EntityName = 'parents' | 'items';
export type Where =
  | { readonly and: readonly Where[] }
  | { readonly or: readonly Where[] }
  | { readonly not: Where }
  | { readonly field: string; readonly op: string; readonly value?: unknown };
export interface GrantDocument {
  readonly role?: string;
  readonly can: readonly string[];
  readonly where?: Where;
  readonly fields?: readonly string[];
  readonly write?: readonly string[];
  readonly set?: Readonly<Record<string, unknown>>;
}
export type Grants = Readonly<Record<EntityName, readonly GrantDocument[]>>;
export interface User {
  readonly roles: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
}
export type Body = Readonly<Record<string, number | string | null>>;
export type Verdict =
  | { readonly status: number }
  | { readonly status: number; readonly row: Row; readonly shown: Readonly<Record<string, unknown>> };

export const FIELDS: Readonly<Record<EntityName, readonly string[]>> = {
  parents: ['id', 'level'],
  items: ['id', 'a', 'b', 'parentId', 'originId'],
};
const LINKS: Readonly<Record<string, { readonly to: EntityName; readonly column: string }>> = {
  parent: { to: 'parents', column: 'parentId' },
  origin: { to: 'items', column: 'originId' },
};

type Value = number | string | null | undefined;

export class GrantsModel {
  readonly grants: Grants;
  readonly tables: Tables;
  readonly user: User;

  constructor(grants: Grants, tables: Tables, user: User) {
    this.grants = grants;
    this.tables = tables;
    this.user = user;
  }

  /** Returns the grants of the user's roles. */
  ofRoles(entity: EntityName, operation?: string): readonly GrantDocument[] {
    return this.grants[entity].filter(
      ({ role, can }) =>
        (role === undefined || this.user.roles.includes(role)) && (operation === undefined || can.includes(operation)),
    );
  }

  exists = (entity: EntityName): boolean => this.ofRoles(entity).length > 0;

  fieldsOf(entity: EntityName): readonly string[] {
    const names = this.ofRoles(entity, 'read').flatMap(({ fields }) => fields ?? FIELDS[entity]);
    return FIELDS[entity].filter((name) => name === 'id' || names.includes(name));
  }

  /** Returns the value of a claim, or undefined if it is not there or is no value of a field. */
  #claim(name: string, isList: boolean): readonly Value[] | undefined {
    const value = this.user.claims[name];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value)) return typeof value === 'number' ? [value] : undefined;
    return isList && value.every((one) => typeof one === 'number') ? value : undefined;
  }

  #applies({ where, set = {} }: GrantDocument): boolean {
    const check = (node: Where): boolean => {
      if ('and' in node) return node.and.every(check);
      if ('or' in node) return node.or.every(check);
      if ('not' in node) return check(node.not);
      const claim = (node.value as { readonly claim?: string } | undefined)?.claim;
      return claim === undefined || this.#claim(claim, node.op === 'in' || node.op === 'nin') !== undefined;
    };
    const isUsable = (value: unknown): boolean => {
      const claim = (value as { readonly claim?: string } | null)?.claim;
      return claim === undefined || this.#claim(claim, false) !== undefined;
    };
    return (where === undefined || check(where)) && Object.values(set).every(isUsable);
  }

  usable = (entity: EntityName, operation: string): readonly GrantDocument[] =>
    this.ofRoles(entity, operation).filter((grant) => this.#applies(grant));

  matches(where: Where | undefined, row: Row, tables: Tables): boolean {
    if (where === undefined) return true;
    if ('and' in where) return where.and.every((one) => this.matches(one, row, tables));
    if ('or' in where) return where.or.some((one) => this.matches(one, row, tables));
    if ('not' in where) return !this.matches(where.not, row, tables);
    const { field, op, value } = where;
    const [first = '', rest] = field.split('.');
    if (rest !== undefined) {
      const link = LINKS[first] as { to: EntityName; column: string };
      const related = tables[link.to].find(({ id }) => id === row[link.column]);
      const denied = { ne: 'eq', nin: 'in', isNull: 'notNull' }[op];
      if (denied !== undefined) {
        return !(related !== undefined && this.matches({ field: rest, op: denied, value }, related, tables));
      }
      return related !== undefined && this.matches({ field: rest, op, value }, related, tables);
    }
    const own = row[first] ?? null;
    const isList = op === 'in' || op === 'nin';
    const claim = (value as { readonly claim?: string } | undefined)?.claim;
    const values =
      claim === undefined ? (isList ? (value as readonly Value[]) : [value as Value]) : this.#claim(claim, isList);
    switch (op) {
      case 'eq':
        return own !== null && own === values?.[0];
      case 'ne':
        return own !== values?.[0];
      case 'in':
        return own !== null && values?.includes(own) === true;
      case 'nin':
        return !(own !== null && values?.includes(own) === true);
      case 'isNull':
        return own === null;
      default:
        return own !== null;
    }
  }

  /** Returns what the user sees of a record, or undefined if it is hidden. */
  show(entity: EntityName, row: Row, tables: Tables = this.tables): Readonly<Record<string, unknown>> | undefined {
    const seeing = this.usable(entity, 'read').filter(({ where }) => this.matches(where, row, tables));
    if (seeing.length === 0) return undefined;
    const isShown = (name: string): boolean =>
      name === 'id' || seeing.some(({ fields }) => (fields ?? FIELDS[entity]).includes(name));
    return Object.fromEntries(this.fieldsOf(entity).map((name) => [name, isShown(name) ? (row[name] ?? null) : null]));
  }

  list = (entity: EntityName): readonly Readonly<Record<string, unknown>>[] =>
    this.tables[entity].map((row) => this.show(entity, row)).filter((one) => one !== undefined);

  #isVisible(column: string, id: Value): boolean {
    const to: EntityName = column === 'parentId' ? 'parents' : 'items';
    const row = this.tables[to].find((one) => one.id === id);
    return row !== undefined && this.exists(to) && this.show(to, row) !== undefined;
  }

  #writeOf = (entity: EntityName, { fields, write }: GrantDocument): readonly string[] =>
    write ?? (fields ?? FIELDS[entity]).filter((name) => name !== 'id');

  /** Returns whether a body names a field that is neither readable nor writable by the roles. */
  #namesUnknown(entity: EntityName, body: Body): boolean {
    const writable = [...this.ofRoles(entity, 'create'), ...this.ofRoles(entity, 'update')].flatMap((grant) => [
      ...this.#writeOf(entity, grant),
      ...Object.keys(grant.set ?? {}),
    ]);
    const names = new Set([...this.fieldsOf(entity), ...writable]);
    return Object.keys(body).some((name) => !names.has(name));
  }

  #stamps(where: Where | undefined): readonly (readonly [string, unknown])[] {
    if (where === undefined) return [];
    if ('and' in where) return where.and.flatMap((one) => this.#stamps(one));
    return 'op' in where && where.op === 'eq' && !where.field.includes('.') ? [[where.field, where.value]] : [];
  }

  #resolve(value: unknown): Value {
    const claim = (value as { readonly claim?: string } | null)?.claim;
    return claim === undefined ? (value as Value) : this.#claim(claim, false)?.[0];
  }

  create(entity: EntityName, body: Body, id: number): Verdict {
    if (this.#namesUnknown(entity, body)) return { status: 400 };
    const candidates = this.usable(entity, 'create');
    for (const grant of candidates) {
      const demands = this.#stamps(grant.where);
      if (demands.some(([name]) => name === 'id')) continue;
      const set = Object.entries(grant.set ?? {});
      const write = this.#writeOf(entity, grant);
      if (!Object.keys(body).every((name) => write.includes(name) || set.some(([one]) => one === name))) continue;
      if (set.some(([name, value]) => name in body && body[name] !== this.#resolve(value))) continue;
      const row: Record<string, number | string | null> = Object.fromEntries(
        FIELDS[entity].map((name) => [name, null]),
      );
      const sources = new Map<string, unknown>();
      for (const [name, value] of [...set, ...demands]) if (!sources.has(name)) sources.set(name, value);
      for (const [name, value] of sources) row[name] = this.#resolve(value) ?? null;
      Object.assign(row, body, { id });
      const stored = row as Row;
      const after = this.#with(entity, stored);
      if (!this.matches(grant.where, stored, this.tables)) continue;
      if (!this.matches(grant.where, stored, after)) return { status: 403 };
      for (const column of ['parentId', 'originId']) {
        const value = stored[column] ?? null;
        if (entity !== 'items' || value === null) continue;
        const isGiven = sources.has(column) && this.#resolve(sources.get(column)) === value;
        const target = this.tables[column === 'parentId' ? 'parents' : 'items'].some((one) => one.id === value);
        if (isGiven ? !target : !this.#isVisible(column, value)) return { status: 400 };
      }
      return { status: 201, row: stored, shown: this.show(entity, stored, after) ?? { id } };
    }
    return { status: 403 };
  }

  #with(entity: EntityName, row: Row): Tables {
    return { ...this.tables, [entity]: [...this.tables[entity].filter(({ id }) => id !== row.id), row] };
  }

  update(entity: EntityName, id: number, body: Body): Verdict {
    if (this.#namesUnknown(entity, body)) return { status: 400 };
    const before = this.tables[entity].find((row) => row.id === id);
    const shown = before && this.show(entity, before);
    if (before === undefined || shown === undefined) return { status: 404 };
    const usable = this.usable(entity, 'update');
    const carries = usable.some(
      (grant) =>
        this.matches(grant.where, before, this.tables) &&
        Object.keys(body).every((name) => this.#writeOf(entity, grant).includes(name)),
    );
    const row = { ...before, ...body } as Row;
    const after = this.#with(entity, row);
    if (!carries || !usable.some((grant) => this.matches(grant.where, row, after))) return { status: 403 };
    for (const column of ['parentId', 'originId']) {
      const value = row[column] ?? null;
      if (!(column in body) || value === null || shown[column] === value) continue;
      if (!this.#isVisible(column, value)) return { status: 400 };
    }
    return { status: 200, row, shown: this.show(entity, row, after) ?? { id } };
  }

  delete(entity: EntityName, id: number): number {
    const row = this.tables[entity].find((one) => one.id === id);
    if (row === undefined || this.show(entity, row) === undefined) return 404;
    return this.usable(entity, 'delete').some(({ where }) => this.matches(where, row, this.tables)) ? 204 : 403;
  }
}
