// Form of a record. A save sends the changed fields with the version that the draft started from; an error appears at
// its field.
import './record.css';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react';
import { fieldError, isApiError, isShownAtFields } from '../../api/api-error.ts';
import { stringifyExact } from '../../api/json.ts';
import { requestExact } from '../../api/request.ts';
import { type EntityDocument, schemaQuery } from '../../api/schema.ts';
import type { ApiRequest } from '../../api/types.ts';
import { screenPath } from '../../api/workspace.ts';
import type { TimeZone } from '../../format/datetime.ts';
import { Comparison } from '../../records/comparison.tsx';
import { FieldInput } from '../../records/field-input.tsx';
import { listColumns, type RecordColumn } from '../../records/fields.ts';
import { convertDraftTimeZone, type FormDraft, parseDraft } from '../../records/form-draft.ts';
import { getLastListSearch } from '../../records/last-list.ts';
import { type LinkDrafts, listWrittenRelations, NO_LINKS, printLinks } from '../../records/link-draft.ts';
import { type EntityRef, entityPath, fetchRecord, parseVersion, type Versioned } from '../../records/requests.ts';
import { formatForEditing, getId, getMember, type RecordValue } from '../../records/value.ts';
import { createKeyCache, retryUnreachable } from '../../records/write-requests.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useMayWrite } from '../../shell/permissions.ts';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { UnsavedChangesGuard } from '../../shell/unsaved-changes.tsx';
import type { Call } from '../../snippets/snippets.ts';
import { LinksInput } from './links-input.tsx';

export interface RecordFormProps {
  readonly entityRef: EntityRef;
  readonly entity: EntityDocument;
  /** Record as it was read, or undefined for a new one. */
  readonly read?: Versioned | undefined;
  /** Record that a new one copies its values from. */
  readonly from?: RecordValue | undefined;
  readonly onSaved?: (saved: Versioned) => Promise<void>;
}

/** Announces a new record. */
export const describeCreated = ({ entity }: EntityRef, id: string): string => `${entity} ${id} created`;

export function RecordForm({ entityRef, entity, read: newest, from, onSaved }: RecordFormProps) {
  const zone = useTimeZone();
  const navigate = useNavigate();
  // Record that the draft started from: a newer one must not become the version that a save overwrites.
  const [read, setRead] = useState(newest);
  const mayWrite = useMayWrite() && entity.operations.includes(read === undefined ? 'create' : 'update');
  const columns = useMemo(
    () => listColumns(entity).filter(({ isReadOnly }) => !isReadOnly || read !== undefined),
    [entity, read],
  );
  const [draft, setDraft] = useState<FormDraft>(() => copyRecord(columns, from, zone));
  // Zone of the typed times, which stay the same when the zone of the page changes.
  const [typedIn, setTypedIn] = useState(zone);
  if (typedIn !== zone) {
    setTypedIn(zone);
    setDraft(convertDraftTimeZone(columns, draft, typedIn, zone));
  }
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [isShown, setShown] = useState(false);
  // Change by another user while the record was edited.
  const [meanwhile, setMeanwhile] = useState<Versioned | 'deleted'>();
  const form = useRef<HTMLFormElement>(null);
  const { data: schema } = useQuery(schemaQuery(entityRef));
  const relations = mayWrite ? listWrittenRelations(entity, schema, read === undefined) : [];
  const [links, setLinks] = useState<LinkDrafts>(new Map());
  const parsed = parseDraft(columns, draft, read?.record, zone);
  const { mistakes } = parsed;
  const fieldChanges = parsed.changes;
  const changes: ReadonlyMap<string, unknown> = new Map([...fieldChanges, ...printLinks(links, read === undefined)]);
  const isDirty = changes.size > 0 || mistakes.size > 0;
  const fieldErrors = listFieldErrors(error, [...columns, ...relations]);
  const leaving = useRef(false);
  const sending = useRef(false);
  const isThere = useRef(true);
  const [getKey] = useState(createKeyCache);
  if (read !== newest && !isDirty && !isBusy) setRead(newest);

  async function save(version = read?.version): Promise<void> {
    // Ctrl+S ignores that the button is disabled.
    if (sending.current) return;
    setShown(true);
    setError(undefined);
    if (mistakes.size > 0) return focusMistake();
    sending.current = true;
    setBusy(true);
    try {
      const body = Object.fromEntries(changes);
      const saved = read === undefined ? await create(body) : await update(getId(read.record), body, version ?? '');
      leaving.current = read === undefined;
      // The cache gets the record before the draft is cleared, or the fields would flash their former values.
      await onSaved?.(saved);
      if (read !== undefined) setRead(saved);
      // Newer text has not been sent.
      setDraft((now) => new Map([...now].filter(([name, text]) => draft.get(name) !== text)));
      setLinks((now) => new Map([...now].filter(([name, change]) => links.get(name) !== change)));
      setMeanwhile(undefined);
      announce(read === undefined ? describeCreated(entityRef, getId(saved.record)) : 'Saved');
      if (read === undefined) {
        await navigate({
          to: screenPath(entityRef, `/data/${entityRef.entity}/${getId(saved.record)}`),
          replace: true,
          ignoreBlocker: true,
        });
      }
    } catch (thrown) {
      if (isApiError(thrown) && thrown.status === 412 && read !== undefined) await compare(read);
      else {
        setError(thrown);
        focusMistake();
      }
    } finally {
      sending.current = false;
      setBusy(false);
    }
  }

  function reset(): void {
    setDraft(new Map());
    setLinks(new Map());
  }

  const create = (body: object): Promise<Versioned> => sendWrite({ method: 'POST', path: entityPath(entityRef), body });
  const update = (id: string, body: object, version: string): Promise<Versioned> =>
    sendWrite({
      method: 'PATCH',
      path: entityPath(entityRef, `/${id}`),
      body,
      headers: { 'If-Match': `"${version}"` },
    });

  async function sendWrite(one: ApiRequest): Promise<Versioned> {
    const headers = { ...one.headers, 'Idempotency-Key': getKey(stringifyExact(one)) };
    const { data, etag } = await retryUnreachable(
      () => requestExact<RecordValue>({ ...one, headers }),
      () => isThere.current,
    );
    return { record: data, version: parseVersion(etag) };
  }

  async function compare(before: Versioned): Promise<void> {
    try {
      setMeanwhile(await fetchRecord(entityRef, getId(before.record)));
    } catch (thrown) {
      if (isApiError(thrown) && thrown.status === 404) setMeanwhile('deleted');
      else setError(thrown);
    }
  }

  // Focuses the first invalid field after the render.
  const focusMistake = (): void => {
    setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), 50);
  };

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      form.current?.requestSubmit();
    };
    addEventListener('keydown', onKey);
    isThere.current = true;
    return () => {
      isThere.current = false;
      removeEventListener('keydown', onKey);
    };
  }, []);

  const call = (): Call => ({
    origin: location.origin,
    workspace: `${entityRef.org}/${entityRef.ws}`,
    entity: entityRef.entity,
    query: [],
    ...(read === undefined
      ? { method: 'POST', rest: '', body: stringifyExact(Object.fromEntries(changes)) }
      : changes.size === 0
        ? { method: 'GET', rest: `/${getId(read.record)}` }
        : { method: 'PATCH', rest: `/${getId(read.record)}`, body: stringifyExact(Object.fromEntries(changes)) }),
  });
  const list = screenPath(entityRef, `/data/${entityRef.entity}`);
  const theirs = meanwhile === 'deleted' ? undefined : meanwhile;

  return (
    <form
      ref={form}
      noValidate
      aria-label={read === undefined ? 'New record' : 'Record'}
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        if (isDirty || read === undefined) void save();
      }}
    >
      <Stack gap="sm" maw={720}>
        {columns.map((column) => (
          <FieldInput
            key={column.name}
            workspace={entityRef}
            column={column}
            zone={zone}
            // A new record is another screen once it is stored.
            isReadOnly={column.isReadOnly || !mayWrite || (isBusy && read === undefined)}
            text={getText(column, draft, read?.record, zone)}
            mistake={(isShown ? mistakes.get(column.name) : undefined) ?? fieldErrors.get(column.name)}
            onChange={(text) => setDraft(new Map([...draft, [column.name, text ?? null]]))}
          />
        ))}
        {relations.map((relation) => (
          <LinksInput
            key={relation.name}
            entityRef={entityRef}
            id={read === undefined ? undefined : getId(read.record)}
            relation={relation}
            draft={links.get(relation.name) ?? NO_LINKS}
            isDisabled={isBusy}
            mistake={fieldErrors.get(relation.name)}
            onChange={(change) => setLinks(new Map([...links, [relation.name, change]]))}
          />
        ))}
        {!isShownAtFields(error, [...fieldErrors.keys()]) && <ErrorAlert error={error} />}
        <Group className="form-actions">
          {mayWrite && (
            <Button type="submit" loading={isBusy} disabled={read !== undefined && !isDirty}>
              {read === undefined ? 'Create' : 'Save'}
            </Button>
          )}
          {read === undefined && (
            <Button component={Link} to={list} search={getLastListSearch(list)} variant="default">
              Cancel
            </Button>
          )}
          {isDirty && read !== undefined && (
            <Button variant="default" disabled={isBusy} onClick={reset}>
              Reset
            </Button>
          )}
          <CopyAs call={call} />
          {isDirty && (
            <Text size="xs" c="dimmed">
              {changes.size === 1 ? '1 field changed' : `${changes.size} fields changed`}
            </Text>
          )}
        </Group>
      </Stack>
      <UnsavedChangesGuard isDirty={isDirty && !leaving.current} parameter="record" />
      {meanwhile !== undefined && read !== undefined && (
        <Comparison
          workspace={entityRef}
          columns={columns.filter(({ isReadOnly }) => !isReadOnly)}
          zone={zone}
          base={read.record}
          mine={fieldChanges}
          theirs={theirs?.record}
          onClose={() => setMeanwhile(undefined)}
          onKeepMine={() => void save(theirs?.version)}
          onTakeTheirs={() => {
            reset();
            setMeanwhile(undefined);
            if (theirs !== undefined) onSaved?.(theirs);
          }}
        />
      )}
    </form>
  );
}

/** Returns the values of a record for a copy, without those that the server sets. */
const copyRecord = (columns: readonly RecordColumn[], from: RecordValue | undefined, zone: TimeZone): FormDraft =>
  new Map(
    from === undefined
      ? []
      : columns.flatMap(({ name, type, isReadOnly }): [string, string | null][] => {
          const value = getMember(from, name);
          return isReadOnly || value === undefined
            ? []
            : [[name, value === null ? null : formatForEditing(value, type, zone)]];
        }),
  );

function getText({ name, type }: RecordColumn, draft: FormDraft, record: RecordValue | undefined, zone: TimeZone) {
  if (draft.has(name)) return draft.get(name);
  if (record === undefined) return undefined;
  const value = getMember(record, name);
  return value === null || value === undefined ? null : formatForEditing(value, type, zone);
}

/**
 * Returns the server's messages by field; those about several fields, or fields outside the form, are for the alert.
 */
function listFieldErrors(error: unknown, columns: readonly { readonly name: string }[]): ReadonlyMap<string, string> {
  return new Map(
    columns.flatMap(({ name }): [string, string][] => {
      const message = fieldError(error, name);
      return message === undefined ? [] : [[name, message]];
    }),
  );
}
