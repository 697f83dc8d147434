// Chart of the records of a view, and what it shows: form, values and groups.
import { NativeSelect } from '@mantine/core';
import {
  describeAggregate,
  FUNCTION_WORDS,
  isDateType,
  listAggregateColumns,
  listFunctions,
  PARTS,
  parseAggregate,
} from './aggregates.ts';
import { ChartPanel } from './chart-panel.tsx';
import type { LayoutProps } from './layout-props.ts';
import { CHARTS, type Chart } from './view-state.ts';

const CHART_WORDS: Readonly<Record<Chart, string>> = { number: 'Number', bars: 'Bars', line: 'Line', table: 'Table' };

interface Choice {
  readonly value: string;
  readonly label: string;
}

export function ChartView(props: LayoutProps) {
  const { schema, entity, presentation, onPresentation } = props;
  const { chart, group, summary } = presentation;
  const columns = listAggregateColumns(schema, entity);
  const groups: readonly Choice[] = columns.flatMap(({ path, column }) =>
    isDateType(column.type)
      ? PARTS.map((part) => ({ value: `${path}:${part}`, label: `${path} by ${part}` }))
      : [{ value: path, label: path }],
  );
  const values: readonly Choice[] = [
    { value: 'count', label: 'number of records' },
    ...columns
      .filter(({ path }) => !path.includes('.'))
      .flatMap(({ path, column }) =>
        listFunctions(column.type)
          .filter((fn) => fn !== 'count')
          .map((fn) => ({ value: `${fn}:${path}`, label: `${FUNCTION_WORDS[fn]} of ${path}` })),
      ),
  ];
  const value = summary[0] ?? 'count';
  const aggregate = parseAggregate(schema, entity, value);
  const [by = '', split = ''] = group;
  return (
    <>
      <div className="records-line">
        <NativeSelect
          label="Form"
          data={CHARTS.map((one) => ({ value: one, label: CHART_WORDS[one] }))}
          value={chart}
          onChange={(event) => {
            const next = CHARTS.find((one) => one === event.currentTarget.value);
            if (next !== undefined) onPresentation({ chart: next });
          }}
        />
        <NativeSelect
          label="Value"
          data={withCurrent(values, value, aggregate === undefined ? value : describeAggregate(aggregate))}
          value={value}
          onChange={(event) => onPresentation({ summary: [event.currentTarget.value, ...summary.slice(1)] })}
        />
        {chart !== 'number' && (
          <NativeSelect
            label="By"
            data={[{ value: '', label: 'no group' }, ...withCurrent(groups, by)]}
            value={by}
            onChange={(event) => {
              const next = event.currentTarget.value;
              onPresentation({ group: next === '' ? [] : [next, ...group.slice(1)] });
            }}
          />
        )}
        {chart !== 'number' && by !== '' && (
          <NativeSelect
            label="And by"
            data={[{ value: '', label: 'no series' }, ...withCurrent(groups, split)]}
            value={split}
            onChange={(event) => {
              const next = event.currentTarget.value;
              onPresentation({ group: next === '' ? [by] : [by, next] });
            }}
          />
        )}
      </div>
      <div className="chart-area">
        <ChartPanel {...props} title={entity.name} />
      </div>
    </>
  );
}

/** Adds the current choice where the list does not have it, such as a field that is gone. */
const withCurrent = (choices: readonly Choice[], value: string, label = value): Choice[] =>
  value === '' || choices.some((one) => one.value === value) ? [...choices] : [...choices, { value, label }];
