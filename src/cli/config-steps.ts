// Computes the steps that make a server match a configuration file: the difference between desired and actual state, as
// requests of the admin API. Pure: the same two values give the same steps, and none when they are equal.

import type { LimitChange, OwnLimits } from '../../admin-types/admin-api.d.ts';
import { ADMIN_PREFIX } from './admin-client.ts';
import { organizationPath, type WorkspaceAddress, workspaceName, workspacePath } from './command.ts';
import type { Actual, ActualOrganization, ActualWorkspace } from './config-actual.ts';
import { difference, differences, isSame } from './config-differences.ts';
import { type DesiredOrganization, type DesiredWorkspace, LIMIT_NAMES } from './config-file.ts';
import { complete, LISTS, PARTS, type Part, type Values } from './config-parts.ts';
import {
  entitySteps,
  followSteps,
  publishingSteps,
  roleSteps,
  rolloutSteps,
  schemaSteps,
} from './config-schema-steps.ts';
import { put, type Request, removal, type Step } from './config-step.ts';

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
