// Row of PostgreSQL -> result of a plan: the columns of each kind of statement, by their position.
import type { FeedPlan } from '../plan/feed.ts';
import type { Plan } from '../plan/plan.ts';
import type {
  AggregateRow,
  ChangedRows,
  DeletedRow,
  DeletedRows,
  FeedCount,
  FeedRow,
  GrantedRowResult,
  HeldValueRow,
  LockedRow,
  MatchedRow,
  MissingBulkReference,
  MissingReference,
  PageRow,
  RecordRow,
  RecordVersionRow,
  ReferredRow,
  UniqueConflictRow,
  UpsertedRow,
  UpsertedRows,
  WrittenRow,
  WrittenRows,
} from '../plan/result.ts';
import { makeImageReader } from './stored-image.ts';

/** A row from PostgreSQL: each column as text. */
export type Cells = readonly (string | null)[];

interface Results {
  readonly list: PageRow;
  readonly read: RecordRow;
  readonly create: WrittenRow;
  readonly update: WrittenRow;
  readonly upsert: UpsertedRow;
  readonly delete: DeletedRow;
  readonly references: MissingReference;
  readonly aggregate: AggregateRow;
  readonly bulkCreate: WrittenRows;
  readonly bulkUpdate: ChangedRows;
  readonly bulkUpsert: UpsertedRows;
  readonly bulkDelete: DeletedRows;
  readonly granted: GrantedRowResult;
  readonly feed: FeedRow;
  readonly feedCount: FeedCount;
  readonly history: FeedRow;
  readonly find: RecordVersionRow;
  readonly lock: LockedRow;
  readonly match: MatchedRow;
  readonly matchBatches: string;
  readonly dangling: MissingBulkReference;
  readonly uniqueConflict: UniqueConflictRow;
  readonly heldValue: HeldValueRow;
  readonly referred: ReferredRow;
  readonly export: Cells;
}

/** Result row of a plan's statement. Exports read their columns themselves. */
export type ResultOf<P extends Plan> = Results[P['kind']];

/** Reads columns by their position; only the statements that name the columns do that as well. */
const READERS: { readonly [Kind in Plan['kind']]: (row: Cells) => ResultOf<Extract<Plan, { kind: Kind }>> } = {
  list: (row) => {
    const [data = null, total = null, last = null, more = null, isCounted, versions = null, cuts = null] = row;
    const [snapshot = null, position = null] = row.slice(7);
    return {
      data,
      total,
      last,
      more: more === null ? null : more === 't',
      isCounted: isCounted === 't',
      versions,
      cuts,
      moment: snapshot === null ? null : { snapshot, position: Number(position) },
    };
  },
  read: ([data = null, version]) => ({ data, version: requireCell(version) }),
  create: readWrittenRow,
  update: readWrittenRow,
  upsert: (row) => ({ ...readWrittenRow(row), isCreated: row[3] === 'true' }),
  delete: ([id]) => ({ id: requireCell(id) }),
  references: ([field]) => ({ field: requireCell(field) }),
  aggregate: ([data = null, groups, recordCount = null]) => ({ data, groups: requireCell(groups), recordCount }),
  export: (row) => row,
  bulkCreate: ([data]) => ({ data: requireCell(data) }),
  bulkUpdate: ([data, versions = null]) => ({ data: requireCell(data), versions }),
  bulkUpsert: ([data, inserted]) => ({ data: requireCell(data), inserted: Number(requireCell(inserted)) }),
  bulkDelete: ([count]) => ({ count: Number(requireCell(count)) }),
  granted: ([data = null, versions = null, problems = null, sizes = null]) => ({ data, versions, problems, sizes }),
  feed: readFeedRow,
  feedCount: ([events = null, firstAt = null, pos = null, isCut]) => ({
    events: Number(events),
    firstAt,
    pos,
    isCut: isCut === 't',
  }),
  history: readFeedRow,
  matchBatches: ([ids]) => requireCell(ids),
  match: ([id, total = null]) => ({ id: requireCell(id), total: total === null ? null : Number(total) }),
  lock: ([id, data, now]) => ({ id: requireCell(id), data: requireCell(data), now: requireCell(now) }),
  find: ([id, version]) => ({ id: requireCell(id), version: requireCell(version) }),
  dangling: ([index, field]) => ({ index: Number(requireCell(index)), field: requireCell(field) }),
  uniqueConflict: ([index, other = null, isThere]) => ({
    index: Number(requireCell(index)),
    other: other === null ? null : Number(other),
    isThere: isThere === 't',
  }),
  heldValue: ([index, id, version, changed]) => ({
    index: Number(requireCell(index)),
    id: requireCell(id),
    version: requireCell(version),
    changed: requireCell(changed),
  }),
  referred: ([index]) => ({ index: Number(requireCell(index)) }),
};

/** Returns the reader of the rows of a plan's statement. */
export function makeRowReader<P extends Plan>(plan: P): (row: Cells) => ResultOf<P> {
  const read = plan.kind === 'feed' ? makeFeedReader(plan) : READERS[plan.kind];
  return read as unknown as (row: Cells) => ResultOf<P>;
}

/** Returns the planner's estimate of the number of rows, from the row of `explain (format json)`. */
export const readPlannedRows = ([json]: Cells): number => getPlannedRows(JSON.parse(requireCell(json)) as Explained);

function makeFeedReader(plan: FeedPlan): (row: Cells) => FeedRow {
  const showImages = makeImageReader(plan);
  return (row) => showImages(readFeedRow(row));
}

function readFeedRow(row: Cells): FeedRow {
  const [
    pos,
    kind,
    view,
    recordId,
    at,
    xid,
    seq,
    actor,
    before,
    after,
    old,
    record,
    changed,
    previous,
    version,
    unknown,
    columns,
    isCut,
  ] = row;
  return {
    pos: pos ?? null,
    kind: kind ?? null,
    view: Number(view),
    recordId: recordId ?? null,
    at: at ?? '',
    xid: xid ?? '',
    seq: seq ?? '',
    // A setting of a transaction is empty in the later ones of its session.
    actor: actor === '' ? null : (actor ?? null),
    before: before === 't',
    after: after === 't',
    old: old ?? null,
    new: record ?? null,
    changed: changed ?? null,
    previous: previous ?? null,
    version: version ?? null,
    unknown: unknown ?? null,
    columns: columns ?? null,
    isCut: isCut === 't',
  };
}

function readWrittenRow([data, version, id]: Cells): WrittenRow {
  return { data: requireCell(data), version: requireCell(version), id: requireCell(id) };
}

function requireCell(cell: string | null | undefined): string {
  if (cell === null || cell === undefined) throw new TypeError('a statement gave no value where it always does');
  return cell;
}

/** Result of `explain (format json)`. The plan of a table on another node of a cluster is that node's. */
type Explained = readonly [{ readonly Plan: ExplainedPlan }];

interface ExplainedPlan {
  readonly 'Plan Rows': number;
  readonly 'Distributed Query'?: {
    readonly Job: { readonly Tasks?: readonly { readonly 'Remote Plan'?: readonly (Explained | undefined)[] }[] };
  };
}

function getPlannedRows([{ Plan: plan }]: Explained): number {
  const remote = plan['Distributed Query']?.Job.Tasks?.[0]?.['Remote Plan']?.[0];
  return remote === undefined ? plan['Plan Rows'] : getPlannedRows(remote);
}
