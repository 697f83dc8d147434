// Line of aggregates below the records: those of the view, of all records that match, by the same filters.
import './views.css';
import { Button, Group, NativeSelect, Popover, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { EntityDocument, WorkspaceSchema } from '../api/schema.ts';
import type { TimeZone } from '../format/datetime.ts';
import type { ListQuery } from '../records/list-query.ts';
import type { EntityRef } from '../records/requests.ts';
import { formatValue, getMember, type RecordValue } from '../records/value.ts';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { Icon } from '../shell/icon.tsx';
import { aggregateQuery, layoutKey } from './aggregate-api.ts';
import {
  type Aggregate,
  type AggregateFunction,
  describeAggregate,
  FUNCTION_WORDS,
  getValueType,
  listAggregateColumns,
  listFunctions,
  parseAggregate,
  shortenDigits,
} from './aggregates.ts';

export interface SummaryLineProps {
  readonly entityRef: EntityRef;
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  readonly query: ListQuery;
  readonly zone: TimeZone;
  readonly summary: readonly string[];
  readonly onChange: (summary: readonly string[]) => void;
  /** Value that changes when records may have changed. */
  readonly revision: unknown;
}

export function SummaryLine(props: SummaryLineProps) {
  const { entityRef, schema, entity, query, zone, summary, onChange, revision } = props;
  const parts = summary.map((text) => ({ text, aggregate: parseAggregate(schema, entity, text) }));
  const aggregates = parts.flatMap(({ aggregate }) => aggregate ?? []);
  const { data, error } = useQuery({
    ...aggregateQuery(entityRef, query, { select: aggregates.map(({ text }) => text), zone }),
    enabled: aggregates.length > 0,
  });
  useReloadLayouts(entityRef, revision);
  const values = data?.groups[0];
  return (
    <>
      <ErrorAlert error={error} />
      <section className="records-line records-foot" aria-label="Summary">
        {parts.map(({ text, aggregate }) => (
          <span key={text} className="chip" data-wrong={aggregate === undefined || undefined}>
            <span className="chip-text" title={aggregate && printExact(aggregate, values)}>
              {aggregate === undefined ? (
                <>
                  <span className="visually-hidden">Invalid: </span>
                  <bdi>{text}</bdi> does not exist
                </>
              ) : (
                <>
                  <bdi>{describeAggregate(aggregate)}</bdi>: <b>{printValue(aggregate, values, zone)}</b>
                </>
              )}
            </span>
            <button
              type="button"
              aria-label={`Remove ${aggregate === undefined ? text : describeAggregate(aggregate)}`}
              onClick={() => onChange(summary.filter((one) => one !== text))}
            >
              <Icon name="close" size={12} />
            </button>
          </span>
        ))}
        <AddAggregate
          schema={schema}
          entity={entity}
          onAdd={(text) => onChange(summary.includes(text) ? summary : [...summary, text])}
        />
      </section>
    </>
  );
}

/** Loads aggregates and layouts of an entity again when its records may have changed. */
export function useReloadLayouts(entityRef: EntityRef, revision: unknown): void {
  const client = useQueryClient();
  const last = useRef(revision);
  useEffect(() => {
    if (last.current === revision) return;
    last.current = revision;
    void client.invalidateQueries({ queryKey: layoutKey(entityRef) });
  }, [client, entityRef, revision]);
}

/** Formats the value of an aggregate in a group: numbers with two decimal places, `…` while they load. */
export function printValue(aggregate: Aggregate, group: RecordValue | undefined, zone: TimeZone): string {
  const value = group === undefined ? undefined : getMember(group, aggregate.text);
  if (value === undefined) return '…';
  return value === null ? 'NULL' : shortenDigits(formatValue(value, getValueType(aggregate), zone));
}

const printExact = (aggregate: Aggregate, group: RecordValue | undefined): string =>
  String((group === undefined ? undefined : getMember(group, aggregate.text)) ?? '');

export interface AddAggregateProps {
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  readonly onAdd: (text: string) => void;
}

/** Button that adds an aggregate: a function of a column, or the number of records. */
function AddAggregate({ schema, entity, onAdd }: AddAggregateProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="top-start" withinPortal trapFocus shadow="md">
      <Popover.Target>
        <Button
          variant="subtle"
          size="compact-xs"
          aria-haspopup="dialog"
          leftSection={<Icon name="plus" size={13} />}
          onClick={() => setOpen(!isOpen)}
        >
          Add summary
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Add summary">
        <AggregateForm
          schema={schema}
          entity={entity}
          onAdd={(text) => {
            onAdd(text);
            setOpen(false);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function AggregateForm({ schema, entity, onAdd }: AddAggregateProps) {
  const columns = listAggregateColumns(schema, entity);
  const first = columns.find(({ column }) => listFunctions(column.type)[0] === 'sum') ?? columns[0];
  const [path, setPath] = useState(first?.path ?? 'id');
  const functions = listFunctions(columns.find((one) => one.path === path)?.column.type ?? 'id');
  const [chosen, setChosen] = useState<AggregateFunction>();
  const fn = chosen !== undefined && functions.includes(chosen) ? chosen : functions[0];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAdd(`${fn}:${path}`);
      }}
    >
      <Stack gap="xs">
        <Group gap="xs" align="end">
          <NativeSelect
            label="Column"
            data={columns.map((one) => one.path)}
            value={path}
            onChange={(event) => setPath(event.currentTarget.value)}
            data-autofocus
          />
          <NativeSelect
            label="Summary"
            data={functions.map((one) => ({ value: one, label: FUNCTION_WORDS[one] }))}
            value={fn ?? ''}
            onChange={(event) => setChosen(functions.find((one) => one === event.currentTarget.value))}
          />
        </Group>
        <Group justify="flex-end">
          <Button type="submit">Add</Button>
        </Group>
      </Stack>
    </form>
  );
}
