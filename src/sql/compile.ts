// Plan -> Statement: SQL text compiled once for a shape of request, and the binder that fills its slots for each
// request. The room's only export besides fragment.ts.
import { LRUCache } from 'lru-cache';
import type { Principal } from '../model/principal.ts';
import type { Operand } from '../plan/operand.ts';
import type { ListPlan, Plan } from '../plan/plan.ts';
import { claimText } from '../plan/row-policy.ts';
import { type Fragment, keyword, type Query, sql } from './fragment.ts';
import { selectExport, selectMatching, selectPage, selectRecord } from './read.ts';
import { deleteRecord, insertRecord, updateRecord } from './write.ts';

/** A compiled shape. `cost` is the pool's notebook for it, shared by all requests of the shape. */
export interface Statement {
  readonly text: string;
  readonly name: string;
  readonly operands: readonly Operand[];
  readonly cost: { milliseconds: number | undefined };
  /** A short hash of the text, part of ETags: another selection of the same record is another representation. */
  readonly tag: string;
}

/** What a request fills the slots with. */
export interface Inputs {
  readonly id?: string;
  readonly body?: ReadonlyMap<string, string | null>;
  readonly versions?: readonly string[];
  readonly principal: Principal;
}

interface Shape {
  readonly name: string;
  readonly tag: string;
  readonly cost: { milliseconds: number | undefined };
}

// Texts of statements that were compiled lately, so that equal texts share a prepared statement. A text is about 1 kB.
const shapes = new LRUCache<string, Shape>({ max: 4000 });
let nextName = 0;

export interface CompileOptions {
  readonly maxResponseBytes: number;
  readonly format?: 'csv' | 'ndjson';
}

export function compile(plan: Plan, options: CompileOptions): Statement {
  switch (plan.kind) {
    case 'list':
      return close(selectPage(plan, options.maxResponseBytes));
    case 'read':
      return close(selectRecord(plan, options.maxResponseBytes));
    case 'create':
      return close(insertRecord(plan));
    case 'update':
      return close(updateRecord(plan));
    case 'delete':
      return close(deleteRecord(plan));
    case 'export':
      return close(selectExport(plan, options.format ?? 'ndjson'));
    default:
      return plan satisfies never;
  }
}

/** `explain` of the list without its page: the planner's estimate of the total, in one text column of JSON. */
export function compileEstimate(plan: ListPlan): Statement {
  return close(sql`explain (format json) ${selectMatching(plan, keyword('1'))}`);
}

function close(fragment: Fragment): Statement {
  const text = fragment.text;
  let shape = shapes.get(text);
  if (shape === undefined) {
    shape = { name: `s${(nextName++).toString(36)}`, tag: hash(text), cost: { milliseconds: undefined } };
    shapes.set(text, shape);
  }
  return { text, operands: fragment.values as Operand[], ...shape };
}

/** The query of one request: the statement's text with its slots filled. */
export function bindQuery(statement: Statement, inputs: Inputs): Query {
  const values = statement.operands.map((operand) => valueFor(operand, inputs));
  return { text: statement.text, name: statement.name, values };
}

function valueFor(operand: Operand, inputs: Inputs): unknown {
  switch (operand.kind) {
    case 'value':
      return operand.value;
    case 'id':
      return inputs.id ?? null;
    case 'body':
      return inputs.body?.get(operand.field) ?? null;
    case 'versions':
      return inputs.versions ?? [];
    case 'claim':
      return inputs.principal.kind === 'external' ? claimText(inputs.principal, operand.claim, operand.field) : null;
    default:
      return operand satisfies never;
  }
}

/** FNV-1a over the text, 2 x 32 bits: the same in every process. */
function hash(text: string): string {
  let a = 0x811c9dc5;
  let b = 0xcbf29ce4;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}
