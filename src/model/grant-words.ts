// Says grants and row rules in words, for reports, plans and people who write them.
import type { RowRule } from './entity.ts';
import { numberText } from './exact-json.ts';
import type { Grant, GrantOperator, GrantValue, GrantWhere } from './grant.ts';

/** Most values of a list that are said one by one. */
const MAX_LISTED = 10;

/** Words between the path of a field and its values. */
const OPERATOR_WORDS: Readonly<Record<GrantOperator, string>> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
  nin: 'is none of',
  between: 'is between',
  contains: 'contains',
  startsWith: 'starts with',
  endsWith: 'ends with',
  ieq: 'is, in upper or lower case,',
  isNull: 'is null',
  notNull: 'is not null',
};

/** Returns the grant as a sentence without a full stop. */
export function describeGrant({ roles, can, where, fields, write, set }: Grant, entity: string): string {
  const who = roles === null ? 'Every user' : `Users with the role ${joinWords(roles, 'or')}`;
  const records = where === null ? `all records of ${entity}` : `records of ${entity} where ${describeWhere(where)}`;
  const parts = [`${who} may ${joinWords([...can], 'and')} ${records}`];
  if (can.has('read') && fields !== null)
    parts.push(`they see ${joinWords([...new Set(['id', ...fields])], 'and')} of these`);
  if (write !== null) parts.push(`they may write ${write.length === 0 ? 'no field' : joinWords(write, 'and')}`);
  if (set.size > 0) {
    const values = [...set].map(([name, value]) => `${name} is ${describeValue(value)}`);
    parts.push(`in a new record ${joinWords(values, 'and')}`);
  }
  return parts.join('; ');
}

/** Returns the condition in words, such as `teamId is one of the claim team_ids`. */
export function describeWhere(where: GrantWhere): string {
  switch (where.kind) {
    case 'and':
    case 'or': {
      const [first] = where.members;
      if (where.members.length === 1 && first !== undefined) return describeWhere(first);
      return where.members.map(describeMember).join(` ${where.kind} `);
    }
    case 'not':
      return `not (${describeWhere(where.member)})`;
    case 'compare': {
      const words = `${where.path.join('.')} ${OPERATOR_WORDS[where.operator]}`;
      return where.values.length === 0 ? words : `${words} ${describeValues(where.operator, where.values)}`;
    }
    default:
      return where satisfies never;
  }
}

function describeMember(where: GrantWhere): string {
  const isList = (where.kind === 'and' || where.kind === 'or') && where.members.length > 1;
  return isList ? `(${describeWhere(where)})` : describeWhere(where);
}

function describeValues(operator: GrantOperator, values: readonly GrantValue[]): string {
  if (operator === 'between') return values.map(describeValue).join(' and ');
  const more = values.length - MAX_LISTED;
  const listed = values.slice(0, MAX_LISTED).map(describeValue).join(', ');
  return more > 0 ? `${listed} and ${more} more` : listed;
}

function describeValue(value: GrantValue): string {
  switch (value.kind) {
    case 'literal':
      return numberText(value.value) ?? JSON.stringify(value.value);
    case 'claim':
      return `the claim ${value.claim}`;
    case 'now':
      return 'the current time';
    default:
      return value satisfies never;
  }
}

/** Returns the records of a row rule in words. */
export const describeRule = ({ column, claim }: Pick<RowRule, 'column' | 'claim'>): string =>
  `${column} is the claim ${claim}`;

/** Returns `a, b and c`. */
function joinWords(words: readonly string[], last: 'and' | 'or'): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}
