// Live rows of the records screen: one event stream of the entity, while its page is visible.
import { useDocumentVisibility, useLocalStorage } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { parseExact } from '../../api/json.ts';
import { send } from '../../api/request.ts';
import { type EntityDocument, schemaQuery } from '../../api/schema.ts';
import { isFiltered } from '../../records/list-query.ts';
import { LiveFeed } from '../../records/live-feed.ts';
import { type EditState, LiveRows, type RecordChange } from '../../records/live-rows.ts';
import { type EntityRef, entityPath, fetchRows, fetchTotal } from '../../records/requests.ts';
import { useViewAs } from '../../shell/permissions.ts';
import type { Editing } from './use-editing.ts';
import type { RecordsState } from './use-records.ts';

export interface LiveOptions {
  readonly state: RecordsState;
  readonly entity: EntityDocument;
  readonly editing: Editing;
}

export interface Live {
  readonly rows: LiveRows;
  /** Why rows are not live, though they should be. */
  readonly reason: string | undefined;
  /** Whether the user wants live rows; undefined where there can be none. */
  readonly isOn: boolean | undefined;
  readonly setOn: (isOn: boolean) => void;
}

export function useLive({ state, entity, editing }: LiveOptions): Live {
  const { entityRef, list, fields, control } = state;
  const { rows, applied } = list;
  const [isWanted, setOn] = useLocalStorage({ key: 'wda.live', defaultValue: true, getInitialValueInEffect: false });
  const isVisible = useDocumentVisibility() === 'visible';
  const isViewing = useViewAs() !== undefined;
  const isKept = entity.operations.includes('changes') && !isViewing;
  const client = useQueryClient();
  const live = useMemo(() => new LiveRows(), []);
  const feed = useMemo(
    () =>
      new LiveFeed({
        open: (cursor, signal) => openStream(entityRef, cursor, signal),
        onStart: () => live.start(),
        onEvent(name, data) {
          if (name === 'change') live.add(readChange(data));
          else if (name === 'reset') live.reset();
          else void client.invalidateQueries({ queryKey: schemaQuery(entityRef).queryKey });
        },
      }),
    [entityRef, live, client],
  );
  useSyncExternalStore(live.subscribe, live.revision);
  const feedState = useSyncExternalStore(feed.subscribe, feed.state);

  const isFollowing = isKept && isWanted;
  // A hidden page holds none of the six connections that browsers open to one host over HTTP/1.1.
  const isOpen = isFollowing && isVisible;
  useEffect(() => {
    if (!isOpen) return;
    const controller = new AbortController();
    void feed.run(controller.signal);
    return () => controller.abort();
  }, [feed, isOpen]);

  const latest = useRef({ editing, control, rows });
  latest.current = { editing, control, rows };
  useEffect(() => {
    if (!isFollowing || rows === undefined) {
      live.setList(undefined);
      return;
    }
    live.setList({
      rows,
      isFiltered: isFiltered(applied),
      fetchRows: (ids) => fetchRows(entityRef, applied, fields, ids),
      fetchTotal: () => fetchTotal(entityRef, applied, new AbortController().signal),
      getEdit: (id) => getEdit(latest.current, id),
    });
    let { loads } = rows;
    return rows.subscribe(() => {
      if (rows.loads === loads) return;
      loads = rows.loads;
      live.recheckLoaded();
    });
  }, [live, isFollowing, rows, applied, fields, entityRef]);
  const drafts = editing.drafts.revision();
  const edited = control.state.editing;
  useEffect(() => {
    // Rows are shown when nothing is edited in them any more.
    void [drafts, edited];
    live.recheckEdited();
  }, [live, drafts, edited]);
  const refusal = isFollowing && feedState.kind === 'notLive' ? feedState.reason : undefined;
  const reason = isKept || isViewing ? refusal : `${entity.name} keeps no changes`;
  return { rows: live, reason, isOn: isKept ? isWanted : undefined, setOn };
}

async function openStream(entityRef: EntityRef, cursor: string | undefined, signal: AbortSignal) {
  const { body } = await send({
    path: entityPath(entityRef, '/_changes?fields=*'),
    headers: { Accept: 'text/event-stream', ...(cursor === undefined ? {} : { 'Last-Event-ID': cursor }) },
    signal,
    waits: false,
    signsInAgain: false,
  });
  if (body === null) throw new Error('The answer has no body');
  return body;
}

function readChange(data: string): RecordChange {
  const { type, recordId, version } = parseExact(data) as Record<string, unknown>;
  return { type: type as RecordChange['type'], id: String(recordId), version: version as string | undefined };
}

type Edited = Pick<LiveOptions, 'editing'> & Pick<RecordsState, 'control' | 'rows'>;

function getEdit({ editing, control, rows }: Edited, id: string): EditState {
  const at = control.state.editing?.at;
  if (at !== undefined && rows?.get(at.row)?.id === id) return 'typing';
  const kinds = [...(editing.drafts.get(id)?.values() ?? [])].map(({ kind }) => kind);
  if (kinds.some((kind) => kind !== 'saving' && kind !== 'saved')) return 'typing';
  return kinds.includes('saving') ? 'saving' : undefined;
}
