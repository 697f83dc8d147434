// Computes the steps that make a server match a configuration file: the difference between desired and actual state, as
// requests of the admin API. Pure: the same two values give the same steps, and none when they are equal.

import type { LimitChange, OwnLimits, Plan, PublishedVersion, RolloutPlan } from '../../admin-types/admin-api.d.ts';
import { numberText } from '../model/exact-json.ts';
import { ADMIN_PREFIX, type Query } from './admin-client.ts';
import { organizationPath, type WorkspaceAddress, workspaceName, workspacePath } from './command.ts';
import { type DesiredOrganization, type DesiredWorkspace, LIMIT_NAMES } from './config-file.ts';
import { complete, LISTS, PARTS, type Part, type Values } from './config-parts.ts';
import { isObject, type SchemaFile } from './schema-file.ts';
import { formatQuantity } from './table.ts';

export interface ActualWorkspace {
  readonly name: string;
  readonly state: string;
  readonly limits: OwnLimits;
  readonly corsOrigins: readonly string[] | null;
  readonly follows: { readonly schema: string; readonly version: number } | null;
  readonly document: Values;
  /** Plan of the desired schema, or of the shared one that it begins to follow; null without one. */
  readonly plan: Plan | null;
  /** Plan of the other version that the file names of the shared schema that it follows; null without one. */
  readonly versionPlan: RolloutPlan | null;
  readonly parts: Readonly<Record<string, Values | null>>;
  readonly lists: Readonly<Record<string, readonly Values[]>>;
}

/** A shared schema of the server. */
export interface ActualSchema {
  readonly newest: number | null;
  /** Version that the document of the file would be; the newest if it is equal to that. */
  readonly next: PublishedVersion;
}

export interface ActualOrganization {
  readonly name: string;
  readonly limits: OwnLimits;
  readonly schemas: Readonly<Record<string, ActualSchema>>;
  readonly workspaces: Readonly<Record<string, ActualWorkspace>>;
}

export interface Actual {
  readonly organizations: Readonly<Record<string, ActualOrganization>>;
  /** Organizations and workspaces that the file does not name; empty unless requested. */
  readonly unlisted: readonly {
    readonly organization: string;
    readonly workspaces: readonly string[];
    /** Whether the file names the organization. */
    readonly isListed: boolean;
  }[];
}

interface Request {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
}

/** Options of `wda config` that allow a step. */
export type Need = 'prune' | 'pruneWorkspaces' | 'allowDestructive';

export interface Step {
  /** `acme` or `acme/shop`. */
  readonly place: string;
  readonly change: 'create' | 'change' | 'remove';
  readonly what: string;
  /** Differences, one line each. */
  readonly details: readonly string[];
  /** Options that the step requires. */
  readonly needs: readonly Need[];
  /** Requests of the step, in order. */
  readonly requests: readonly Request[];
  /** List and name of the secret that the step creates. */
  readonly secret?: { readonly list: string; readonly name: string };
  /** Number of records that make the step impossible at the moment. */
  readonly recordsInTheWay?: number;
  /** Prefix of the API key that the step revokes. */
  readonly endsKey?: string;
  /** Workspace that the step migrates, and the file that mistakes in the response refer to. */
  readonly schema?: { readonly address: WorkspaceAddress; readonly file: SchemaFile };
  /** Document of a shared schema, which mistakes in the response refer to. */
  readonly file?: SchemaFile;
  /** Shared schema (`acme/helpdesk`) whose rollout the step waits for. */
  readonly rollout?: string;
  /** Workspace whose migration the step waits for, which the response does not have. */
  readonly migrates?: WorkspaceAddress;
}

/** Returns the steps from actual to desired state: creations and changes first, removals last. */
export function makeSteps(desired: readonly DesiredOrganization[], actual: Actual): readonly Step[] {
  const steps = desired.flatMap((organization) => {
    const actualOrganization = actual.organizations[organization.slug];
    return [
      ...organizationSteps(organization, actualOrganization),
      ...publishingSteps(organization, actualOrganization),
      ...organization.workspaces.flatMap((workspace) =>
        workspaceSteps(workspace, actualOrganization?.workspaces[workspace.address.workspace]),
      ),
      ...rolloutSteps(organization, actualOrganization),
    ];
  });
  const isRemoval = ({ change }: Step): boolean => change === 'remove';
  return [
    ...steps.filter((step) => !isRemoval(step)),
    ...steps.filter(isRemoval),
    ...actual.unlisted.flatMap(unlistedSteps),
  ];
}

/** Ambiguous name, which several keys or clients of a workspace have. */
export interface SharedName {
  readonly address: WorkspaceAddress;
  /** Member of LISTS. */
  readonly member: string;
  readonly name: string;
  readonly ids: readonly string[];
}

/** Returns the names that several items of a list of a workspace have. */
export function sharedNames(address: WorkspaceAddress, member: string, items: readonly Values[]): SharedName[] {
  const groups = Map.groupBy(items, ({ name }) => String(name));
  return [...groups]
    .filter(([, group]) => group.length > 1)
    .map(([name, group]) => ({ address, member, name, ids: group.map((item) => String(item[LISTS[member]!.id])) }));
}

/** Returns the names of the file that several items of the server have. */
export function ambiguousNames(desired: readonly DesiredOrganization[], actual: Actual): readonly SharedName[] {
  return desired.flatMap(({ slug, workspaces }) =>
    workspaces.flatMap(({ address, lists }) =>
      Object.entries(lists).flatMap(([member, items]) =>
        sharedNames(
          address,
          member,
          actual.organizations[slug]?.workspaces[address.workspace]?.lists[member] ?? [],
        ).filter(({ name }) => Object.hasOwn(items, name)),
      ),
    ),
  );
}

/** Describes the items that share a name, with ten ids at most. */
export const describeShared = ({ address, member, name, ids }: SharedName): string =>
  `${LISTS[member]!.label} ${name} of ${workspaceName(address)} (ids ${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ', …' : ''})`;

/** Returns the command that deletes an item, without its id. */
export const getDeleteCommand = ({ address, member }: SharedName): string =>
  `${LISTS[member]!.deleteCommand} <id> -w ${workspaceName(address)}`;

function organizationSteps(
  { slug, name, limits }: DesiredOrganization,
  actual: ActualOrganization | undefined,
): Step[] {
  if (actual === undefined) {
    const body = { slug, ...(name === undefined ? {} : { name }), ...(limits === undefined ? {} : { limits }) };
    const request: Request = { method: 'POST', path: `${ADMIN_PREFIX}/organizations`, body };
    const details = differences({}, limits ?? {});
    return [{ place: slug, what: 'organization', needs: [], change: 'create', details, requests: [request] }];
  }
  const isRenamed = name !== undefined && name !== actual.name;
  const limitChange = changedLimits(limits, actual.limits);
  const details = [...(isRenamed ? [difference('name', actual.name, name)] : []), ...limitChange.details];
  if (details.length === 0) return [];
  const body = { ...(isRenamed ? { name } : {}), ...limitChange.body };
  return [put(slug, 'organization', organizationPath(slug), { body, details })];
}

/** Returns the limits of the file that differ, as a member of a body, and their differences. */
function changedLimits(limits: LimitChange = {}, actual: OwnLimits = {}) {
  const changed = LIMIT_NAMES.filter((name) => limits[name] !== undefined && limits[name] !== (actual[name] ?? null));
  return {
    body: changed.length === 0 ? {} : { limits: Object.fromEntries(changed.map((name) => [name, limits[name]])) },
    details: changed.map((name) => difference(name, actual[name], limits[name])),
  };
}

/** Returns the steps that publish versions of shared schemas, before workspaces follow them. */
function publishingSteps({ slug, schemas }: DesiredOrganization, actual: ActualOrganization | undefined): Step[] {
  return Object.entries(schemas).flatMap(([name, file]): Step[] => {
    const existing = actual?.schemas[name];
    if (existing !== undefined && existing.next.version === existing.newest) return [];
    const path = `${organizationPath(slug)}/schemas`;
    const requests: readonly Request[] = [
      ...(existing === undefined ? [{ method: 'POST', path, body: { name } } as const] : []),
      { method: 'POST', path: `${path}/${name}/versions`, body: file.document },
    ];
    const { version, steps } = existing?.next ?? { version: 1, steps: [] };
    const details = steps.map(({ description, destructive }) =>
      destructive ? `${description} (destroys data of workspaces that get it)` : description,
    );
    const what = `version ${version} of shared schema ${name}`;
    return [{ place: slug, change: 'create', what, details, needs: [], requests, file }];
  });
}

const MAX_NAMED = 2000;

/** Returns the steps that take workspaces of the file to the newest versions of the shared schemas that they follow. */
function rolloutSteps(
  { slug, schemas, workspaces }: DesiredOrganization,
  actual: ActualOrganization | undefined,
): Step[] {
  return Object.keys(schemas).flatMap((name): Step[] => {
    const existing = actual?.schemas[name];
    if (actual === undefined || existing === undefined) return [];
    const { version, steps } = existing.next;
    const isBehind = ({ address, follows }: DesiredWorkspace): boolean => {
      const followed = actual.workspaces[address.workspace]?.follows;
      // One with a version in the file is taken to that by itself.
      if (followed?.schema !== name || followed.version >= version) return false;
      return follows != null && follows.schema === name && follows.version === undefined;
    };
    const behind = workspaces.filter(isBehind).map(({ address }) => address.workspace);
    if (behind.length === 0) return [];
    const isDestructive = version !== existing.newest && steps.some(({ destructive }) => destructive);
    return [
      {
        place: slug,
        change: 'change',
        what: `version ${version} of shared schema ${name} for ${formatQuantity(behind.length, 'workspace')}`,
        details: [],
        needs: isDestructive ? ['allowDestructive'] : [],
        requests: [
          {
            method: 'POST',
            path: `${organizationPath(slug)}/schemas/${name}/rollouts`,
            // A request names so many at most; without names it means all that follow.
            body: behind.length > MAX_NAMED ? { version } : { version, workspaces: behind },
          },
        ],
        rollout: `${slug}/${name}`,
      },
    ];
  });
}

function workspaceSteps(desired: DesiredWorkspace, actual: ActualWorkspace | undefined): Step[] {
  const { address } = desired;
  const place = workspaceName(address);
  const document = actual?.document ?? {};
  const rolesStep = roleSteps(desired, document);
  return [
    ...(actual === undefined ? [creation(desired, place)] : []),
    ...settingSteps(desired, actual),
    ...(actual === undefined ? [] : followSteps(desired, actual)),
    ...(actual === undefined || desired.follows ? [] : schemaSteps(desired, actual.plan)),
    ...rolesStep,
    ...entitySteps(desired, document, rolesStep.length > 0),
    ...Object.entries(desired.parts).flatMap(([member, values]) =>
      partSteps(address, PARTS[member]!, values, actual?.parts[member] ?? null),
    ),
    ...Object.entries(desired.lists).flatMap(([member, items]) =>
      listSteps(address, member, items, actual?.lists[member] ?? []),
    ),
  ];
}

/** Returns the step for name, state, limits and origins; a new workspace is created with its name and its limits. */
function settingSteps(
  { address, name, state, limits, corsOrigins, follows }: DesiredWorkspace,
  actual: ActualWorkspace | undefined,
): Step[] {
  const actualSettings = {
    name: actual?.name ?? name,
    state: actual?.state ?? 'active',
    corsOrigins: actual?.corsOrigins ?? null,
    follows: actual?.follows ?? null,
  };
  const settings = {
    ...(name === undefined || name === actualSettings.name ? {} : { name }),
    ...(state === undefined || state === actualSettings.state ? {} : { state }),
    ...(corsOrigins === undefined || isSame(corsOrigins, actualSettings.corsOrigins) ? {} : { corsOrigins }),
    ...(follows === null && actualSettings.follows !== null ? { follows } : {}),
  };
  const limitChange = changedLimits(actual && limits, actual?.limits);
  const details = Object.entries(settings).map(([member, value]) =>
    difference(member, actualSettings[member as keyof typeof settings], value),
  );
  details.push(...limitChange.details);
  if (details.length === 0) return [];
  const body = { ...settings, ...limitChange.body };
  return [put(workspaceName(address), 'workspace', workspacePath(address), { body, details })];
}

/** Returns the step by which a workspace begins to follow a shared schema, or gets the version that the file names. */
function followSteps(
  { address, follows }: DesiredWorkspace,
  { follows: actual, plan, versionPlan }: ActualWorkspace,
): Step[] {
  if (!follows) return [];
  const isNew = follows.schema !== actual?.schema;
  // Without a version it goes on by rollouts.
  if (!isNew && (follows.version === undefined || follows.version === actual.version)) return [];
  const planned = isNew ? plan : null;
  const conflicts = versionPlan?.workspaces.flatMap((workspace) => workspace.conflicts) ?? [];
  const isDestructive = planned?.destructive === true || (versionPlan?.destructive ?? 0) > 0;
  const step = put(workspaceName(address), 'shared schema', workspacePath(address), {
    body: { follows },
    details: [
      difference('follows', actual, follows),
      ...(planned?.steps.map(describePlanned) ?? []),
      ...(planned === null && isDestructive ? ['destroys data'] : []),
      ...conflicts.map(describeConflict),
    ],
    query: [
      ['allowDestructive', isDestructive || undefined],
      ['wait', 1],
    ],
  });
  const recordsInTheWay = conflicts.reduce((sum, { count }) => sum + count, countRecordsInTheWay(planned));
  return [{ ...step, needs: isDestructive ? ['allowDestructive'] : [], recordsInTheWay, migrates: address }];
}

const describeConflict = ({
  entity,
  field,
  count,
  sampleIds,
}: RolloutPlan['workspaces'][number]['conflicts'][number]) =>
  `records in the way of ${field === null ? entity : `${entity}.${field}`}: ${count}, such as id ${sampleIds.join(', ')}`;

const countRecordsInTheWay = (plan: Plan | null): number =>
  plan?.steps.reduce((sum, { conflicts }) => sum + (conflicts?.count ?? 0), 0) ?? 0;

function creation({ address, name, limits, schema, follows }: DesiredWorkspace, place: string): Step {
  const body = {
    slug: address.workspace,
    ...(name === undefined ? {} : { name }),
    ...(schema === undefined ? {} : { schema: schema.document }),
    ...(follows ? { follows } : {}),
    ...(limits === undefined ? {} : { limits }),
  };
  const path = `${organizationPath(address.organization)}/workspaces`;
  return {
    place,
    change: 'create',
    what: 'workspace',
    details: [...(follows ? [difference('follows', undefined, follows)] : []), ...differences({}, limits ?? {})],
    needs: [],
    requests: [{ method: 'POST', path, body }],
    ...(schema === undefined ? {} : { schema: { address, file: schema } }),
  };
}

function describePlanned({ description, destructive, conflicts }: Plan['steps'][number]): string {
  const remarks = [
    ...(destructive ? ['destroys data'] : []),
    ...(conflicts === null
      ? []
      : [`records in the way: ${conflicts.count}, such as id ${conflicts.sampleIds.join(', ')}`]),
  ];
  return remarks.length === 0 ? description : `${description} (${remarks.join(', ')})`;
}

function schemaSteps({ address, schema }: DesiredWorkspace, plan: Plan | null): Step[] {
  if (schema === undefined || plan === null || plan.steps.length === 0) return [];
  const details = plan.steps.map(describePlanned);
  const step = put(workspaceName(address), 'schema', `${workspacePath(address)}/schema`, {
    body: schema.document,
    details,
    // Waits long enough for an ordinary change to end within the request.
    query: [
      ['allowDestructive', plan.destructive || undefined],
      ['wait', 1],
    ],
  });
  const recordsInTheWay = countRecordsInTheWay(plan);
  return [
    {
      ...step,
      needs: plan.destructive ? ['allowDestructive'] : [],
      recordsInTheWay,
      schema: { address, file: schema },
    },
  ];
}

type EntityDocuments = Readonly<Record<string, Values | undefined>>;

/** Returns the lines of two lists that differ: what goes, then what comes. */
const listDifferences = (lines: readonly string[], actualLines: readonly string[]): readonly string[] => [
  ...actualLines.filter((line) => !lines.includes(line)).map((line) => `- ${line}`),
  ...lines.filter((line) => !actualLines.includes(line)).map((line) => `+ ${line}`),
];

/** Returns the grants of entities that differ from the file, with their differences. */
function changedGrants({ grants }: DesiredWorkspace, entities: EntityDocuments) {
  return Object.entries(grants).flatMap(([entity, list]) => {
    const actual = (entities[entity]?.grants ?? null) as readonly Values[] | null;
    if (isSame(list, actual)) return [];
    const lines = listDifferences((list ?? []).map(sortedText), (actual ?? []).map(sortedText));
    const remark = list === null ? ['opens it to every user'] : list.length === 0 ? ['closes it to every user'] : [];
    return [{ entity, list, details: [...lines, ...remark] }];
  });
}

/**
 * Returns the step that changes the roles, for a workspace without a schema in the file: they are part of the document, so
 * it is sent as it is, with the grants of the file that new roles make possible, or that name a role no more.
 */
function roleSteps(desired: DesiredWorkspace, document: Values): Step[] {
  const { address, roles } = desired;
  const actual = (document.roles ?? []) as readonly string[];
  if (roles === undefined || isSame(roles.toSorted(), actual.toSorted())) return [];
  const entities = (document.entities ?? {}) as EntityDocuments;
  const changes = changedGrants(desired, entities).filter(({ entity }) => Object.hasOwn(entities, entity));
  const body = {
    ...document,
    roles,
    entities: {
      ...Object.fromEntries(
        // Members that a document leaves out stay in force, also those that other steps change.
        Object.entries(entities).map(([name, { settings, rowRules, grants, ...rest } = {}]) => [name, rest]),
      ),
    } as Record<string, Values>,
  };
  for (const { entity, list } of changes) body.entities[entity] = { ...body.entities[entity], grants: list };
  const step = put(workspaceName(address), 'roles', `${workspacePath(address)}/schema`, {
    body,
    details: [
      ...listDifferences(roles, actual),
      ...changes.flatMap(({ entity, details }) => details.map((line) => `grants of ${entity}: ${line}`)),
    ],
    query: [['wait', 1]],
  });
  return [{ ...step, schema: { address, file: { name: '', document: body, getLine: () => null } } }];
}

/**
 * Returns steps for settings, row rules and grants of entities, for a workspace without a schema in the file.
 * `isWithRoles`: a step for the roles takes the grants with it.
 */
function entitySteps(desired: DesiredWorkspace, document: Values, isWithRoles: boolean): Step[] {
  const { address, settings, rowRules } = desired;
  const place = workspaceName(address);
  const path = (entity: string): string => `${workspacePath(address)}/entities/${encodeURIComponent(entity)}`;
  const entities = (document.entities ?? {}) as EntityDocuments;
  const settingsSteps = Object.entries(settings).flatMap(([entity, values]) => {
    const actual = (entities[entity]?.settings ?? {}) as Values;
    // Settings that the file leaves out become null, because PUT would keep them.
    const completeSettings = { ...Object.fromEntries(Object.keys(actual).map((name) => [name, null])), ...values };
    const details = differences(actual, completeSettings);
    if (details.length === 0) return [];
    return [put(place, `settings of ${entity}`, `${path(entity)}/settings`, { body: completeSettings, details })];
  });
  const ruleSteps = Object.entries(rowRules).flatMap(([entity, rules]) => {
    const lines = rules.map(ruleLine);
    const actualLines = ((entities[entity]?.rowRules ?? []) as readonly Values[]).map(ruleLine);
    if (isSame(lines, actualLines)) return [];
    const details = listDifferences(lines, actualLines);
    return [put(place, `row rules of ${entity}`, `${path(entity)}/row-rules`, { body: rules, details })];
  });
  const grantSteps = changedGrants(desired, entities)
    .filter(({ entity }) => !isWithRoles || !Object.hasOwn(entities, entity))
    .map(({ entity, list, details }) =>
      put(place, `grants of ${entity}`, `${path(entity)}/grants`, { body: list, details }),
    );
  return [...settingsSteps, ...ruleSteps, ...grantSteps];
}

const ruleLine = ({ column, claim, enabled = true }: Values): string =>
  `${column} = claim ${claim}${enabled === true ? '' : ' (disabled)'}`;

function partSteps(address: WorkspaceAddress, part: Part, values: Values | null, currentValues: Values | null): Step[] {
  const actual = currentValues ?? (part.isAlwaysPresent === true ? {} : null);
  const place = workspaceName(address);
  const path = `${workspacePath(address)}${part.path}`;
  if (values === null) {
    if (actual === null) return [];
    return [removal(place, part.label, { method: 'DELETE', path }, ['prune'])];
  }
  const details = differences(actual === null ? {} : complete(part, actual), values);
  if (actual !== null && details.length === 0) return [];
  const step = put(place, part.label, path, { body: values, details });
  return [{ ...step, change: actual === null ? 'create' : 'change' }];
}

/**
 * Returns steps for keys, clients and webhooks by name. A key or client that differs is replaced, with a new secret:
 * permissions cannot change.
 */
function listSteps(
  address: WorkspaceAddress,
  member: string,
  items: Readonly<Record<string, Values>>,
  actual: readonly Values[],
): Step[] {
  const list = LISTS[member]!;
  const place = workspaceName(address);
  const path = `${workspacePath(address)}${list.path}`;
  const itemPath = (item: Values): string => `${path}/${encodeURIComponent(String(item[list.id]))}`;
  const deletion = (item: Values): Request => ({ method: 'DELETE', path: itemPath(item) });
  const itemSteps = Object.entries(items).flatMap(([name, values]): Step[] => {
    const match = actual.find((item) => item.name === name);
    const details = differences(match === undefined ? {} : complete(list, match), values);
    if (match !== undefined && details.length === 0) return [];
    if (match !== undefined && list.isChangeable === true)
      return [put(place, `${list.label} ${name}`, itemPath(match), { body: values, details })];
    const request: Request = { method: 'POST', path, body: { name, ...values } };
    const common = { place, what: `${list.label} ${name}`, details, secret: { list: member, name } };
    return match === undefined
      ? [{ ...common, change: 'create', needs: [], requests: [request] }]
      : [
          {
            ...common,
            change: 'change',
            details: [...details, 'with a new secret for whoever uses it'],
            needs: ['prune'],
            ...endsKey(match),
            // In this order another run continues where this one stopped.
            requests: [deletion(match), request],
          },
        ];
  });
  const removals = actual
    .filter((item) => !Object.hasOwn(items, String(item.name)))
    .map((item) => ({
      ...removal(place, `${list.label} ${item.name} (id ${item[list.id]})`, deletion(item), ['prune']),
      ...endsKey(item),
    }));
  return [...itemSteps, ...removals];
}

/** Returns the prefix of an API key; other items of lists have none. */
const endsKey = ({ prefix }: Values): Pick<Step, 'endsKey'> => (typeof prefix === 'string' ? { endsKey: prefix } : {});

function unlistedSteps({ organization, workspaces, isListed }: Actual['unlisted'][number]): Step[] {
  const removals = workspaces.map((workspace) => {
    const address = { organization, workspace };
    const request: Request = { method: 'DELETE', path: workspacePath(address), query: [['confirm', workspace]] };
    const needs: Step['needs'] = ['pruneWorkspaces', 'allowDestructive'];
    return removal(workspaceName(address), 'workspace with all of its records', request, needs);
  });
  if (isListed) return removals;
  // An organization without workspaces has no data.
  const needs: Step['needs'] = workspaces.length === 0 ? ['pruneWorkspaces'] : ['pruneWorkspaces', 'allowDestructive'];
  const request: Request = { method: 'DELETE', path: organizationPath(organization) };
  return [...removals, removal(organization, 'organization', request, needs)];
}

const removal = (place: string, what: string, request: Request, needs: Step['needs']): Step => ({
  place,
  change: 'remove',
  what,
  details: [],
  needs,
  requests: [request],
});

function put(
  place: string,
  what: string,
  path: string,
  { details, ...parts }: { readonly body: unknown; readonly details: readonly string[]; readonly query?: Query },
): Step {
  return { place, change: 'change', what, details, needs: [], requests: [{ method: 'PUT', path, ...parts }] };
}

/** Describes the members that differ; null equals a missing member. */
function differences(actual: Values, desired: Values): string[] {
  const names = [...new Set([...Object.keys(desired), ...Object.keys(actual)])];
  return names
    .filter((name) => !isSame(actual[name] ?? null, desired[name] ?? null))
    .map((name) => difference(name, actual[name], desired[name]));
}

const difference = (name: string, actual: unknown, desired: unknown): string =>
  actual === undefined || actual === null
    ? `${name}: ${JSON.stringify(desired)}`
    : `${name}: ${JSON.stringify(actual)} → ${JSON.stringify(desired ?? null)}`;

/** Returns whether two JSON values are equal, in any order of members. */
const isSame = (one: unknown, other: unknown): boolean => sortedText(one) === sortedText(other);

const sortedText = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, member) =>
    isObject(member) && numberText(member) === undefined
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
