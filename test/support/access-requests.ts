// Requests of a user for two worlds: reads, writes, mistakes and conditions of a drawn workspace. They know which ids exist
// and which are hidden, and nothing of rules.
import fc, { type GeneratorValue } from 'fast-check';
import type { Drawn } from './row-rules-arbitrary.ts';
import type { Model, ModelEntity, Rec, Value } from './row-rules-read-model.ts';
import { choiceOf, choiceParametersOf, drawWish, pathsOf } from './row-rules-requests.ts';
import type { View } from './row-rules-view.ts';
import { isRef, type Write } from './row-rules-write-model.ts';
import { ABSENT, drawWrites, requestOf } from './row-rules-writes.ts';

export interface Request {
  readonly kind: string;
  readonly method: string;
  /** Below the workspace. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is JSON. */
  readonly body?: object | string | undefined;
  /** Header that gets the ETag which this record has in each world. */
  readonly etag?: { readonly header: string; readonly record: string };
  /** Whether the pages that follow are requested, too. */
  readonly isWalk?: boolean;
  readonly writes: readonly Write[];
}

const READS = [
  ...(['list', 'list', 'query', 'query', 'walk', 'read', 'read', 'aggregate', 'export', 'description'] as const),
  ...(['feed', 'feed', 'history'] as const),
];
/** Conditions of feeds: on fields that some users see of some records only. */
const FEED_FILTERS = [
  'word,eq,x',
  'word,ne,x',
  'word,isNull',
  'word,notNull',
  'number,gte,2',
  'number,in,1;3',
] as const;
const WRITES = ['write', 'write', 'write', 'write', 'linked', 'linked', 'import', 'conditional'] as const;

/** `readable`: the entities, fields and relations of reads. */
export function drawRequest(
  g: GeneratorValue,
  schema: ReadonlyMap<string, Drawn>,
  model: Model,
  { view, readable = model }: { readonly view: View; readonly readable?: Model },
): Request {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  // Integers that are drawn are small or large most of the time.
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  const some = <T>(share: number, values: readonly T[]): T[] =>
    values.length > 0 && chance(share) ? [pick(values)] : [];
  const anyId = (name: string): number =>
    pick([ABSENT, ...(model[name] as ModelEntity).records.map((record) => record.id)]);

  const drawn = ((): Request => {
    const kind = pick(chance(55) ? READS : WRITES);
    switch (kind) {
      case 'list':
      case 'query':
      case 'walk':
      case 'read':
      case 'aggregate':
      case 'export':
        return drawRead(kind);
      case 'description':
        return { kind, method: 'GET', path: pick(['', '_schema', '_openapi.json']), writes: [] };
      case 'feed':
      case 'history':
        return drawChanges(kind);
      case 'import':
        return drawImport();
      case 'linked':
        return drawLinked();
      case 'conditional':
        return drawConditional();
      default: {
        const wish = drawWrites(g, schema, model, view);
        const keyed: Record<string, string> = chance(25) ? { 'idempotency-key': pick(['k1', 'k2', 'k3']) } : {};
        return { kind: wish.form, ...requestOf(wish), headers: keyed, writes: wish.writes };
      }
    }
  })();
  return chance(6) ? spoil(drawn) : drawn;

  function drawRead(kind: 'list' | 'query' | 'walk' | 'read' | 'aggregate' | 'export'): Request {
    const wish = drawWish(g, readable);
    const { entity, size } = wish;
    const sort = wish.sort.map(([path, direction]) => `${path.join('.')},${direction}`);
    const expand = pathsOf(wish.expand);
    const selection = { expand, ...(wish.fields === undefined ? {} : { fields: wish.fields }) };
    const more = Object.fromEntries([
      ...some(40, [
        ['count', 'exact'],
        ['count', 'none'],
        ['count', 'estimated'],
      ] as const),
      ...some(20, [['versions', 'true']] as const),
      ...some(20, [['preview', '1']] as const),
    ]);
    if (kind === 'query' || kind === 'walk') {
      const body = {
        ...choiceOf(wish),
        ...selection,
        sort,
        size,
        ...(more.count === undefined ? {} : { count: more.count }),
        ...(kind === 'query' && chance(30) ? { page: pick([0, 1, 2]) } : {}),
        ...(kind === 'query' && chance(25) ? { distinct: pick((readable[entity] as ModelEntity).fields) } : {}),
      };
      return { kind, method: 'POST', path: `${entity}/_query`, body, isWalk: kind === 'walk', writes: [] };
    }
    const parameters = new URLSearchParams();
    if (kind === 'read') {
      parameters.append('expand', expand.join());
      if (wish.fields !== undefined) parameters.append('fields', wish.fields.join());
      const [record, method] = [`${entity}/${anyId(entity)}`, pick(['GET', 'GET', 'HEAD'])];
      const etag = chance(25) ? { etag: { header: pick(['if-none-match', 'if-match']), record } } : {};
      return { kind, method, path: `${record}?${parameters}`, ...etag, writes: [] };
    }
    for (const parameter of choiceParametersOf(wish) ?? []) {
      const at = parameter.indexOf('=');
      parameters.append(parameter.slice(0, at), parameter.slice(at + 1));
    }
    if (kind === 'aggregate') {
      const [of, group] = [wish.grouping.of.join('.'), wish.grouping.groups.map((path) => path.join('.'))];
      const functions = ['count', `count:${of}`, `countDistinct:${of}`, `min:${of}`, `max:${of}`];
      const sums = of.endsWith('word') ? [] : [`sum:${of}`, `avg:${of}`];
      const select = g(fc.subarray, [...functions, ...sums], { minLength: 1 }) as string[];
      const having = chance(30) ? [`${select[0]},${pick(['gte', 'ne'])},${of.endsWith('word') ? 'x' : 2}`] : [];
      const order = chance(40) ? [`${select[0]},${pick(['asc', 'desc'])}`] : [];
      if (chance(50)) {
        const body = { select, group, ...choiceOf(wish), having, sort: order, size };
        return { kind, method: 'POST', path: `${entity}/_aggregate`, body, writes: [] };
      }
      parameters.append('select', select.join());
      if (group.length > 0) parameters.append('group', group.join());
      for (const [name, texts] of [
        ['having', having],
        ['sort', order],
      ] as const)
        for (const text of texts) parameters.append(name, text);
      return { kind, method: 'GET', path: `${entity}/_aggregate?${parameters}`, writes: [] };
    }
    for (const one of sort) parameters.append('sort', one);
    if (kind === 'export') {
      parameters.append('format', pick(['csv', 'ndjson']));
      const fields = wish.fields?.filter((field) => (readable[entity] as ModelEntity).fields.includes(field)) ?? [];
      if (fields.length > 0) parameters.append('fields', fields.join());
      return { kind, method: 'GET', path: `${entity}/_export?${parameters}`, writes: [] };
    }
    parameters.append('expand', expand.join());
    if (wish.fields !== undefined) parameters.append('fields', wish.fields.join());
    parameters.append('size', String(size));
    for (const [name, value] of Object.entries(more)) parameters.append(name, value);
    const list = expand.filter((path) => (readable[entity] as ModelEntity).relations[path]?.isToOne === false);
    for (const path of some(30, list)) {
      const [name, value] = pick([
        ['size', '1'],
        ['sort', 'number,desc'],
        ['filter', 'number,gte,2'],
        ['search', 'x'],
      ] as const);
      parameters.append(`${path}.${name}`, value);
    }
    return { kind, method: pick(['GET', 'GET', 'GET', 'HEAD']), path: `${entity}?${parameters}`, writes: [] };
  }

  function drawChanges(kind: 'feed' | 'history'): Request {
    const entity = pick(Object.keys(readable));
    const parameters = new URLSearchParams(some(70, [['size', String(pick([1, 2, 5, 50]))]]));
    const fields = g(fc.subarray, (readable[entity] as ModelEntity).fields as string[]) as string[];
    const isWhole = chance(30);
    if ((!isWhole || kind === 'history') && chance(30)) parameters.append('fields', fields.join());
    if (kind === 'history')
      return { kind, method: 'GET', path: `${entity}/${anyId(entity)}/_history?${parameters}`, writes: [] };
    parameters.append('after', chance(90) ? 'oldest' : 'now');
    if (chance(60)) parameters.append('previous', 'true');
    if (chance(25))
      parameters.append(
        'types',
        (g(fc.subarray, ['created', 'updated', 'removed'], { minLength: 1 }) as string[]).join(),
      );
    if (!isWhole) {
      for (const text of some(40, FEED_FILTERS)) parameters.append('filter', text);
      return { kind, method: 'GET', path: `${entity}/_changes?${parameters}`, writes: [] };
    }
    if (chance(50)) parameters.append('entities', `${entity},${pick(Object.keys(readable))}`);
    return { kind, method: 'GET', path: `_changes?${parameters}`, writes: [] };
  }

  function drawImport(): Request {
    const wish = drawWrites(g, schema, model, view);
    const write = wish.writes.find((one) => one.kind === 'create' || one.kind === 'upsert');
    const entity = write?.entity ?? pick(Object.keys(model));
    const bodies = (write !== undefined && 'bodies' in write ? write.bodies : [{ word: 'x' }]).filter(
      (body) => !Object.values(body).some(isRef),
    ) as Readonly<Record<string, Value>>[];
    const upserts = write?.kind === 'upsert';
    const isGiven = !upserts && chance(15);
    const rows = bodies.map((body) => ({ ...body, ...(isGiven ? { id: anyId(entity) } : {}) }));
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const isCsv = chance(50);
    const lines = isCsv
      ? [columns.join(), ...rows.map((row: Record<string, Value>) => columns.map((name) => row[name] ?? '').join())]
      : rows.map((row) => JSON.stringify(row));
    const query = new URLSearchParams({
      ...(upserts ? { onConflict: write.skips ? 'skip' : 'update', conflictOn: 'code' } : {}),
      ...(isGiven ? { onConflict: pick(['update', 'skip', 'fail']) } : {}),
      ...(chance(15) ? { dryRun: 'true' } : {}),
    });
    return {
      kind: 'import',
      method: 'POST',
      path: `${entity}/_import?${query}`,
      headers: { 'content-type': isCsv ? 'text/csv' : 'application/x-ndjson' },
      body: lines.join('\n'),
      writes: [{ kind: upserts ? 'upsert' : 'create', entity, bodies: rows, skips: false }],
    };
  }

  /** A write of a many-to-many relation. */
  function drawLinked(): Request {
    const [entity, relation, target, own, other] = pick([
      ['alpha', 'betas', 'beta', 'leftId', 'rightId'],
      ['beta', 'alphas', 'alpha', 'rightId', 'leftId'],
    ] as const);
    const id = anyId(entity);
    const drawIds = (): readonly number[] => Array.from({ length: pick([0, 1, 1, 2]) }, () => anyId(target));
    const [added, removed, isSet] = [drawIds(), drawIds(), chance(50)];
    const value = isSet ? added : { $add: added, $remove: removed.filter((one) => !added.includes(one)) };
    const links = (model.link as ModelEntity).records.filter(
      (link) => link[own] === id && (isSet || removed.includes(link[other] as number)),
    );
    const writes: readonly Write[] = [
      { kind: 'delete', entity: 'link', ids: links.map((link) => link.id) },
      ...(added.length === 0
        ? []
        : [{ kind: 'create', entity: 'link', bodies: added.map((one) => ({ [own]: id, [other]: one })) } as const]),
    ];
    const members = { [relation]: value, ...(chance(20) ? { number: pick([1, 2, 3]) } : {}) };
    const form = pick(['one', 'bulk', 'where'] as const);
    const common = { kind: `linked ${form}`, method: form === 'where' ? 'POST' : 'PATCH', writes };
    if (form === 'one') return { ...common, path: `${entity}/${id}`, body: members };
    if (form === 'bulk') return { ...common, path: `${entity}/_bulk`, body: { data: [{ id, ...members }] } };
    const filter = { field: 'id', op: 'eq', value: id };
    return { ...common, path: `${entity}/_update`, body: { filter, set: members, max: 10 } };
  }

  /** An update or delete of a record whose ETag is read before, or one that nothing has. */
  function drawConditional(): Request {
    const entity = pick(Object.keys(model));
    const id = anyId(entity);
    const record = `${entity}/${id}`;
    const condition = chance(70)
      ? { etag: { header: 'if-match', record: chance(85) ? record : `${entity}/${anyId(entity)}` } }
      : { headers: { 'if-match': pick(['*', '"1.1"', 'x']) } };
    if (chance(35))
      return {
        kind: 'conditional',
        method: 'DELETE',
        path: record,
        ...condition,
        writes: [{ kind: 'delete', entity, ids: [id] }],
      };
    const body = view.isStamped(entity, 'number') ? { word: 'y' } : { number: pick([1, 2, 3]) };
    const writes: readonly Write[] = [{ kind: 'update', entity, bodies: [{ ...body, id }] }];
    return { kind: 'conditional', method: pick(['PUT', 'PATCH']), path: record, body, ...condition, writes };
  }

  /** Makes a mistake in the request. */
  function spoil(request: Request): Request {
    const at = request.path.includes('?') ? '&' : '?';
    const mistakes: readonly Partial<Request>[] = [
      { path: `${request.path}${at}nothing=1` },
      { path: `${request.path}${at}filter=word,foo,1` },
      { path: `${request.path}${at}after=abc` },
      { path: request.path.replace(/^\w+/, '$&s') },
      { path: request.path.replace(/^(\w+)\/(\d+)/, '$1/x$2') },
      { path: request.path.replace(/^(\w+)\/(\d+)/, '$1/9$2000000000000000000') },
      { body: '{"word": 1' },
      { body: { ...(typeof request.body === 'object' ? request.body : {}), nothing: 1 } },
      { headers: { ...request.headers, 'idempotency-key': '' } },
      { method: 'PURGE' },
    ];
    const mistake = pick(mistakes.filter(({ body }) => body === undefined || request.body !== undefined));
    return { ...request, kind: `${request.kind}, spoiled`, ...mistake };
  }
}

/** Returns whether the request is an upsert over the key of a hidden record, which must be refused. */
export function targetsHidden(
  { writes }: Request,
  model: Model,
  isHidden: (entity: string, id: number) => boolean,
): boolean {
  const [write, ...others] = writes;
  // An earlier operation of a batch may delete the hidden record by a cascade.
  if (write?.kind !== 'upsert' || others.length > 0) return false;
  const { entity, bodies } = write;
  return (model[entity] as ModelEntity).records.some(
    ({ id, code }) => isHidden(entity, id) && code !== null && bodies.some((body) => body.code === code),
  );
}

/**
 * Returns whether the answer may depend on hidden records: on their unique values, or on how they refer to records that are
 * deleted.
 */
export function reachesHidden(
  { writes }: Request,
  schema: ReadonlyMap<string, Drawn>,
  model: Model,
  view: View,
  isHidden: (entity: string, id: number) => boolean,
): boolean {
  const listHidden = (name: string): readonly Rec[] =>
    (model[name] as ModelEntity).records.filter(({ id }) => isHidden(name, id));
  const holds = (name: string, column: string, value: unknown): boolean =>
    value !== undefined && value !== null && listHidden(name).some((record) => record[column] === value);
  const bodies = writes.flatMap((write) => ('bodies' in write ? write.bodies.map((body) => ({ write, body })) : []));
  // PostgreSQL checks a reference that stays as it is when one transaction changes the record twice.
  const isCheckedTwice = ({ write, body }: (typeof bodies)[number]): boolean =>
    schema
      .get(write.entity)
      ?.references.some(({ column, to }) => typeof body[column] === 'number' && isHidden(to, body[column])) === true;
  if (bodies.length > 1 && bodies.some(isCheckedTwice)) return true;
  return writes.some((write) => {
    const { entity } = write;
    if ('bodies' in write) {
      const references = schema.get(entity)?.references.filter(({ unique }) => unique) ?? [];
      return ['code', ...references.map(({ column }) => column)].some(
        (column) =>
          (write.kind !== 'update' && view.isStamped(entity, column) && listHidden(entity).length > 0) ||
          write.bodies.some((body) => holds(entity, column, body[column])),
      );
    }
    return write.kind === 'delete' && cascades(entity, write.ids);
  });

  function cascades(entity: string, ids: readonly unknown[]): boolean {
    const deleted = new Set(ids.map((id) => `${entity} ${id}`));
    for (let size = -1; size < deleted.size; ) {
      size = deleted.size;
      for (const [name, { references }] of schema)
        for (const record of (model[name] as ModelEntity).records)
          for (const { column, to, onDelete } of references) {
            if (!deleted.has(`${to} ${record[column]}`)) continue;
            if (isHidden(name, record.id)) return true;
            if (onDelete === 'cascade') deleted.add(`${name} ${record.id}`);
          }
    }
    return false;
  }
}
