// One draft of the schema for all screens of this tab of the browser: in sessionStorage, as it has no records.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { type Json, parseExact } from '../api/json.ts';
import { isEnded, migrationQuery } from '../api/migrations.ts';
import { type DocumentInForce, documentQuery } from '../api/schema-document.ts';
import type { Place } from '../api/workspace.ts';
import {
  type Draft,
  freshDraft,
  isChange,
  isUntouched,
  packDraft,
  unpackDraft,
  withFormat,
  withText,
  withValue,
} from './draft.ts';
import { type Format, type ParsedText, parseText } from './text.ts';

const drafts = new Map<string, Draft | undefined>();
const lastGood = new Map<string, Json>();
const listeners = new Set<() => void>();
let preferred: Format = 'yaml';

const keyOf = ({ org, ws }: Place): string => `wda.schema-draft.${org}/${ws}`;

function stored(key: string): Draft | undefined {
  if (!drafts.has(key)) {
    try {
      drafts.set(key, unpackDraft(sessionStorage.getItem(key)));
    } catch {
      drafts.set(key, undefined);
    }
  }
  return drafts.get(key);
}

function store(key: string, draft: Draft | undefined): void {
  drafts.set(key, draft);
  if (draft === undefined) lastGood.delete(key);
  try {
    if (draft === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, packDraft(draft));
  } catch {
    // Full or forbidden: the draft lives as long as the page.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

export interface DraftState {
  readonly draft: Draft;
  readonly parsed: ParsedText;
  /** Of the text; while that cannot be read, what it was last. */
  readonly value: Json;
  readonly isReadable: boolean;
  readonly inForce: DocumentInForce;
  /** What the draft was made from. */
  readonly base: Json;
  readonly isChanged: boolean;
  /** Somebody else changed the document in force since. */
  readonly isBehind: boolean;
  readonly setText: (text: string) => void;
  readonly setValue: (value: Json) => void;
  readonly setFormat: (format: Format) => void;
  /** The merge with the document in force, which is what the draft is made from then. */
  readonly rebase: (value: Json) => void;
  readonly begin: (migration: string) => void;
  readonly discard: () => void;
}

/** The draft of a workspace; undefined until the document in force has arrived. */
export function useDraft(place: Place): { readonly state: DraftState | undefined; readonly error: unknown } {
  const key = keyOf(place);
  const { data: inForce, error } = useQuery(documentQuery(place));
  const kept = useSyncExternalStore(subscribe, () => stored(key));
  useSettled(place, kept, key);
  const state = useMemo(() => (inForce === undefined ? undefined : stateOf(key, inForce, kept)), [key, inForce, kept]);
  return { state, error: state === undefined ? error : null };
}

function stateOf(key: string, inForce: DocumentInForce, found: Draft | undefined): DraftState {
  const kept = found !== undefined && found.base !== inForce.text && isUntouched(found) ? undefined : found;
  const draft = kept ?? freshDraft(inForce.document, inForce.etag, found?.format ?? preferred);
  const parsed = parseText(draft.format, draft.text);
  if (parsed.value !== undefined) lastGood.set(key, parsed.value);
  const value = parsed.value ?? lastGood.get(key) ?? inForce.document;
  const isReadable = parsed.value !== undefined;
  const isChanged = !isReadable || isChange(value, inForce.document);
  return {
    draft,
    parsed,
    value,
    isReadable,
    inForce,
    base: kept === undefined ? inForce.document : (parseExact(draft.base) as Json),
    isChanged,
    isBehind: kept !== undefined && isChanged && kept.applying === undefined && kept.base !== inForce.text,
    setText: (text) => store(key, withText(draft, text)),
    setValue: (next) => store(key, withValue(draft, next)),
    setFormat: (format) => {
      preferred = format;
      store(key, withFormat(draft, format));
    },
    rebase: (next) => store(key, { ...withValue(draft, next), base: inForce.text, etag: inForce.etag }),
    begin: (migration) => store(key, { ...draft, applying: migration }),
    discard: () => store(key, undefined),
  };
}

/** The draft has done its work when its migration has succeeded; when that failed, it is there to be mended. */
function useSettled(place: Place, kept: Draft | undefined, key: string): void {
  const client = useQueryClient();
  const id = kept?.applying;
  const { data: migration } = useQuery({ ...migrationQuery(place, id ?? ''), enabled: id !== undefined });
  useEffect(() => {
    const draft = stored(key);
    if (migration === undefined || !isEnded(migration) || draft === undefined) return;
    if (draft.applying !== String(migration.id)) return;
    store(key, migration.state === 'succeeded' ? undefined : { ...draft, applying: undefined });
    void client.invalidateQueries({ queryKey: ['document'] });
    void client.invalidateQueries({ queryKey: ['schema'] });
  }, [migration, key, client]);
}
