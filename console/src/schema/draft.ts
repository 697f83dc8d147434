// Draft of a schema document as a value: the edited text, and the document that it started from.
import { type Json, parseExact, stringifyExact } from '../api/json.ts';
import { EXAMPLES } from './examples.ts';
import { getAt, isObject, isSame, listMembers, setAt } from './json-value.ts';
import { type Format, parseText, printText, rewriteText } from './text.ts';

export interface SchemaDraft {
  readonly format: Format;
  readonly text: string;
  /** Document in force at the start of the draft, as compact JSON, and its ETag. */
  readonly base: string;
  readonly etag?: string | undefined;
  /** Id of the migration that applies the draft. */
  readonly applying?: string | undefined;
}

/** Creates a draft without changes. */
export const createDraft = (inForce: Json, etag: string | undefined, format: Format): SchemaDraft => ({
  format,
  text: printText(format, inForce),
  base: stringifyExact(inForce),
  etag,
});

/** Prints an example of a document, for those who choose to start from one. */
export const printExample = (name: string, format: Format): string =>
  convertFormat(EXAMPLES.find((example) => example.name === name)?.text ?? '', 'yaml', format);

/** Returns whether a document has no entities. */
export const hasNoEntities = (document: Json): boolean => listMembers(getAt(document, ['entities'])).length === 0;

function convertFormat(text: string, from: Format, to: Format): string {
  const { value } = parseText(from, text);
  return from === to || value === undefined ? text : printText(to, value);
}

export const setText = (draft: SchemaDraft, text: string): SchemaDraft => ({ ...draft, text, applying: undefined });

/** Sets the value; unchanged parts keep their formatting. */
export const setValue = (draft: SchemaDraft, value: Json): SchemaDraft =>
  setText(draft, rewriteText(draft.format, draft.text, value));

/** Converts the text; JSON has no comments, so they are lost. */
export const setFormat = (draft: SchemaDraft, format: Format): SchemaDraft => ({
  ...draft,
  format,
  text: convertFormat(draft.text, draft.format, format),
});

/** Drops the `$schema` of editors, which is no part of the document. */
export const withoutSchemaLink = (value: Json): Json =>
  isObject(value) && Object.hasOwn(value, '$schema') ? setAt(value, ['$schema'], undefined) : value;

export const isChange = (value: Json, inForce: Json): boolean =>
  !isSame(withoutSchemaLink(value), withoutSchemaLink(inForce));

/** Returns whether the draft equals its base: then it follows changes of the document in force. */
export function isUnchanged({ format, text, base }: SchemaDraft): boolean {
  const { value } = parseText(format, text);
  return value !== undefined && !isChange(value, parseExact(base));
}

/** Serializes the draft for a storage. */
export const serializeDraft = (draft: SchemaDraft): string => JSON.stringify(draft);

export function deserializeDraft(packed: string | null): SchemaDraft | undefined {
  if (packed === null) return undefined;
  try {
    const draft = JSON.parse(packed) as Partial<SchemaDraft>;
    if (typeof draft.text !== 'string' || typeof draft.base !== 'string') return undefined;
    if (draft.format !== 'yaml' && draft.format !== 'json') return undefined;
    parseExact(draft.base);
    return draft as SchemaDraft;
  } catch {
    return undefined;
  }
}
