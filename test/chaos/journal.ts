// What the clients were told. Afterwards the database must agree: what was acknowledged is there, once; what was refused
// is not; what nobody knows the outcome of may be either, but never half.

/** A record that a client has made, or has tried to. */
export interface Line {
  /** Unlike any other; begins with the owner. */
  readonly token: string;
  readonly owner: string;
  readonly amount: number;
  /** Written just after a change of the schema, by the name that the field had got; else undefined. */
  readonly note?: string;
  /** Undefined: nobody knows whether it was made. */
  readonly id: number | undefined;
  /** Values of its counter that may be stored: the last that was acknowledged, and one whose outcome is not known. */
  values: readonly number[];
  deleted: 'no' | 'maybe' | 'yes';
}

/** Rows of which all are stored or none: of an import, or of a batch of operations. */
export interface Batch {
  readonly name: string;
  readonly rows: number;
  readonly acknowledged: boolean;
}

/** A row of a batch as it is stored. */
export interface Parcel {
  readonly id: number;
  readonly batch: string;
  readonly number: number;
  /** The first row of the batch, in others that referred to it. */
  readonly firstId: number | null;
}

/** A record as it is stored. */
export interface Stored {
  readonly id: number;
  readonly token: string;
  readonly owner: string;
  readonly value: number;
  readonly amount: number;
  /** Whatever the field is called by then. */
  readonly note: string | null;
}

export interface Journal {
  readonly lines: Line[];
  readonly batches: Batch[];
  /** Transactions that set the mark of several records. */
  readonly marks: Batch[];
  /** Names that were drawn for requests that were refused: nothing of them may be stored. */
  readonly refused: Set<string>;
}

export const makeJournal = (): Journal => ({ lines: [], batches: [], marks: [], refused: new Set() });

/** Everything in which the stored records and the journal do not agree. */
export function compare(journal: Journal, stored: readonly Stored[]): string[] {
  const wrong: string[] = [];
  const found = new Map<string, Stored[]>();
  for (const record of stored) found.set(record.token, [...(found.get(record.token) ?? []), record]);
  for (const line of journal.lines) {
    const records = found.get(line.token) ?? [];
    found.delete(line.token);
    if (records.length > 1) wrong.push(`${line.token} is there ${records.length} times`);
    const [record] = records;
    if (record === undefined) {
      if (line.id !== undefined && line.deleted === 'no') wrong.push(`${line.token} was acknowledged and is lost`);
      continue;
    }
    if (line.deleted === 'yes') wrong.push(`${line.token} was deleted and is there`);
    if (line.id !== undefined && record.id !== line.id) wrong.push(`${line.token} has id ${record.id}, not ${line.id}`);
    if (record.owner !== line.owner) wrong.push(`${line.token} belongs to ${record.owner}`);
    if (record.amount !== line.amount) wrong.push(`${line.token} has amount ${record.amount}, not ${line.amount}`);
    if (record.note !== (line.note ?? null)) wrong.push(`${line.token} has note ${record.note}, not ${line.note}`);
    if (!line.values.includes(record.value))
      wrong.push(`${line.token} has value ${record.value}, acknowledged was ${line.values.join(' or ')}`);
  }
  for (const token of found.keys()) {
    wrong.push(journal.refused.has(token) ? `${token} was refused and is there` : `${token} comes from nowhere`);
  }
  return wrong;
}

/** The same for imports and batches: all rows of one or none, all of one that was acknowledged, and each refers to its first. */
export function compareBatches(journal: Journal, stored: readonly Parcel[]): string[] {
  const wrong: string[] = [];
  const found = Map.groupBy(stored, ({ batch }) => batch);
  for (const { name, rows, acknowledged } of journal.batches) {
    const parcels = found.get(name) ?? [];
    found.delete(name);
    if (parcels.length === 0 && !acknowledged) continue;
    const numbers = new Set(parcels.map(({ number }) => number));
    if (parcels.length !== rows || numbers.size !== rows)
      wrong.push(
        `${name}${acknowledged ? ', acknowledged,' : ''} has ${parcels.length} rows of ${rows}, ${numbers.size} different ones`,
      );
    const first = parcels.find(({ number }) => number === 0)?.id;
    for (const { id, firstId } of parcels)
      if (firstId !== null && firstId !== first)
        wrong.push(`${name} has ${id}, which refers to ${firstId}, not ${first}`);
  }
  for (const [name, { length }] of found) wrong.push(`${name} was refused and has ${length} rows`);
  return wrong;
}
