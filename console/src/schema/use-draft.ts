// Draft of the schema, shared by all screens of this browser tab: in sessionStorage, as it has no records.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { type Json, parseExact } from '../api/json.ts';
import { isFinished, migrationQuery } from '../api/migrations.ts';
import { type CurrentDocument, documentQuery } from '../api/schema-document.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { createStore } from '../store.ts';
import {
  createDraft,
  deserializeDraft,
  isChange,
  isUnchanged,
  type SchemaDraft,
  serializeDraft,
  setFormat,
  setText,
  setValue,
} from './draft.ts';
import { type Format, type ParsedText, parseText } from './text.ts';

/** Drafts by storage key. */
const drafts = createStore<ReadonlyMap<string, SchemaDraft | undefined>>(new Map());
const lastGood = new Map<string, Json>();
let preferred: Format = 'yaml';

const getStorageKey = ({ org, ws }: WorkspaceRef): string => `wda.schema-draft.${org}/${ws}`;

function readStored(key: string): SchemaDraft | undefined {
  if (drafts.get().has(key)) return drafts.get().get(key);
  try {
    return deserializeDraft(sessionStorage.getItem(key));
  } catch {
    return undefined;
  }
}

function store(key: string, draft: SchemaDraft | undefined): void {
  if (draft === undefined) lastGood.delete(key);
  try {
    if (draft === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, serializeDraft(draft));
  } catch {
    // A full or forbidden storage limits the draft to the life of the page.
  }
  drafts.set(new Map(drafts.get()).set(key, draft));
}

export interface DraftState {
  readonly draft: SchemaDraft;
  readonly parsed: ParsedText;
  /** Value of the text, or its last valid value while it cannot be parsed. */
  readonly value: Json;
  readonly isReadable: boolean;
  readonly current: CurrentDocument;
  /** Document that the draft started from. */
  readonly base: Json;
  readonly isChanged: boolean;
  /** Whether another user has changed the document in force since. */
  readonly isOutdated: boolean;
  readonly setText: (text: string) => void;
  readonly setValue: (value: Json) => void;
  /** Sets a text of this format. */
  readonly setDocument: (text: string, format: Format) => void;
  readonly setFormat: (format: Format) => void;
  /** Sets a merged value, with the document in force as the new base. */
  readonly rebase: (value: Json) => void;
  readonly begin: (migration: string) => void;
  readonly discard: () => void;
}

/** Returns the draft of a document that is in force elsewhere than in a workspace. */
export function useStoredDraft(place: WorkspaceRef, inForce: CurrentDocument): DraftState {
  const key = getStorageKey(place);
  const all = drafts.use();
  return useMemo(() => toDraftState(key, inForce, readStored(key)), [key, inForce, all]);
}

/** Returns the draft of a workspace, or undefined until the document in force has arrived. */
export function useDraft(workspace: WorkspaceRef): { readonly state: DraftState | undefined; readonly error: unknown } {
  const key = getStorageKey(workspace);
  const { data: inForce, error } = useQuery(documentQuery(workspace));
  const all = drafts.use();
  const stored = useMemo(() => readStored(key), [key, all]);
  useAppliedDraft(workspace, stored, key);
  const state = useMemo(
    () => (inForce === undefined ? undefined : toDraftState(key, inForce, stored)),
    [key, inForce, stored],
  );
  return { state, error: state === undefined ? error : null };
}

function toDraftState(key: string, current: CurrentDocument, stored: SchemaDraft | undefined): DraftState {
  const usable = stored !== undefined && stored.base !== current.text && isUnchanged(stored) ? undefined : stored;
  const draft = usable ?? createDraft(current.document, current.etag, stored?.format ?? preferred);
  const parsed = parseText(draft.format, draft.text);
  if (parsed.value !== undefined) lastGood.set(key, parsed.value);
  const value = parsed.value ?? lastGood.get(key) ?? current.document;
  const isReadable = parsed.value !== undefined;
  const isChanged = !isReadable || isChange(value, current.document);
  return {
    draft,
    parsed,
    value,
    isReadable,
    current,
    base: usable === undefined ? current.document : (parseExact(draft.base) as Json),
    isChanged,
    isOutdated: usable !== undefined && isChanged && usable.applying === undefined && usable.base !== current.text,
    setText: (text) => store(key, setText(draft, text)),
    setValue: (next) => store(key, setValue(draft, next)),
    setDocument: (text, format) => {
      preferred = format;
      store(key, setText({ ...draft, format }, text));
    },
    setFormat: (format) => {
      preferred = format;
      store(key, setFormat(draft, format));
    },
    rebase: (next) => store(key, { ...setValue(draft, next), base: current.text, etag: current.etag }),
    begin: (migration) => store(key, { ...draft, applying: migration }),
    discard: () => store(key, undefined),
  };
}

/** Drops the draft when its migration has succeeded; after a failure it stays, to be corrected. */
function useAppliedDraft(workspace: WorkspaceRef, stored: SchemaDraft | undefined, key: string): void {
  const client = useQueryClient();
  const id = stored?.applying;
  const { data: migration } = useQuery({ ...migrationQuery(workspace, id ?? ''), enabled: id !== undefined });
  useEffect(() => {
    const draft = readStored(key);
    if (migration === undefined || !isFinished(migration) || draft === undefined) return;
    if (draft.applying !== String(migration.id)) return;
    store(key, migration.state === 'succeeded' ? undefined : { ...draft, applying: undefined });
    void client.invalidateQueries({ queryKey: ['document'] });
    void client.invalidateQueries({ queryKey: ['schema'] });
  }, [migration, key, client]);
}
