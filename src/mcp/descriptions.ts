// Describes the entities of a workspace to agents, in short text, as a model pays for each word. Based on the same view
// as the OpenAPI document.
import { unknownEntity } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import type { External, Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { EntityView, RelationView } from '../openapi/view.ts';
import { explainClaims, explainRows } from '../plan/explain.ts';
import { getGrants } from '../plan/scan.ts';
import { OPERATIONS } from '../request/operations.ts';

/** Principal and workspace of an agent, with the limits of its URL. */
export interface AgentContext {
  readonly workspace: Workspace;
  readonly principal: Principal;
  /** Views of the entities that agents reach. */
  readonly views: readonly EntityView[];
  /** Reason why writes are forbidden, or undefined if they are allowed. */
  readonly readOnlyReason: string | undefined;
}

// Including the names some 11 kB for 200 entities of 20 characters each: below 12 kB.
const LIST_CHARACTERS = 11_000;
const LONGEST_DESCRIPTION = 200;
const LONGEST_FIELD_DESCRIPTION = 100;

/** Formats a line for each entity whose name or description contains the text. */
export function formatEntityList(
  { workspace, views, readOnlyReason }: AgentContext,
  search: string | undefined,
): string {
  const searchText = search?.trim().toLowerCase() ?? '';
  const matches = views.filter(({ entity }) =>
    `${entity.name} ${entity.description ?? ''}`.toLowerCase().includes(searchText),
  );
  const names = matches.reduce((sum, { entity }) => sum + entity.name.length + 3, 0);
  const maxCharacters = Math.max(
    0,
    Math.min(LONGEST_DESCRIPTION, Math.floor((LIST_CHARACTERS - names) / matches.length)),
  );
  const lines = matches.map(({ entity: { name, description } }) =>
    description === undefined || maxCharacters === 0 ? name : `${name}: ${truncateLine(description, maxCharacters)}`,
  );
  const count = `${matches.length === views.length ? '' : `${matches.length} of `}${views.length} entities`;
  return [
    `${count} in ${formatWorkspace(workspace)}. You may ${readOnlyReason === undefined ? 'read and write' : 'read'}.`,
    ...lines,
  ].join('\n');
}

const LEGEND =
  'Fields as "name type"; ? may be null, ! a create must give it, = its default. Relations as "name -> entity". Every entity has id.';

/** Formats fields and relations of the named entities; 404 for an unknown name. */
export function formatEntities(agentContext: AgentContext, names: readonly string[]): string {
  const { workspace, views } = agentContext;
  const descriptions = names.map((name) => {
    const view = views.find(({ entity }) => entity.name === name);
    if (view === undefined) {
      throw unknownEntity(name, closest(name, workspace.entities.keys()), workspace.entities.keys());
    }
    return formatEntity(view, agentContext);
  });
  return [LEGEND, ...descriptions].join('\n\n');
}

function formatEntity(view: EntityView, { principal, readOnlyReason }: AgentContext): string {
  const { entity, relations, expandDepth, required } = view;
  const fields = [...entity.fields.values()].filter(({ role }) => role !== 'id' && role !== 'reference');
  const links = new Set(readOnlyReason === undefined ? view.updateLinks : []);
  const related = [...relations].map(([name, relationView]) => {
    const isWritten = relationView.relation.kind === 'manyToMany' && links.has(relationView.relation);
    return `${formatRelation(name, relationView, required)}${isWritten ? ' written as ids' : ''}`;
  });
  const keys = [...entity.fields.values()].filter(
    ({ role, relation }) => role === 'reference' && !relations.has(relation as string),
  );
  const rows = describeRows(entity, principal);
  return [
    entity.description === undefined
      ? entity.name
      : `${entity.name}: ${truncateLine(entity.description, LONGEST_DESCRIPTION)}`,
    ...(fields.length + keys.length === 0
      ? []
      : [`  ${[...fields, ...keys].map((field) => formatField(field, view, readOnlyReason)).join('; ')}`]),
    ...formatHiddenFields(view, readOnlyReason),
    ...(related.length === 0 ? [] : [`  ${related.join('; ')}`]),
    ...(expandDepth === 0 ? ['  no relation may be expanded'] : []),
    ...(entity.search === null ? [] : [`  searchable: ${entity.search.fields.map(({ name }) => name).join(', ')}`]),
    ...(entity.access === undefined && view.operations.includes('history') ? ['  its records have a history'] : []),
    ...(rows === undefined ? [] : [`  you see: ${rows}`]),
    ...(entity.access === undefined ? [] : [`  you may: ${formatOperations(view, readOnlyReason)}`]),
  ].join('\n');
}

/** Formats the fields that the principal may write and not read. */
function formatHiddenFields(view: EntityView, readOnlyReason: string | undefined): readonly string[] {
  const { entity, createFields, updateFields } = view;
  if (entity.access === undefined || readOnlyReason !== undefined) return [];
  const hidden = [...new Set([...createFields, ...updateFields])].filter(({ name }) => !entity.fields.has(name));
  const texts = hidden.map((field) => formatField(field, view, readOnlyReason));
  return texts.length === 0 ? [] : [`  you write and do not see: ${texts.join('; ')}`];
}

const OPERATION_WORDS = {
  read: 'read',
  history: 'read the history',
  create: 'create',
  update: 'change',
  delete: 'delete',
} as const;

/** Formats the operations on records of an entity that the grants of the roles allow. */
function formatOperations({ operations }: EntityView, readOnlyReason: string | undefined): string {
  const names = Object.keys(OPERATION_WORDS) as (keyof typeof OPERATION_WORDS)[];
  const allowed = names.filter(
    (name) => operations.includes(name) && (OPERATIONS[name].access === 'read' || readOnlyReason === undefined),
  );
  return allowed.map((name) => OPERATION_WORDS[name]).join(', ') || 'nothing';
}

/** Returns when a principal with grants may write the field, or undefined for always. */
function describeWrites({ name }: Field, { entity, createFields, updateFields }: EntityView): string | undefined {
  if (entity.access === undefined) return undefined;
  const isCreated = createFields.some((field) => field.name === name);
  const isUpdated = updateFields.some((field) => field.name === name);
  if (isCreated && isUpdated) return undefined;
  if (isCreated) return 'you write it in a new record alone';
  return isUpdated ? 'you write it in a change alone' : 'you do not write it';
}

function formatField(field: Field, view: EntityView, readOnlyReason: string | undefined): string {
  const { required, ruleColumns, grantColumns } = view;
  const { name, role, description } = field;
  const mark = required.has(name) ? '!' : field.required ? '' : '?';
  const defaultText =
    field.default === undefined ? '' : ` = ${truncateLine(toText(field.default), LONGEST_FIELD_DESCRIPTION)}`;
  const isByServer = role === 'createdAt' || role === 'updatedAt';
  const writes = isByServer || readOnlyReason !== undefined ? undefined : describeWrites(field, view);
  const annotations = [
    ...(field.unique ? ['unique'] : []),
    ...(isByServer ? ['set by the server'] : []),
    ...(ruleColumns.has(name) ? ['set from your token'] : []),
    ...(grantColumns.has(name) ? ['set by your grants'] : []),
    ...(writes === undefined ? [] : [writes]),
    ...(description === undefined ? [] : [truncateLine(description, LONGEST_FIELD_DESCRIPTION)]),
  ];
  return `${name} ${formatType(field)}${mark}${defaultText}${annotations.length === 0 ? '' : ` (${annotations.join(', ')})`}`;
}

function formatType({ type, values, precision, scale, maxLength }: Field): string {
  if (values !== undefined) return values.join('|');
  if (precision !== undefined) return `${type}(${precision},${scale ?? 0})`;
  return maxLength === undefined ? type : `${type}(${maxLength})`;
}

function formatRelation(name: string, { relation, isList }: RelationView, required: ReadonlySet<string>): string {
  const to = `${name} -> ${relation.entity}`;
  if (isList) return `${to} (many)`;
  if (relation.kind !== 'belongsTo') return `${to} (one)`;
  return `${to} (one, key ${relation.column}${required.has(relation.column) ? '!' : relation.required ? '' : '?'})`;
}

/** Describes the records that an external user sees and the claims that decide, or returns undefined if it sees all. */
function describeRows(entity: Entity, principal: Principal): string | undefined {
  if (principal.kind !== 'external') return undefined;
  if (entity.access !== undefined) return describeGrantedRows(entity, principal);
  const [explained] = explainRows([entity], principal.claims);
  if (explained === undefined || explained.sees === 'all') return undefined;
  const { sees, filter, rules } = explained;
  // A filter that matches nothing names its claims itself.
  return sees === 'none' ? filter : `${filter} (from your ${rules.map(({ claim }) => claim).join(', ')})`;
}

function describeGrantedRows(entity: Entity, { claims }: External): string {
  const readers = getGrants(entity, 'read');
  if (readers.length === 0) return 'no record: no grant of your roles can read';
  const reasons = readers.map((grant) => explainClaims(claims, grant));
  return reasons.includes(null)
    ? 'the records and fields that the grants of your roles show'
    : `no record: ${[...new Set(reasons)].join('; ')}`;
}

/** Formats the caller, its permissions, and which records of the named entity, or of all, it sees. */
export function formatAccess(agentContext: AgentContext, name: string | undefined): string {
  const { workspace, principal, views, readOnlyReason } = agentContext;
  const selectedViews = name === undefined ? views : views.filter(({ entity }) => entity.name === name);
  if (name !== undefined && selectedViews.length === 0) {
    throw unknownEntity(name, closest(name, workspace.entities.keys()), workspace.entities.keys());
  }
  const rows = selectedViews.flatMap((view) => {
    const { entity } = view;
    const filter = describeRows(entity, principal);
    if (filter === undefined) return [];
    const operations = entity.access === undefined ? '' : `; you may: ${formatOperations(view, readOnlyReason)}`;
    return [`${entity.name}: ${filter}${operations}`];
  });
  const remainderText = rows.length === 0 ? 'You see every record' : 'Of all other entities you see every record';
  return [
    `You are ${describePrincipal(principal, workspace)} in ${formatWorkspace(workspace)}.`,
    readOnlyReason === undefined
      ? describeWriteAccess(workspace)
      : `You may read. A write would be refused: ${readOnlyReason}.`,
    ...(rows.length === 0 ? [] : ['Records that you see:', ...rows]),
    ...(rows.length === selectedViews.length ? [] : [`${remainderText}${name === undefined ? '' : ` of ${name}`}.`]),
  ].join('\n');
}

const describeWriteAccess = ({ agents }: Workspace): string =>
  agents.writes === 'confirm'
    ? 'You may read and write. A write is done when it was confirmed: the first call changes nothing and shows what would change.'
    : 'You may read and write.';

function describePrincipal(principal: Principal, workspace: Workspace): string {
  switch (principal.kind) {
    case 'operator':
      return 'the operator';
    case 'owner':
      return `the credential ${principal.credentialId} with ${principal.permissions} permissions`;
    case 'external':
      if (principal.onlyGrants)
        return `the credential ${principal.credentialId} with ${describeRoles(principal, workspace)}`;
      return `the user whose sub is ${truncateLine(toText(principal.claims.sub), LONGEST_FIELD_DESCRIPTION)}, with ${principal.permissions} permissions${workspace.roles.length === 0 ? '' : ` and ${describeRoles(principal, workspace)}`},`;
    default:
      return principal satisfies never;
  }
}

function describeRoles({ roles }: External, workspace: Workspace): string {
  const names = workspace.roles.filter((role) => roles.includes(role));
  if (names.length === 0) return 'no role';
  return `the ${names.length === 1 ? 'role' : 'roles'} ${names.join(', ')}`;
}

export const formatWorkspace = ({ organization, slug }: Pick<Workspace, 'organization' | 'slug'>): string =>
  `${organization}/${slug}`;

const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** Formats the text in one line of at most so many characters. */
function truncateLine(text: string, characters: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length <= characters
    ? flat
    : `${flat.slice(0, Math.max(0, characters - 1)).replace(/[\ud800-\udbff]$/, '')}…`;
}
