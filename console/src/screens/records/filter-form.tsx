// Form of a filter: one condition or several alternatives, with its text in the API's syntax.
import { Button, Divider, Group, Input, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useId, useState } from 'react';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { formatLocal, parseDateTime, type TimeZone } from '../../format/datetime.ts';
import type { RecordColumn } from '../../records/fields.ts';
import {
  type Chip,
  type Condition,
  listOperatorsFor,
  operatorNamed,
  parseConditions,
  toChip,
} from '../../records/filter.ts';
import type { PathGroup } from '../../records/filter-paths.ts';
import { RecordPicker } from '../../records/record-picker.tsx';
import { listEnumValues } from '../../records/value.ts';
import { Icon } from '../../shell/icon.tsx';

export interface FilterFormProps {
  readonly paths: readonly PathGroup[];
  readonly zone: TimeZone;
  readonly workspace: WorkspaceRef;
  /** Filter to edit, or undefined for a new one. */
  readonly chip: Chip | undefined;
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
  readonly onChip: (chip: Chip) => void;
}

export function FilterButton(props: FilterFormProps) {
  const { isOpen, onOpen, chip } = props;
  return (
    <Popover
      opened={isOpen}
      onChange={onOpen}
      position="bottom-start"
      withinPortal
      trapFocus
      returnFocus
      width={460}
      shadow="md"
    >
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<Icon name="search" />}
          onClick={() => onOpen(!isOpen)}
          aria-haspopup="dialog"
        >
          Filter
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Filter" maw="calc(100vw - 24px)">
        <FilterForm key={`${chip?.kind}/${chip?.text}`} {...props} />
      </Popover.Dropdown>
    </Popover>
  );
}

function FilterForm({ paths, zone, workspace, chip, onChip }: FilterFormProps) {
  const columns = new Map(paths.flatMap(({ paths: some }) => some.map(({ path, column }) => [path, column] as const)));
  const first = paths[0]?.paths[1] ?? paths[0]?.paths[0];
  const fresh: Condition = {
    path: first?.path ?? 'id',
    operator: listOperatorsFor(first?.column.type ?? 'id')[0]?.name ?? 'eq',
    value: '',
  };
  const [conditions, setConditions] = useState<readonly Condition[]>(
    chip === undefined
      ? [fresh]
      : parseConditions(chip).map((one) => formatCondition(one, columns.get(one.path), zone)),
  );
  const [text, setText] = useState(chip?.kind === 'filter' ? chip.text : '');
  const set = (index: number, condition: Condition) => setConditions(conditions.with(index, condition));
  function apply(event: FormEvent): void {
    event.preventDefault();
    onChip(toChip(conditions.map((one) => sentCondition(one, columns.get(one.path), zone))));
  }
  return (
    <Stack gap="xs">
      <form onSubmit={apply}>
        <Stack gap="xs">
          {conditions.map((condition, index) => (
            <ConditionLine
              key={index}
              condition={condition}
              column={columns.get(condition.path)}
              paths={paths}
              zone={zone}
              workspace={workspace}
              isFirst={index === 0}
              onChange={(next) => set(index, next)}
            />
          ))}
          <Group justify="space-between">
            <Button variant="subtle" onClick={() => setConditions([...conditions, fresh])}>
              Or another condition
            </Button>
            <Button type="submit">Apply</Button>
          </Group>
        </Stack>
      </form>
      <Divider label="or as text" />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '') onChip({ kind: 'filter', text: text.trim() });
        }}
      >
        <TextInput
          label="Filter as text"
          description="field,operator,value as in the address of the API"
          placeholder="total,gte,10"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </form>
    </Stack>
  );
}

interface LineProps {
  readonly condition: Condition;
  readonly column: RecordColumn | undefined;
  readonly paths: readonly PathGroup[];
  readonly zone: TimeZone;
  readonly workspace: WorkspaceRef;
  readonly isFirst: boolean;
  readonly onChange: (condition: Condition) => void;
}

function ConditionLine({ condition, column, paths, zone, workspace, isFirst, onChange }: LineProps) {
  const { path, operator, value } = condition;
  const valueId = useId();
  const operators = listOperatorsFor(column?.type ?? 'string');
  const takes = operatorNamed(operator)?.takes ?? 'one';
  const columns = new Map(paths.flatMap(({ paths: some }) => some.map((one) => [one.path, one.column] as const)));
  const chosen =
    takes !== 'one' || column === undefined
      ? []
      : column.type === 'boolean'
        ? ['true', 'false']
        : listEnumValues(column.field);
  const hint =
    takes === 'many'
      ? 'a,b,c (\\, is a comma, \\\\ a backslash)'
      : takes === 'two'
        ? 'from,to'
        : column?.type === 'datetime'
          ? `2026-01-31 12:00 ${zone}`
          : '';
  return (
    <Group gap={6} align="end" wrap="wrap">
      <NativeSelect
        label="Field"
        flex="1 1 130px"
        value={path}
        data={paths.map(({ name, paths: some }) => ({
          group: name,
          items: some.map((one) => ({ value: one.path, label: one.path })),
        }))}
        onChange={(event) => {
          const next = event.currentTarget.value;
          const fits = listOperatorsFor(columns.get(next)?.type ?? 'string');
          const nextOperator = fits.some(({ name }) => name === operator) ? operator : (fits[0]?.name ?? 'eq');
          onChange({ path: next, operator: nextOperator, value: value ?? '' });
        }}
        {...(isFirst ? { 'data-autofocus': true } : {})}
      />
      <NativeSelect
        label="Operator"
        flex="0 1 120px"
        value={operator}
        data={operators.map(({ name, label }) => ({ value: name, label }))}
        onChange={(event) => {
          const next = event.currentTarget.value;
          onChange({ path, operator: next, value: operatorNamed(next)?.takes === 'none' ? undefined : (value ?? '') });
        }}
      />
      {takes === 'none' ? null : chosen.length > 0 ? (
        <NativeSelect
          label="Value"
          flex="1 1 110px"
          value={value ?? ''}
          data={[{ value: '', label: '' }, ...chosen.map((one) => ({ value: one, label: one }))]}
          onChange={(event) => onChange({ path, operator, value: event.currentTarget.value })}
        />
      ) : takes === 'one' && column?.type === 'relation' && column.target !== undefined ? (
        <Input.Wrapper label="Value" id={valueId} flex="1 1 110px">
          <RecordPicker
            key={path}
            id={valueId}
            className="value-editor"
            workspace={workspace}
            target={column.target}
            text={value ?? ''}
            onText={(next) => onChange({ path, operator, value: next })}
            takesFocus={false}
          />
        </Input.Wrapper>
      ) : (
        <TextInput
          label="Value"
          flex="1 1 110px"
          placeholder={hint}
          value={value ?? ''}
          onChange={(event) => onChange({ path, operator, value: event.currentTarget.value })}
        />
      )}
    </Group>
  );
}

/** Converts times from UTC to the zone of the page; lists stay as in the API. */
function formatCondition(condition: Condition, column: RecordColumn | undefined, zone: TimeZone): Condition {
  const isMoment = column?.type === 'datetime' && operatorNamed(condition.operator)?.takes === 'one';
  return isMoment && condition.value !== undefined
    ? { ...condition, value: formatLocal(condition.value, zone) }
    : condition;
}

function sentCondition(condition: Condition, column: RecordColumn | undefined, zone: TimeZone): Condition {
  if (column?.type !== 'datetime' || condition.value === undefined) return condition;
  const takes = operatorNamed(condition.operator)?.takes;
  const toUtc = (text: string): string => parseDateTime(text, zone) ?? text;
  return {
    ...condition,
    value: takes === 'one' ? toUtc(condition.value) : condition.value.split(',').map(toUtc).join(','),
  };
}
