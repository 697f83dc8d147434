// Says grants and row rules in words, for reports, plans and people who write them.
import type { RowRule } from './entity.ts';
import { numberText } from './exact-json.ts';
import type { Grant, GrantOperation, GrantOperator, GrantValue, GrantWhere } from './grant.ts';

/** Most values of a list that are said one by one. */
const MAX_LISTED = 10;

/** Most characters of a value that are said. */
const MAX_VALUE = 100;

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

/** Words in place of those, before the current time. */
const TIME_WORDS: Readonly<Partial<Record<GrantOperator, string>>> = {
  gt: 'is after',
  gte: 'is not before',
  lt: 'is before',
  lte: 'is not after',
};

/** Returns the grant as a sentence without a full stop. */
export function describeGrant({ roles, can, where, fields, write, set }: Grant, entity: string): string {
  const who = roles === null ? 'Every user' : `Users with the role ${joinWords(roles, 'or')}`;
  const records = where === null ? `all records of ${entity}` : `records of ${entity} where ${describeWhere(where)}`;
  const parts = [`${who} may ${joinWords([...can].map(describeOperation), 'and')} ${records}`];
  if (can.has('read') && fields !== null)
    parts.push(`they see ${joinWords([...new Set(['id', ...fields])], 'and')} of these`);
  if (write !== null) parts.push(`they may write ${write.length === 0 ? 'no field' : joinWords(write, 'and')}`);
  if (set.size > 0) {
    const values = [...set].map(([name, value]) => `${name} is ${describeValue(value)}`);
    parts.push(`in a new record ${joinWords(values, 'and')}`);
  }
  return parts.join('; ');
}

const describeOperation = (operation: GrantOperation): string =>
  operation === 'history' ? 'read the history of' : operation;

/** Says a claim in a condition: by its name, or by its value. */
type DescribeClaim = (claim: string) => string;

const nameClaim: DescribeClaim = (claim) => `the claim ${claim}`;

/** Returns the condition in words, such as `teamId is one of the claim team_ids`. */
export function describeWhere(where: GrantWhere, describeClaim: DescribeClaim = nameClaim): string {
  switch (where.kind) {
    case 'and':
    case 'or': {
      const { kind, members } = where;
      const describeMember = (member: GrantWhere): string => {
        const isJoined = (member.kind === 'and' || member.kind === 'or') && member.members.length > 1;
        const words = describeWhere(member, describeClaim);
        return isJoined && members.length > 1 ? `(${words})` : words;
      };
      return members.map(describeMember).join(` ${kind} `);
    }
    case 'not':
      return `not (${describeWhere(where.member, describeClaim)})`;
    case 'compare': {
      const timeWords = where.values[0]?.kind === 'now' ? TIME_WORDS[where.operator] : undefined;
      const words = `${where.path.join('.')} ${timeWords ?? OPERATOR_WORDS[where.operator]}`;
      if (where.values.length === 0) return words;
      const values = where.values.map((value) => describeValue(value, describeClaim));
      return `${words} ${where.operator === 'between' ? values.join(' and ') : listWords(values)}`;
    }
    default:
      return where satisfies never;
  }
}

/** Returns the claim's value in words; a list as its entries. */
export function describeClaimValue(value: unknown): string {
  return Array.isArray(value) ? listWords(value.map(describeJson)) || 'an empty list' : describeJson(value);
}

function listWords(words: readonly string[]): string {
  const more = words.length - MAX_LISTED;
  const listed = words.slice(0, MAX_LISTED).join(', ');
  return more > 0 ? `${listed} and ${more} more` : listed;
}

function describeJson(value: unknown): string {
  const text = numberText(value) ?? JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}

function describeValue(value: GrantValue, describeClaim: DescribeClaim = nameClaim): string {
  switch (value.kind) {
    case 'literal':
      return describeJson(value.value);
    case 'claim':
      return describeClaim(value.claim);
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
