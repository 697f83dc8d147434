// What agents are told of the entities of a workspace, as short text: a model pays for each word. Made of the view that
// the OpenAPI document is made of.
import { unknownEntity } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { EntityView, RelationView } from '../openapi/view.ts';
import { explainRows } from '../plan/explain.ts';

/** Who asks, and what the place lets them do. */
export interface Standpoint {
  readonly workspace: Workspace;
  readonly principal: Principal;
  /** Of each entity that agents reach. */
  readonly views: readonly EntityView[];
  /** Why nothing may be written; undefined when it may. */
  readonly noWrites: string | undefined;
}

// Together with the names some 11 kB for 200 entities of 20 characters each: below 12 kB.
const LIST_CHARACTERS = 11_000;
const LONGEST_DESCRIPTION = 200;
const LONGEST_FIELD_DESCRIPTION = 100;

/** A line for each entity whose name or description has the text. */
export function listText({ workspace, views, noWrites }: Standpoint, search: string | undefined): string {
  const wanted = search?.trim().toLowerCase() ?? '';
  const found = views.filter(({ entity }) =>
    `${entity.name} ${entity.description ?? ''}`.toLowerCase().includes(wanted),
  );
  const names = found.reduce((sum, { entity }) => sum + entity.name.length + 3, 0);
  const room = Math.max(0, Math.min(LONGEST_DESCRIPTION, Math.floor((LIST_CHARACTERS - names) / found.length)));
  const lines = found.map(({ entity: { name, description } }) =>
    description === undefined || room === 0 ? name : `${name}: ${line(description, room)}`,
  );
  const count = `${found.length === views.length ? '' : `${found.length} of `}${views.length} entities`;
  return [
    `${count} in ${placeOf(workspace)}. You may ${noWrites === undefined ? 'read and write' : 'read'}.`,
    ...lines,
  ].join('\n');
}

const LEGEND =
  'Fields as "name type"; ? may be null, ! a create must give it, = its default. Relations as "name -> entity". Every entity has id.';

/** Fields and relations of the named entities; 404 for a name that is none. */
export function describeText(standpoint: Standpoint, names: readonly string[]): string {
  const { workspace, views } = standpoint;
  const described = names.map((name) => {
    const view = views.find(({ entity }) => entity.name === name);
    if (view === undefined) {
      throw unknownEntity(name, closest(name, workspace.entities.keys()), workspace.entities.keys());
    }
    return entityText(view, standpoint);
  });
  return [LEGEND, ...described].join('\n\n');
}

function entityText(
  { entity, relations, expandDepth, required, stamped }: EntityView,
  { principal }: Standpoint,
): string {
  const fields = [...entity.fields.values()].filter(({ role }) => role !== 'id' && role !== 'reference');
  const related = [...relations].map(([name, view]) => relationText(name, view, required));
  const keys = [...entity.fields.values()].filter(
    ({ role, relation }) => role === 'reference' && !relations.has(relation as string),
  );
  const rows = rowsOf(entity, principal);
  return [
    entity.description === undefined ? entity.name : `${entity.name}: ${line(entity.description, LONGEST_DESCRIPTION)}`,
    ...(fields.length + keys.length === 0
      ? []
      : [`  ${[...fields, ...keys].map((field) => fieldText(field, required, stamped)).join('; ')}`]),
    ...(related.length === 0 ? [] : [`  ${related.join('; ')}`]),
    ...(expandDepth === 0 ? ['  no relation may be expanded'] : []),
    ...(entity.search === null ? [] : [`  searchable: ${entity.search.fields.map(({ name }) => name).join(', ')}`]),
    ...(rows === undefined ? [] : [`  you see: ${rows}`]),
  ].join('\n');
}

function fieldText(field: Field, required: ReadonlySet<string>, stamped: ReadonlySet<string>): string {
  const { name, role, description } = field;
  const mark = required.has(name) ? '!' : field.required ? '' : '?';
  const preset = field.default === undefined ? '' : ` = ${line(textOf(field.default), LONGEST_FIELD_DESCRIPTION)}`;
  const notes = [
    ...(field.unique ? ['unique'] : []),
    ...(role === 'createdAt' || role === 'updatedAt' ? ['set by the server'] : []),
    ...(stamped.has(name) ? ['set from your token'] : []),
    ...(description === undefined ? [] : [line(description, LONGEST_FIELD_DESCRIPTION)]),
  ];
  return `${name} ${typeText(field)}${mark}${preset}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`;
}

function typeText({ type, values, precision, scale, maxLength }: Field): string {
  if (values !== undefined) return values.join('|');
  if (precision !== undefined) return `${type}(${precision},${scale ?? 0})`;
  return maxLength === undefined ? type : `${type}(${maxLength})`;
}

function relationText(name: string, { relation, isList }: RelationView, required: ReadonlySet<string>): string {
  const to = `${name} -> ${relation.entity}`;
  if (isList) return `${to} (many)`;
  if (relation.kind !== 'belongsTo') return `${to} (one)`;
  return `${to} (one, key ${relation.column}${required.has(relation.column) ? '!' : relation.required ? '' : '?'})`;
}

/** Which records an external user sees; undefined for all. */
function rowsOf(entity: Entity, principal: Principal): string | undefined {
  if (principal.kind !== 'external') return undefined;
  const [explained] = explainRows([entity], principal.claims);
  return explained === undefined || explained.sees === 'all' ? undefined : explained.filter;
}

/** Who the caller is, what it may do, and which records it sees of the named entity or of all. */
export function accessText(standpoint: Standpoint, name: string | undefined): string {
  const { workspace, principal, views, noWrites } = standpoint;
  const named = name === undefined ? views : views.filter(({ entity }) => entity.name === name);
  if (name !== undefined && named.length === 0) {
    throw unknownEntity(name, closest(name, workspace.entities.keys()), workspace.entities.keys());
  }
  const rows = named.flatMap(({ entity }) => {
    const filter = rowsOf(entity, principal);
    return filter === undefined ? [] : [`${entity.name}: ${filter}`];
  });
  const others = rows.length === 0 ? 'You see every record' : 'Of all other entities you see every record';
  return [
    `You are ${whoIs(principal)} in ${placeOf(workspace)}.`,
    noWrites === undefined ? mayWrite(workspace) : `You may read. A write would be refused: ${noWrites}.`,
    ...(rows.length === 0 ? [] : ['Records that you see:', ...rows]),
    ...(rows.length === named.length ? [] : [`${others}${name === undefined ? '' : ` of ${name}`}.`]),
  ].join('\n');
}

const mayWrite = ({ agents }: Workspace): string =>
  agents.writes === 'confirm'
    ? 'You may read and write. A write is done when it was confirmed: the first call changes nothing and shows what would change.'
    : 'You may read and write.';

function whoIs(principal: Principal): string {
  switch (principal.kind) {
    case 'operator':
      return 'the instance administrator';
    case 'owner':
      return `the credential ${principal.credentialId} with ${principal.permissions} permissions`;
    case 'external':
      return `the user ${line(textOf(principal.claims.sub), LONGEST_FIELD_DESCRIPTION)} with ${principal.permissions} permissions`;
    default:
      return principal satisfies never;
  }
}

export const placeOf = ({ organization, slug }: Pick<Workspace, 'organization' | 'slug'>): string =>
  `${organization}/${slug}`;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** The text in one line, cut at so many characters. */
function line(text: string, characters: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length <= characters
    ? flat
    : `${flat.slice(0, Math.max(0, characters - 1)).replace(/[\ud800-\udbff]$/, '')}…`;
}
