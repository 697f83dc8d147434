// Requests compiled as the server compiles them, for tests of SQL text: a query string in, text and bound values out.
import type { Principal } from '../../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../../src/model/workspace.ts';
import { planExport, planList, planRead } from '../../../src/plan/plan.ts';
import { parseExportRequest, parseListRequest, parseReadRequest } from '../../../src/request/record-request.ts';
import { bindQuery, compile, type Statement } from '../../../src/sql/compile.ts';
import type { Query } from '../../../src/sql/fragment.ts';
import { LIMITS, makePlanContext, makeShop, OWNER } from '../../support/field-types-fixture.ts';

export const OPTIONS = { maxResponseBytes: 1000 } as const;
const SHOP = makeShop();

export interface Asked {
  readonly entity?: string;
  readonly principal?: Principal;
  readonly workspace?: Workspace;
}

export function compileList(
  query: string,
  { entity = 'orders', principal = OWNER, workspace = SHOP }: Asked = {},
): Statement {
  return compile(
    planList(parseListRequest(query, LIMITS), getEntity(workspace, entity), makePlanContext(workspace, principal)),
    OPTIONS,
  );
}

export function compileRead(
  query: string,
  { entity = 'orders', principal = OWNER, workspace = SHOP }: Asked = {},
): Statement {
  return compile(
    planRead(parseReadRequest(query, LIMITS), getEntity(workspace, entity), makePlanContext(workspace, principal)),
    OPTIONS,
  );
}

export function compileExport(
  query: string,
  { entity = 'orders', principal = OWNER, workspace = SHOP }: Asked = {},
): Statement {
  const request = parseExportRequest(query);
  const plan = planExport(request, getEntity(workspace, entity), makePlanContext(workspace, principal));
  return compile(plan, { ...OPTIONS });
}

/** The query of a list or an export, which need no input but the principal. */
export function bound(statement: Statement, principal: Principal = OWNER): Query {
  return bindQuery(statement, { principal, id: '5' });
}

/** Text laid out over lines, as it is sent: on one. Lines are broken only where a single space stands. */
export function flat(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ');
}
