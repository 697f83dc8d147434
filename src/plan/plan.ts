// Request + snapshot + principal -> Plan: everything that a statement needs, with nothing left that could be wrong but
// the data itself. The order of refusals is that of the functions: may write (403), entity (404), gate (503), names and
// values (400), row policy on the body (403).
import { readOnly, unknownEntity } from '../errors.ts';
import type { Entity } from '../model/entity.ts';
import { mayWrite, type Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { CountMode } from '../request/page.ts';
import type { ExportRequest, ListRequest, ReadRequest } from '../request/record-request.ts';
import { type Assignment, assignmentOrRefusal, planAssignment } from './assignment.ts';
import type { Viewpoint } from './link.ts';
import { numberOperand, type Operand } from './operand.ts';
import { type Ordering, planCursor, planOrdering } from './ordering.ts';
import { type Predicate, planPredicate } from './predicate.ts';
import { type Output, type Projection, planColumns, planProjection, wholeRecord } from './projection.ts';
import { stampedColumns, stampRow } from './row-policy.ts';
import { type Operation, passGate, type Scan, scan } from './scan.ts';

export interface ListPlan {
  readonly kind: 'list';
  readonly scan: Scan;
  readonly projection: Projection;
  readonly predicate: Predicate | undefined;
  readonly ordering: Ordering;
  /** Records before the page, or the keys to continue after. */
  readonly start:
    | { readonly kind: 'page'; readonly page: number; readonly offset: Operand }
    | { readonly kind: 'after'; readonly keys: readonly (Operand | null)[] };
  readonly size: number;
  readonly count: CountMode;
}

export interface ReadPlan {
  readonly kind: 'read';
  readonly scan: Scan;
  readonly projection: Projection;
}

export interface CreatePlan {
  readonly kind: 'create';
  readonly scan: Scan;
  readonly projection: Projection;
  readonly values: Assignment;
}

export interface UpdatePlan {
  readonly kind: 'update';
  readonly scan: Scan;
  readonly projection: Projection;
  readonly values: Assignment;
  /** Only when the row still has one of the versions of If-Match. */
  readonly guarded: boolean;
}

export interface DeletePlan {
  readonly kind: 'delete';
  readonly scan: Scan;
  readonly guarded: boolean;
}

export interface ExportPlan {
  readonly kind: 'export';
  readonly scan: Scan;
  readonly projection: Projection;
  readonly predicate: Predicate | undefined;
  readonly ordering: Ordering;
}

export type Plan = ListPlan | ReadPlan | CreatePlan | UpdatePlan | DeletePlan | ExportPlan;

/** The entity that the principal may use for the operation: 403, 404 or 503, in that order. */
export function admit(workspace: Workspace, principal: Principal, name: string, operation: Operation): Entity {
  if (operation === 'write' && !mayWrite(principal)) throw readOnly();
  const entity = workspace.entities.get(name);
  if (entity === undefined) throw unknownEntity(name);
  passGate(entity, operation);
  return entity;
}

export function planList(request: ListRequest, entity: Entity, viewpoint: Viewpoint): ListPlan {
  const root = scan(entity, viewpoint.principal, 'read');
  const ordering = planOrdering(request.sort, entity, viewpoint);
  // An estimate of the planner counts rows that the filter hides; only an exact total tells nothing about them.
  const count = request.count === 'estimated' && root.filter.kind === 'rules' ? 'exact' : request.count;
  return {
    kind: 'list',
    scan: root,
    projection: planProjection(request.selection, entity, viewpoint),
    predicate: request.filter === undefined ? undefined : planPredicate(request.filter, entity, viewpoint),
    ordering,
    start:
      request.after === undefined
        ? { kind: 'page', page: request.page, offset: numberOperand(request.page * request.size) }
        : { kind: 'after', keys: planCursor(request.after, ordering) },
    size: request.size,
    count,
  };
}

export function planRead(request: ReadRequest, entity: Entity, viewpoint: Viewpoint): ReadPlan {
  const root = scan(entity, viewpoint.principal, 'read');
  return { kind: 'read', scan: root, projection: planProjection(request.selection, entity, viewpoint) };
}

export function planCreate(body: unknown, entity: Entity, viewpoint: Viewpoint): CreatePlan {
  const root = scan(entity, viewpoint.principal, 'write');
  const values = assignmentOrRefusal(
    planAssignment(body, entity, undefined, stampedColumns(entity, viewpoint.principal)),
  );
  return {
    kind: 'create',
    scan: root,
    projection: wholeRecord(entity),
    values: stampRow(entity, viewpoint.principal, values, 'create'),
  };
}

export function planUpdate(
  body: unknown,
  id: string,
  entity: Entity,
  viewpoint: Viewpoint,
  guarded: boolean,
): UpdatePlan {
  const root = scan(entity, viewpoint.principal, 'write');
  const values = assignmentOrRefusal(planAssignment(body, entity, id));
  return {
    kind: 'update',
    scan: root,
    projection: wholeRecord(entity),
    values: stampRow(entity, viewpoint.principal, values, 'update'),
    guarded,
  };
}

export function planDelete(entity: Entity, viewpoint: Viewpoint, guarded: boolean): DeletePlan {
  return { kind: 'delete', scan: scan(entity, viewpoint.principal, 'write'), guarded };
}

export function planExport(request: ExportRequest, entity: Entity, viewpoint: Viewpoint): ExportPlan {
  const root = scan(entity, viewpoint.principal, 'read');
  const outputs: Output[] = planColumns(request.fields, entity).map((field) => ({ kind: 'column', field }));
  return {
    kind: 'export',
    scan: root,
    projection: { outputs },
    predicate: request.filter === undefined ? undefined : planPredicate(request.filter, entity, viewpoint),
    ordering: planOrdering(request.sort, entity, viewpoint),
  };
}
