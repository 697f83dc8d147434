// Label of a record: the field that names it to people, or a template such as `{firstName} {lastName}`. Pure; the console
// uses it, too.

/** Parts of a field that a guess depends on. */
export interface LabelField {
  readonly type: string;
  readonly unique?: boolean;
}

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** Returns whether a label is a template: the name of a field has no braces. */
export const isLabelTemplate = (label: string): boolean => /[{}]/.test(label);

/** Lists the fields in a label, each once. */
export const listLabelFields = (label: string): readonly string[] =>
  isLabelTemplate(label) ? [...new Set([...label.matchAll(PLACEHOLDER)].map(([, name]) => name as string))] : [label];

/** Replaces the names of fields in a label. */
export const renameInLabel = (label: string, rename: (name: string) => string): string =>
  isLabelTemplate(label) ? label.replace(PLACEHOLDER, (_, name: string) => `{${rename(name)}}`) : rename(label);

/** Returns the mistake in a template: an unpaired brace, or no field; undefined if there is none. */
export function findTemplateMistake(template: string): string | undefined {
  if (/[{}]/.test(template.replace(PLACEHOLDER, ''))) return 'must have a } for each {, as in {firstName} {lastName}';
  return listLabelFields(template).length === 0 || listLabelFields(template).includes('')
    ? 'must name a field in each pair of braces, as in {firstName} {lastName}'
    : undefined;
}

/**
 * Prints the label of a record, without brackets and separators around values that are missing: `{title} ({sku})` is `Mug`
 * for a record without sku. Returns an empty text if all are.
 */
export function printLabel(label: string, read: (name: string) => string): string {
  if (!isLabelTemplate(label)) return read(label);
  if (listLabelFields(label).every((name) => read(name) === '')) return '';
  return label
    .replace(PLACEHOLDER, (_, name: string) => read(name))
    .replace(/\(\s*\)|\[\s*\]/g, '')
    .replace(/\s+/g, ' ')
    .replace(/^[\s,;:–-]+|[\s,;:–-]+$/g, '');
}

const NAMES = /^(name|(full|display|company|product|user)_?name)$/i;
const PAIRS = [
  ['firstName', 'lastName'],
  ['first_name', 'last_name'],
  ['givenName', 'familyName'],
  ['given_name', 'family_name'],
] as const;

/**
 * Chooses the label of an entity that configures none: a name, first and last name, a title (with a unique text, as titles
 * are not), the first unique text, the email address, else the first string; or null.
 */
export function guessLabel(fields: ReadonlyMap<string, LabelField>): string | null {
  const isText = (name: string): boolean => /^(string|text)$/.test(fields.get(name)?.type ?? '');
  const texts = [...fields.keys()].filter(isText);
  const name = isText('name') ? 'name' : texts.find((one) => NAMES.test(one));
  if (name !== undefined) return name;
  const pair = PAIRS.find((names) => names.every(isText));
  if (pair !== undefined) return `{${pair[0]}} {${pair[1]}}`;
  const title = ['title', 'label'].find(isText);
  const unique = texts.find((one) => fields.get(one)?.unique === true && fields.get(one)?.type === 'string');
  if (title !== undefined)
    return unique === undefined || fields.get(title)?.unique === true ? title : `{${title}} ({${unique}})`;
  const strings = texts.filter((one) => fields.get(one)?.type === 'string');
  return unique ?? (isText('email') ? 'email' : (strings[0] ?? null));
}
