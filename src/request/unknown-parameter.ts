// Errors for query parameters that an operation does not take, with the parameter that was probably meant: names that other
// APIs use for the same, fields in the place of filters, and parameters of expanded lists.
import { unknownParameter } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { NARROWING_NAMES } from './narrowing.ts';
import { getParameterName, PARAMETERS, type ParameterKey } from './parameters.ts';

/** Names of parameters in other APIs: the parameter that does the same, and what else there is to know. */
const SYNONYMS: Readonly<Record<string, readonly [parameter: string, note?: string]>> = {
  cursor: ['after'],
  embed: ['expand'],
  entity: ['entities'],
  include: ['expand'],
  limit: ['size'],
  offset: ['page', ', a number of pages (0 is the first) and not of records'],
  order: ['sort'],
  orderby: ['sort'],
  pagesize: ['size'],
  perpage: ['size'],
  q: ['search'],
  select: ['fields'],
  skip: ['page', ', a number of pages (0 is the first) and not of records'],
  type: ['types'],
  where: ['filter'],
};

const NAME = /^[A-Za-z]\w{0,62}$/;
const ALL_NAMES: ReadonlySet<string> = new Set((Object.keys(PARAMETERS) as ParameterKey[]).map(getParameterName));

/** Builds the 400 for a parameter that is not among those `allowed`. */
export function toUnknownParameter(name: string, allowed: readonly string[]): Error {
  const point = name.lastIndexOf('.');
  if (point > 0 && allowed.includes('expand')) return unknownOfPath(name, point, allowed);
  return unknownParameter(name, suggest(name, allowed), allowed);
}

function suggest(name: string, allowed: readonly string[]): string | null {
  const key = name.toLowerCase().replaceAll('_', '');
  const [synonym, note = ''] = Object.hasOwn(SYNONYMS, key) ? (SYNONYMS[key] as readonly [string, string?]) : [];
  if (synonym !== undefined && allowed.includes(synonym)) return synonym + note;
  const similar = closest(name, allowed);
  if (similar !== null) return similar;
  const mayBeField = !ALL_NAMES.has(name) && name.split('.').every((part) => NAME.test(part));
  return mayBeField && allowed.includes('filter') ? `filter=${name},eq,<value>` : null;
}

/** Builds the 400 for a name such as `items.foo`: what an expanded list takes follows the path of its relation. */
function unknownOfPath(name: string, point: number, allowed: readonly string[]): Error {
  const [path, part] = [name.slice(0, point), name.slice(point + 1)];
  const ofList = NARROWING_NAMES.map((one) => `${path}.${one}`);
  if ((part === 'fields' || part === 'expand') && allowed.includes(part))
    return unknownParameter(name, `${part}=${path}.<${part === 'fields' ? 'field' : 'relation'}>`, [
      ...allowed,
      ...ofList,
    ]);
  const similar = closest(part, NARROWING_NAMES);
  return unknownParameter(name, similar === null ? suggest(name, allowed) : `${path}.${similar}`, [
    ...allowed,
    ...ofList,
  ]);
}
