// Plans written out for tables. A projection: `id customer{name} items[id]`; a predicate: `status eq open:text`,
// `some items(orderId=id) quantity gt 1:int4`; a record of a rule: `customers?` where a row filter stands.
import type { Link } from '../../../src/plan/link.ts';
import type { Operand } from '../../../src/plan/operand.ts';
import type { Ordering } from '../../../src/plan/ordering.ts';
import type { Predicate } from '../../../src/plan/predicate.ts';
import type { Output, Projection } from '../../../src/plan/projection.ts';
import type { Scan } from '../../../src/plan/scan.ts';

export function projectionText(projection: Projection): string {
  return projection.outputs.map(outputText).join(' ');
}

function outputText(output: Output): string {
  switch (output.kind) {
    case 'column':
      return output.field.name;
    case 'toOne':
      return `${output.name}{${projectionText(output.projection)}}`;
    case 'toMany': {
      const narrowed = [
        output.ordering.text === 'id,asc' ? '' : ` sort ${output.ordering.text}`,
        output.predicate === undefined ? '' : ` where ${predicateText(output.predicate)}`,
        output.size === undefined ? '' : ` size ${output.size}`,
      ];
      return `${output.name}[${projectionText(output.projection)}]${narrowed.join('')}`;
    }
    default:
      return output satisfies never;
  }
}

export function predicateText(predicate: Predicate): string {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return `(${predicate.members.map(predicateText).join(predicate.kind === 'and' ? ' & ' : ' | ')})`;
    case 'not':
      return `!(${predicateText(predicate.member)})`;
    case 'exists':
      return `some ${linkText(predicate.link)} ${predicateText(predicate.member)}`;
    case 'search':
      return `search ${predicate.search.text}`;
    case 'compare':
      return [predicate.field.name, predicate.operator, ...predicate.operands.map(operandText)].join(' ');
    default:
      return predicate satisfies never;
  }
}

export function linkText(link: Link): string {
  return link.kind === 'key'
    ? `${scanText(link.scan)}(${link.relatedColumn}=${link.parentColumn})`
    : `${scanText(link.scan)}(via ${scanText(link.through)} ${link.from}>${link.to})`;
}

function scanText(scan: Scan): string {
  return `${scan.entity.name}${scan.filter.kind === 'rules' ? '?' : ''}`;
}

export function operandText(operand: Operand | null): string {
  if (operand === null) return 'null';
  if (operand.kind !== 'value') return `${operand.kind}:${operand.type}`;
  const value = Array.isArray(operand.value) ? `{${operand.value.join('|')}}` : operand.value;
  return `${value}:${operand.type}`;
}

export function orderingText(ordering: Ordering): string {
  return ordering.keys
    .map((key) => `${[...key.links.map(linkText), key.field.name].join('.')} ${key.direction}`)
    .join(', ');
}
