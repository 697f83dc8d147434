// Images of records as they are stored with changes -> what events show of them, for views that nothing limits. PostgreSQL
// makes a record of each image and its JSON again for all others, which takes five times as long.
import type { Field } from '../model/entity.ts';
import { fieldType } from '../model/field-types.ts';
import type { FeedPlan } from '../plan/feed.ts';
import type { FeedRow } from '../plan/result.ts';

/** A field as events show it. */
interface ShownField {
  readonly column: string;
  /** JSON text of its name. */
  readonly name: string;
  /** Returns the JSON text of the value for the one that is stored. */
  readonly show: (stored: string) => string;
  /** Text from the end of the value before to its own, where the image has the members in the order of the fields. */
  readonly begin: string;
  /** Whether its name is not that of the column. */
  readonly isRenamed: boolean;
}

/** Makes the function that completes the rows of a feed whose view shows images as they are stored. */
export function makeImageReader({ views, previous }: Pick<FeedPlan, 'views' | 'previous'>): (row: FeedRow) => FeedRow {
  const fieldsByView = views.map((view) => (view.isAsStored ? view.fields.map(toShownField) : undefined));
  return (row) => {
    const fields = fieldsByView[row.view];
    return fields === undefined || !(row.before || row.after) ? row : showImages(row, fields, previous);
  };
}

function toShownField({ column, name, type }: Field, index: number): ShownField {
  const show = fieldType(type).output === 'datetime' ? showDateTime : type === 'float' ? showFloat : showPlain;
  const begin = `${index === 0 ? '{' : ','}${JSON.stringify(column)}:`;
  return { column, name: JSON.stringify(name), show, begin, isRenamed: column !== name };
}

function showImages(row: FeedRow, fields: readonly ShownField[], previous: boolean): FeedRow {
  if (row.old === null && row.new !== null && !row.before) {
    const record = splice(row.new, fields);
    if (record !== undefined) return { ...row, new: record };
  }
  const before = row.old === null ? undefined : readValues(row.old, fields);
  const after = row.new === null ? undefined : readValues(row.new, fields);
  const record = after === undefined ? null : showFields(fields, after);
  if (!(row.before && row.after))
    return { ...row, old: before !== undefined && previous ? showFields(fields, before) : null, new: record };
  // An image that is too large for an answer is not there.
  if (before === undefined || after === undefined) return { ...row, old: null, new: record, changed: '' };
  const changed: string[] = [];
  const earlier: string[] = [];
  for (const [index, { name, show }] of fields.entries()) {
    const [old, next] = [before[index] as string, after[index] as string];
    // Sessions with other time zones write the same time in another way.
    if (old === next || show(old) === show(next)) continue;
    changed.push(name);
    if (previous) earlier.push(`${name}:${show(old)}`);
  }
  return { ...row, old: null, new: record, changed: changed.join(), previous: previous ? `{${earlier.join()}}` : null };
}

/** Returns the stored values as JSON texts in the order of the fields; a column that the image lacks was added later. */
function readValues(image: string, fields: readonly ShownField[]): readonly string[] {
  return readInOrder(image, fields) ?? readByName(image, fields);
}

function readByName(image: string, fields: readonly ShownField[]): readonly string[] {
  const members = splitMembers(image);
  return fields.map(({ column }) => members.get(column) ?? 'null');
}

/** Reads an image whose members are the fields in their order, as most are, in a third of the time; undefined for others. */
function readInOrder(image: string, fields: readonly ShownField[]): readonly string[] | undefined {
  const values: string[] = [];
  let at = 0;
  for (const { begin } of fields) {
    if (!image.startsWith(begin, at)) return undefined;
    const start = at + begin.length;
    if (image.charCodeAt(start) === SPACE) return undefined;
    at = findValueEnd(image, start);
    values.push(image.slice(start, at));
  }
  return at === image.length - 1 ? values : undefined;
}

/** Returns an image whose members are the fields in their order and have their names, with the values as they are shown. */
function splice(image: string, fields: readonly ShownField[]): string | undefined {
  let text = '';
  let copied = 0;
  let at = 0;
  for (const { begin, show, isRenamed } of fields) {
    if (isRenamed || !image.startsWith(begin, at)) return undefined;
    const start = at + begin.length;
    if (image.charCodeAt(start) === SPACE) return undefined;
    at = findValueEnd(image, start);
    if (show === showPlain) continue;
    text += image.slice(copied, start) + show(image.slice(start, at));
    copied = at;
  }
  return at === image.length - 1 ? text + image.slice(copied) : undefined;
}

function showFields(fields: readonly ShownField[], values: readonly string[]): string {
  let text = '';
  for (const [index, { name, show }] of fields.entries())
    text += `${index === 0 ? '{' : ','}${name}:${show(values[index] as string)}`;
  return text === '' ? '{}' : `${text}}`;
}

/** Returns the JSON texts of the values of an object by the names of its members (RFC 8259), which has no repeated names. */
export function splitMembers(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  let at = 0;
  for (;;) {
    const start = text.indexOf('"', at);
    if (start === -1) return members;
    const end = findStringEnd(text, start);
    const name = text.slice(start + 1, end - 1);
    const value = skipSpace(text, text.indexOf(':', end) + 1);
    at = findValueEnd(text, value);
    members.set(name.includes('\\') ? JSON.parse(text.slice(start, end)) : name, text.slice(value, at));
  }
}

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;

const isOpening = (code: number): boolean => code === 123 || code === 91;
const isClosing = (code: number): boolean => code === 125 || code === 93;

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) === SPACE) at++;
  return at;
}

/** Returns the index after a string that begins at `start`. */
function findStringEnd(text: string, start: number): number {
  for (let at = start; ; ) {
    at = text.indexOf('"', at + 1);
    if (at === -1) throw notJson();
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

/** Returns the index after the value of a member that begins at `start`. */
function findValueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return findStringEnd(text, start);
  if (isOpening(first)) return findClosing(text, start) + 1;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || isClosing(code)) return at;
  }
  throw notJson();
}

/** Returns the index of the bracket that closes the one at `start`. */
function findClosing(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at) - 1;
    else if (isOpening(code)) depth++;
    else if (isClosing(code) && --depth === 0) return at;
  }
  throw notJson();
}

const notJson = (): Error => new TypeError('an image is no JSON text');

const showPlain = (stored: string): string => stored;

/** Returns a number as PostgreSQL writes a float8; an image that went through jsonb has all digits before the exponent. */
function showFloat(stored: string): string {
  const number = Number(stored);
  if (stored === 'null' || number === 0 || !Number.isFinite(number)) return stored;
  const [digits, exponent] = number.toExponential().split('e') as [string, string];
  if (Number(exponent) >= -4 && Number(exponent) < 15) return String(number);
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

const UTC = '+00:00"';

/** Returns a datetime of row_to_json as answers have it: in UTC, with three digits of the second or none. */
function showDateTime(stored: string): string {
  if (stored.endsWith(UTC)) {
    const time = stored.slice(0, -UTC.length);
    const point = time.indexOf('.');
    return point === -1 ? `${time}Z"` : `${time.padEnd(point + 4, '0')}Z"`;
  }
  if (stored === 'null') return stored;
  // Written by a session with another time zone.
  const moment = new Date(stored.slice(1, -1));
  return Number.isNaN(moment.getTime()) ? stored : JSON.stringify(moment).replace('.000Z', 'Z');
}
