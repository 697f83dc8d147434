// Validates roles and grants of a schema document, and builds the grants of an entity: every role, field and relation
// that they name exists, and every value is of the type of its field.
import type { JsonValue } from '../model/entity.ts';
import { isStorable, numberText } from '../model/exact-json.ts';
import { fieldType, type TypeAttributes } from '../model/field-types.ts';
import {
  GRANT_OPERATORS,
  type Grant,
  type GrantOperator,
  type GrantValue,
  type GrantWhere,
  MAX_GRANT_PATH,
} from '../model/grant.ts';
import { OPERATORS } from '../model/operators.ts';
import { getAttributes } from './fields.ts';
import { type EntityDocument, type GrantDocument, MAX_GRANT_LEAVES } from './format.ts';
import { missing } from './relations.ts';
import { hint, type Path, type Report } from './report.ts';
import { type DocumentView, type EntityView, getColumn, type Loose } from './view.ts';

const MAX_DEPTH = 20;
const MAX_NODES = 100;
const MAX_VALUES = 1000;
const MAX_CLAIM = 500;

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined;

/** Checks the grants of an entity, in which only the forms of `where` and `set` are unchecked. */
export function checkGrants(
  entity: EntityView,
  document: DocumentView,
  roles: readonly string[],
  report: Report,
): void {
  entity.document.grants?.forEach((grant: Loose<GrantDocument> | undefined, position) => {
    if (grant === undefined || report.isFull()) return;
    checkGrant([...entity.path, 'grants', position], grant, { entity, document, report, leaves: 0, nodes: 0 }, roles);
  });
}

interface Context {
  readonly entity: EntityView;
  readonly document: DocumentView;
  readonly report: Report;
  leaves: number;
  nodes: number;
}

function checkGrant(path: Path, grant: Loose<GrantDocument>, context: Context, roles: readonly string[]): void {
  const { entity, report } = context;
  const named = typeof grant.role === 'string' ? [grant.role] : (grant.role ?? []);
  named.forEach((role: string | undefined, at) => {
    if (role === undefined) return;
    const location = typeof grant.role === 'string' ? [...path, 'role'] : [...path, 'role', at];
    if (!roles.includes(role)) report(location, 'REFERENCE_NOT_FOUND', missing('role', role, roles, report));
    else if (named.indexOf(role) < at) report(location, 'INVALID', `names ${role} a second time`);
  });
  const can = grant.can ?? [];
  const writes = can.includes('create') || can.includes('update');
  if (grant.write !== undefined && !writes)
    report([...path, 'write'], 'INVALID', 'means nothing in a grant that can neither create nor update');
  if (grant.set !== undefined && !can.includes('create'))
    report([...path, 'set'], 'INVALID', 'means nothing in a grant that cannot create');
  grant.fields?.forEach((name: string | undefined, at) => {
    if (name !== undefined) checkField([...path, 'fields', at], name, entity, report);
  });
  grant.write?.forEach((name: string | undefined, at) => {
    if (name !== undefined) checkWritable([...path, 'write', at], name, entity, report);
  });
  if (grant.where !== undefined) checkWhere([...path, 'where'], grant.where, context, 1);
  for (const [name, value] of Object.entries(grant.set ?? {})) {
    const location = [...path, 'set', name];
    if (!checkWritable(location, name, entity, report)) continue;
    if (isObject(value) && Object.hasOwn(value, 'claim')) checkClaim(location, value, report);
    else checkLiteral({ location, name, value }, entity, report);
  }
}

function checkField(location: Path, name: string, entity: EntityView, report: Report): boolean {
  if (entity.columns.has(name)) return true;
  if (entity.opaque) return false;
  const relation = entity.relations.get(name);
  report(
    location,
    'REFERENCE_NOT_FOUND',
    relation?.kind === 'belongsTo'
      ? `${name} is a relation; its field is ${getColumn(name, relation)}`
      : missing('field', name, entity.columns.keys(), report, entity.name),
  );
  return false;
}

function checkWritable(location: Path, name: string, entity: EntityView, report: Report): boolean {
  if (!checkField(location, name, entity, report)) return false;
  const isServerSet =
    name === 'id' ||
    (entity.document.timestamps === true && !entity.fields.has(name) && /^(created|updated)At$/.test(name));
  if (isServerSet) report(location, 'INVALID', `${name} is set by the server`);
  return !isServerSet;
}

const NODE_FORM = 'must be {"and": []}, {"or": []}, {"not": {}} or {"field", "op", "value"}';

function checkWhere(path: Path, node: unknown, context: Context, depth: number): void {
  const { report } = context;
  if (++context.nodes > MAX_NODES) return void report(path, 'OUT_OF_RANGE', `is one of more than ${MAX_NODES} nodes`);
  if (depth > MAX_DEPTH) return void report(path, 'OUT_OF_RANGE', `is nested more than ${MAX_DEPTH} levels deep`);
  if (!isObject(node)) return void report(path, 'INVALID', NODE_FORM);
  const keys = Object.keys(node);
  const [first] = keys;
  if (keys.length === 1 && (first === 'and' || first === 'or')) {
    const members = node[first];
    if (!Array.isArray(members)) return void report([...path, first], 'TYPE_MISMATCH', 'must be a list');
    // An empty `and` would be every record, and an empty `or` none: neither is what was meant.
    if (members.length === 0) return void report([...path, first], 'INVALID', 'must not be empty');
    for (const [at, member] of members.entries()) checkWhere([...path, first, at], member, context, depth + 1);
    return;
  }
  if (keys.length === 1 && first === 'not') return void checkWhere([...path, 'not'], node.not, context, depth + 1);
  for (const key of keys) {
    if (key === 'field' || key === 'op' || key === 'value') continue;
    report([...path, key], 'UNKNOWN_FIELD', `is not known here. ${NODE_FORM}`);
    return;
  }
  if (typeof node.field !== 'string' || typeof node.op !== 'string') return void report(path, 'INVALID', NODE_FORM);
  if (++context.leaves > MAX_GRANT_LEAVES)
    return void report(path, 'OUT_OF_RANGE', `is one of more than ${MAX_GRANT_LEAVES} comparisons`);
  return void checkComparison(path, { field: node.field, op: node.op, value: node.value }, context);
}

function checkComparison(
  path: Path,
  { field, op, value }: { readonly field: string; readonly op: string; readonly value: unknown },
  context: Context,
): void {
  const { report } = context;
  const target = followPath([...path, 'field'], field, context);
  const operator = GRANT_OPERATORS.find((name) => name === op);
  if (operator === undefined) {
    const suggestion = hint(report.suggest(op, GRANT_OPERATORS));
    return void report([...path, 'op'], 'NOT_IN_ENUM', `must be one of ${GRANT_OPERATORS.join(', ')}.${suggestion}`);
  }
  if (target === undefined) return;
  const typeName = target.entity.columns.get(target.name);
  if (typeName === undefined) return;
  const type = fieldType(typeName);
  const { arity, needs } = OPERATORS[operator];
  if ((needs === 'order' && !type.ordered) || (needs === 'text' && !type.textual))
    return void report([...path, 'op'], 'INVALID', `${operator} does not apply to ${field} of type ${typeName}`);
  const location = [...path, 'value'];
  if (arity === 'none') {
    if (value !== undefined && value !== null) report(location, 'INVALID', `${operator} takes no value`);
    return;
  }
  const checkValue = (at: Path, one: unknown): void => {
    if (isObject(one) && Object.hasOwn(one, 'claim')) return void checkClaim(at, one, report);
    if (isObject(one) && Object.hasOwn(one, 'now')) {
      if (Object.keys(one).length > 1 || one.now !== true) return void report(at, 'INVALID', 'must be {"now": true}');
      if (typeName !== 'date' && typeName !== 'datetime')
        report(at, 'INVALID', `now does not apply to ${field} of type ${typeName}`);
      return;
    }
    if (one === null || one === undefined)
      return void report(at, 'REQUIRED', 'is required, and null is no value to compare with');
    checkLiteral({ location: at, name: target.name, value: one, operator }, target.entity, report);
    return;
  };
  if (arity === 'one') return void checkValue(location, value);
  if (arity === 'many' && isObject(value) && Object.hasOwn(value, 'claim'))
    return void checkClaim(location, value, report);
  if (!Array.isArray(value)) {
    return void report(
      location,
      'TYPE_MISMATCH',
      arity === 'many' ? 'must be a list or {"claim": name}' : 'must be a list',
    );
  }
  if (arity === 'two' && value.length !== 2) return void report(location, 'INVALID', `${operator} takes two values`);
  if (value.length > MAX_VALUES)
    return void report(location, 'OUT_OF_RANGE', `must have at most ${MAX_VALUES} entries`);
  for (const [at, one] of value.entries()) {
    if (arity === 'many' && isObject(one) && (Object.hasOwn(one, 'claim') || Object.hasOwn(one, 'now')))
      report(
        [...location, at],
        'INVALID',
        `a list of ${operator} holds literals; {"claim": name} stands for the whole list`,
      );
    else checkValue([...location, at], one);
  }
  return;
}

/** Returns the entity and the name of the field at the end of a path. */
function followPath(
  location: Path,
  text: string,
  { entity, document, report }: Context,
): { readonly entity: EntityView; readonly name: string } | undefined {
  const names = text.split('.');
  if (names.length - 1 > MAX_GRANT_PATH) {
    report(location, 'OUT_OF_RANGE', `crosses more than ${MAX_GRANT_PATH} relations`);
    return undefined;
  }
  let at = entity;
  for (const name of names.slice(0, -1)) {
    const relation = at.relations.get(name);
    if (relation === undefined) {
      if (!at.opaque)
        report(location, 'REFERENCE_NOT_FOUND', missing('relation', name, at.relations.keys(), report, at.name));
      return undefined;
    }
    const next = relation.entity === undefined ? undefined : document.get(relation.entity);
    if (next === undefined) return undefined;
    at = next;
  }
  const name = names.at(-1) ?? '';
  return checkField(location, name, at, report) ? { entity: at, name } : undefined;
}

function checkClaim(location: Path, value: Members, report: Report): void {
  const { claim } = value;
  if (Object.keys(value).length > 1) report(location, 'INVALID', 'must be {"claim": name}');
  else if (typeof claim !== 'string') report([...location, 'claim'], 'TYPE_MISMATCH', 'must be a string');
  else if (claim === '' || claim.split('.').includes(''))
    report([...location, 'claim'], 'INVALID', 'must not be empty');
  else if (claim.length > MAX_CLAIM)
    report([...location, 'claim'], 'TOO_LONG', `must have at most ${MAX_CLAIM} characters`);
  else if (!isStorable(claim))
    report([...location, 'claim'], 'INVALID', 'must not contain NUL characters or lone surrogates');
}

/** A literal for a field. `operator`: that of a comparison, or undefined for a value that is stored. */
interface Literal {
  readonly location: Path;
  readonly name: string;
  readonly value: unknown;
  readonly operator?: GrantOperator;
}

function checkLiteral({ location, name, value, operator }: Literal, entity: EntityView, report: Report): void {
  const isStored = operator === undefined;
  const typeName = entity.columns.get(name);
  if (typeName === undefined) return;
  const field = entity.fields.get(name);
  if (value === null) {
    const relation = [...entity.relations].find(
      ([key, one]) => one.kind === 'belongsTo' && getColumn(key, one) === name,
    );
    if (field?.required === true || relation?.[1].required === true)
      report(location, 'REQUIRED', `${name} is required, so it cannot be null`);
    return;
  }
  const attributes: TypeAttributes = field?.type === undefined ? {} : getAttributes({ ...field, type: field.type });
  const isPart = operator !== undefined && OPERATORS[operator].value === 'part';
  const type = fieldType(isPart ? 'text' : typeName);
  const decoded = type.decode(value, isPart ? {} : attributes);
  const checked = decoded.ok && isStored && type.check !== undefined ? type.check(decoded.value, attributes) : decoded;
  if (!checked.ok) report(location, checked.code, checked.message);
}

/** Returns the grants in the order of the document, or null without any. */
export function buildGrants({ grants }: Pick<EntityDocument, 'grants'>): readonly Grant[] | null {
  return grants === undefined || grants === null ? null : grants.map(buildGrant);
}

function buildGrant({ role, can, where, fields, write, set = {} }: GrantDocument): Grant {
  return {
    roles: role === undefined ? null : typeof role === 'string' ? [role] : role,
    can: new Set(can),
    where: where === undefined ? null : buildWhere(where),
    fields: fields ?? null,
    write: write ?? null,
    set: new Map(Object.entries(set).map(([name, value]) => [name, buildSetValue(value)])),
  };
}

function buildWhere(node: Members): GrantWhere {
  if (Array.isArray(node.and)) return { kind: 'and', members: node.and.map(buildWhere) };
  if (Array.isArray(node.or)) return { kind: 'or', members: node.or.map(buildWhere) };
  if (node.not !== undefined) return { kind: 'not', member: buildWhere(node.not as Members) };
  const operator = node.op as GrantOperator;
  const { arity } = OPERATORS[operator];
  const values = arity === 'none' ? [] : Array.isArray(node.value) && arity !== 'one' ? node.value : [node.value];
  return { kind: 'compare', path: (node.field as string).split('.'), operator, values: values.map(buildValue) };
}

const buildValue = (value: unknown): GrantValue =>
  isObject(value) && value.now === true ? { kind: 'now' } : buildSetValue(value);

const buildSetValue = (value: unknown): GrantValue =>
  isObject(value) && typeof value.claim === 'string'
    ? { kind: 'claim', claim: value.claim }
    : { kind: 'literal', value: value as JsonValue };
