// Parses the parameter `formats` of an import: how the cells of a CSV file write dates, numbers and booleans.
import { badRequest, shorten } from '../errors.ts';

/** Form of cells. `read` returns the text in the form of the API, or undefined for another one. */
export interface CellFormat {
  /** Form as the request names it, for messages. */
  readonly text: string;
  readonly read: (cell: string) => string | undefined;
}

export type FormatName = 'date' | 'decimal' | 'boolean';
export type CellFormats = Readonly<Partial<Record<FormatName, CellFormat>>>;

const PARSERS: Readonly<Record<FormatName, (text: string) => CellFormat['read'] | undefined>> = {
  date: parseDateFormat,
  decimal: parseDecimalFormat,
  boolean: parseBooleanFormat,
};
const EXAMPLES = 'date:dd.MM.yyyy;decimal:1.234,50;boolean:yes/no';

/** Parses `date:dd.MM.yyyy;decimal:1.234,50;boolean:ja/nein`, each at most once. Throws 400 with the possible forms. */
export function parseFormats(value: string): CellFormats {
  const formats: Partial<Record<FormatName, CellFormat>> = {};
  for (const part of value.split(';')) {
    const [, name = part, text = ''] = /^([^:]*):(.*)$/s.exec(part) ?? [];
    if (!isFormatName(name)) throw malformed(`${shorten(name)} is none of date, decimal, boolean`);
    if (formats[name] !== undefined) throw malformed(`${name} stands twice`);
    const read = PARSERS[name](text);
    if (read === undefined) throw malformed(`${shorten(part)} is no form of a ${name}`);
    formats[name] = { text, read };
  }
  return formats;
}

const isFormatName = (name: string): name is FormatName => Object.hasOwn(PARSERS, name);

const malformed = (mistake: string): Error =>
  badRequest('INVALID_PARAMETER', `formats must be such as ${EXAMPLES}: ${mistake}`);

const DATE_PARTS = /yyyy|MM?|dd?/g;
const DIGITS: Readonly<Record<string, string>> = {
  yyyy: '(?<year>\\d{4})',
  MM: '(?<month>\\d{2})',
  M: '(?<month>\\d{1,2})',
  dd: '(?<day>\\d{2})',
  d: '(?<day>\\d{1,2})',
};
const MAX_FORMAT_CHARACTERS = 50;

/** Parses a pattern of `yyyy`, `MM` or `M`, and `dd` or `d`, each once, with separators that are no letters or digits. */
function parseDateFormat(text: string): CellFormat['read'] | undefined {
  const parts = text.match(DATE_PARTS) ?? [];
  const kinds = parts.map((part) => part[0]).toSorted();
  const separators = text.replaceAll(DATE_PARTS, '');
  if (text.length > MAX_FORMAT_CHARACTERS || kinds.join('') !== 'Mdy' || /[\p{L}\p{N}]/u.test(separators)) return;
  const pattern = text.split(/(yyyy|MM?|dd?)/).map((part) => DIGITS[part] ?? RegExp.escape(part));
  const form = new RegExp(`^${pattern.join('')}$`, 'u');
  return (cell) => {
    const match = form.exec(cell)?.groups as { year: string; month: string; day: string } | undefined;
    return match && `${match.year}-${match.month.padStart(2, '0')}-${match.day.padStart(2, '0')}`;
  };
}

/** Parses an example such as `1.234,50`, `1 234,5` or `1234,50`: what separates thousands, if anything, and the point. */
function parseDecimalFormat(text: string): CellFormat['read'] | undefined {
  const { group = '', point = '' } = /^1(?<group>[.,'’_\s]?)234(?<point>[.,])50?$/u.exec(text)?.groups ?? {};
  if (point === '' || group === point) return undefined;
  // Programs that group by spaces write different ones, mostly such as do not break lines.
  const separator = /\s/u.test(group) ? '\\s' : RegExp.escape(group);
  const grouped = group === '' ? '' : `|\\d{1,3}(?:${separator}\\d{3})+`;
  const form = new RegExp(`^[+-]?(?:\\d+${grouped})(?:${RegExp.escape(point)}\\d+)?(?:[eE][+-]?\\d+)?$`, 'u');
  const separators = new RegExp(separator, 'gu');
  return (cell) => {
    if (!form.test(cell)) return undefined;
    return (group === '' ? cell : cell.replaceAll(separators, '')).replace(point, '.');
  };
}

/** Parses two words, `ja/nein`, whatever their case. */
function parseBooleanFormat(text: string): CellFormat['read'] | undefined {
  const words = text.split('/').map((word) => word.toLowerCase());
  const [yes, no] = words;
  if (text.length > MAX_FORMAT_CHARACTERS || words.length !== 2 || !yes || !no || yes === no) return undefined;
  return (cell) => {
    const word = cell.toLowerCase();
    return word === yes ? 'true' : word === no ? 'false' : undefined;
  };
}
