// Plan -> Statement: SQL text compiled once for a shape of request, and the binder that fills its slots for each
// request. The room's only export besides fragment.ts.
import { LRUCache } from 'lru-cache';
import type { Principal } from '../model/principal.ts';
import type { Operand } from '../plan/operand.ts';
import type { ListPlan, Plan } from '../plan/plan.ts';
import type { Projection } from '../plan/projection.ts';
import { claimText } from '../plan/row-policy.ts';
import { type Fragment, keyword, type Query, sql } from './fragment.ts';
import { selectExport, selectMatching, selectMissingReferences, selectPage, selectRecord } from './read.ts';
import { deleteRecord, insertRecord, updateRecord } from './write.ts';

/** What its owner lets the pool learn of a statement. */
interface Cost {
  milliseconds: number | undefined;
  work: number | undefined;
  isQuick: boolean | undefined;
}

/** A compiled shape. `cost` is the pool's notebook for it, shared by all requests of the shape. */
export interface Statement {
  readonly text: string;
  readonly name: string;
  readonly operands: readonly Operand[];
  readonly cost: Cost;
  /**
   * Hash of the columns that the statement shows, the part of an ETag that tells selections of one record apart;
   * undefined when related records are shown, whose versions the record's own does not know.
   */
  readonly tag: string | undefined;
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
  readonly cost: Cost;
}

// Texts of statements that were compiled lately, so that equal texts share a prepared statement. A text is about 1 kB.
const shapes = new LRUCache<string, Shape>({ max: 8000 });
let nextName = 0;

export interface CompileOptions {
  readonly maxResponseBytes: number;
}

export function compile(plan: Plan, options: CompileOptions): Statement {
  switch (plan.kind) {
    case 'list':
      return close(selectPage(plan, options.maxResponseBytes));
    case 'read':
      return close(selectRecord(plan, options.maxResponseBytes), plan.projection);
    case 'create':
      return close(insertRecord(plan), plan.projection);
    case 'update':
      return close(updateRecord(plan), plan.projection);
    case 'delete':
      return close(deleteRecord(plan));
    case 'references':
      return close(selectMissingReferences(plan));
    case 'export':
      return close(selectExport(plan));
    default:
      return plan satisfies never;
  }
}

/** `explain` of the list without its page: the planner's estimate of the total, in one text column of JSON. */
export function compileEstimate(plan: ListPlan): Statement {
  return close(sql`explain (format json) ${selectMatching(plan, keyword('1'))}`);
}

function close(fragment: Fragment, projection?: Projection): Statement {
  const text = fragment.text;
  let shape = shapes.get(text);
  if (shape === undefined) {
    shape = {
      name: `s${(nextName++).toString(36)}`,
      cost: { milliseconds: undefined, work: undefined, isQuick: undefined },
    };
    shapes.set(text, shape);
  }
  return { text, operands: fragment.values as Operand[], tag: tagOf(projection), ...shape };
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

function tagOf(projection: Projection | undefined): string | undefined {
  const columns: string[] = [];
  for (const output of projection?.outputs ?? []) {
    if (output.kind !== 'column') return undefined;
    columns.push(`${output.field.name}:${output.field.type}`);
  }
  return hash(columns.join());
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
