// Computes the steps for schemas of a configuration file: versions of shared ones, their rollouts and what follows them, the
// schema of a workspace, its roles, and the settings, row rules and grants of its entities.

import type { Plan, RolloutPlan } from '../../admin-types/admin-api.d.ts';
import { organizationPath, workspaceName, workspacePath } from './command.ts';
import type { ActualOrganization, ActualWorkspace } from './config-actual.ts';
import { difference, differences, isSame, listDifferences, sortedText } from './config-differences.ts';
import type { DesiredOrganization, DesiredWorkspace } from './config-file.ts';
import type { Values } from './config-parts.ts';
import { put, type Request, type Step } from './config-step.ts';
import { formatQuantity } from './table.ts';

/** Returns the steps that publish versions of shared schemas, before workspaces follow them. */
export function publishingSteps(
  { slug, schemas }: DesiredOrganization,
  actual: ActualOrganization | undefined,
): Step[] {
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
export function rolloutSteps(
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

/** Returns the step by which a workspace begins to follow a shared schema, or gets the version that the file names. */
export function followSteps(
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

function describePlanned({ description, destructive, conflicts }: Plan['steps'][number]): string {
  const remarks = [
    ...(destructive ? ['destroys data'] : []),
    ...(conflicts === null
      ? []
      : [`records in the way: ${conflicts.count}, such as id ${conflicts.sampleIds.join(', ')}`]),
  ];
  return remarks.length === 0 ? description : `${description} (${remarks.join(', ')})`;
}

/** Returns the step that migrates a workspace to the schema of the file. */
export function schemaSteps({ address, schema }: DesiredWorkspace, plan: Plan | null): Step[] {
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
export function roleSteps(desired: DesiredWorkspace, document: Values): Step[] {
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
export function entitySteps(desired: DesiredWorkspace, document: Values, isWithRoles: boolean): Step[] {
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
