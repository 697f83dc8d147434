// Table of the records that a user sees, with what would change by an unsaved draft.
import { Text } from '@mantine/core';
import { formatJson, type Json, stringifyExact } from '../api/json.ts';
import { pluralize } from '../format/amount.ts';
import { getMember, type RecordValue } from '../records/value.ts';
import { DataTable } from '../shell/data-table.tsx';
import classes from './access.module.css';
import { PREVIEW_SIZE, type PreviewSide } from './rules-api.ts';

const CHANGES = { stays: '', appears: 'would appear', disappears: 'would disappear' } as const;

export interface SeenTableProps {
  readonly title: string;
  readonly side: PreviewSide;
  /** Displayed fields, without `id`. */
  readonly fields: readonly string[];
}

export function SeenTable(props: SeenTableProps) {
  const { title, side, fields } = props;
  const { total, records } = side.list;
  const getChange = (id: Json | undefined) => side.changes.get(stringifyExact(id)) ?? 'stays';
  return (
    <section aria-label={title}>
      <Text size="sm" fw={600}>
        {title}: {pluralize(total, 'record')}
      </Text>
      {total > PREVIEW_SIZE && <Text size="xs">The first {PREVIEW_SIZE} are shown.</Text>}
      <DataTable
        label={`${title}: records`}
        rows={records}
        rowKey={({ id }) => stringifyExact(id)}
        rowProps={({ id }) => ({ className: classes[getChange(id)] })}
        spacing={2}
        minWidth={320}
        columns={[
          ...['id', ...fields].map((name) => ({
            title: name,
            cell: (record: RecordValue) => <bdi>{formatJson(getMember(record, name))}</bdi>,
            className: name === 'id' ? classes.id : classes.value,
          })),
          { title: 'Change', cell: ({ id }) => CHANGES[getChange(id)] },
        ]}
      />
    </section>
  );
}
