// Parses writes by filter: `{"filter", "set", "max"}` -> the condition, the members to set, and the most records. Knows
// no schema; form only.
import { badRequest } from '../errors.ts';
import { numberText } from '../model/exact-json.ts';
import { type FilterTree, parseFilterTree } from './filter.ts';
import { parseInteger } from './forms.ts';
import { isRecord, readMembers } from './members.ts';
import { readQuery } from './read-parameters.ts';
import { parseSearch, type SearchQuery } from './search.ts';

/** Records that one request may change. */
export const MAX_MATCHES = 1_000_000;

export interface MatchingWrite {
  /** Undefined for all records. */
  readonly filter: FilterTree | undefined;
  /** Words that records must also have, or undefined for none. */
  readonly search: SearchQuery | undefined;
  readonly max: number;
}

export interface MatchingUpdate extends MatchingWrite {
  /** New values, operators, and `{"$field": path}`; not empty. */
  readonly set: Readonly<Record<string, unknown>>;
}

/** Throws 400 for a body of another form. */
export function parseMatchingUpdate(body: unknown): MatchingUpdate {
  const { members } = readMembers(body, ['filter', 'search', 'set', 'max'], 'the body');
  const { set } = members;
  if (!isRecord(set) || Object.keys(set).length === 0)
    throw badRequest('INVALID_BODY', 'set must be an object with the fields to change');
  return { ...parseMatching(members), set };
}

/** Throws 400 for a body of another form. */
export const parseMatchingDelete = (body: unknown): MatchingWrite =>
  parseMatching(readMembers(body, ['filter', 'search', 'max'], 'the body').members);

/** Returns whether everything is executed and then rolled back. */
export const parseMatchingDryRun = (query: string): boolean => readQuery('updateWhere', query).dryRun === true;

function parseMatching({ filter, search, max }: Readonly<Record<string, unknown>>): MatchingWrite {
  const digits = numberText(max);
  if (digits === undefined)
    throw badRequest('INVALID_BODY', `max must be a number from 1 to ${MAX_MATCHES}: the most records that may change`);
  return {
    filter: parseCompleteFilter(filter),
    search: parseWords(search),
    max: parseInteger('max', digits, 1, MAX_MATCHES),
  };
}

function parseWords(search: unknown): SearchQuery | undefined {
  if (search === undefined) return undefined;
  if (typeof search !== 'string') throw badRequest('INVALID_BODY', 'search must be a text');
  return parseSearch(search);
}

/** Parses a filter that says which records are meant: a forgotten condition must not mean all of them. */
function parseCompleteFilter(filter: unknown): FilterTree | undefined {
  if (isRecord(filter) && filter.all === true && Object.keys(filter).length === 1) return undefined;
  if (filter === undefined || filter === null) throw emptyFilter('filter is required');
  if (isRecord(filter) && Object.keys(filter).length === 0) throw emptyFilter('filter is empty');
  const tree = parseFilterTree(filter);
  if (!isComplete(tree)) throw emptyFilter('filter has a node without a condition');
  return tree;
}

const isComplete = (tree: FilterTree): boolean => {
  if (tree.kind === 'compare') return true;
  return tree.kind === 'not' ? isComplete(tree.member) : tree.members.length > 0 && tree.members.every(isComplete);
};

const emptyFilter = (fault: string): Error =>
  badRequest('INVALID_FILTER', `${fault}; {"all": true}, alone, says all records`);
