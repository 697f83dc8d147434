// Form for one grant: roles, operations, records, fields and values of new records, and what it says in words.
import {
  ActionIcon,
  Button,
  Checkbox,
  Fieldset,
  Group,
  MultiSelect,
  NativeSelect,
  Paper,
  Stack,
  Text,
} from '@mantine/core';
import { getRoles, OPERATIONS, sayGrant, toRole } from '../../access/grants.ts';
import { ValueInput } from '../../access/value-input.tsx';
import { type FormContext, WhereForm } from '../../access/where-form.tsx';
import type { Json } from '../../api/json.ts';
import { listColumns, type RecordColumn } from '../../records/fields.ts';
import { asTexts, type JsonObject, listMembers, setAt } from '../../schema/json-value.ts';
import { Icon } from '../../shell/icon.tsx';
import classes from './grants.module.css';

const FIELDSET = { root: classes.fields ?? '', legend: classes.legend ?? '' };

export interface GrantFormProps {
  readonly context: FormContext;
  readonly grant: JsonObject;
  readonly index: number;
  readonly count: number;
  readonly roles: readonly string[];
  readonly onChange: (next: JsonObject) => void;
  readonly onMove: (by: -1 | 1) => void;
  readonly onRemove: () => void;
  readonly onNewRole: () => void;
}

export function GrantForm(props: GrantFormProps) {
  const { context, grant, index, count, roles, onChange, onMove, onRemove, onNewRole } = props;
  const { entity, errorAt, errorJustAt } = context;
  const set = (name: string, value: Json | undefined): void => onChange(setAt(grant, [name], value) as JsonObject);
  const can = asTexts(grant.can);
  const columns = listColumns(entity);
  const writable = columns.filter(({ isReadOnly }) => !isReadOnly);
  const writes = can.includes('create') || can.includes('update');
  const named = getRoles(grant);
  const changeCan = (next: readonly string[]): void => {
    const keeps = (name: string): boolean =>
      name === 'write' ? next.includes('create') || next.includes('update') : name !== 'set' || next.includes('create');
    const rest = listMembers({ ...grant, can: OPERATIONS.filter((one) => next.includes(one)) });
    onChange(Object.fromEntries(rest.filter(([name]) => keeps(name))));
  };
  const message = errorJustAt(String(index));
  return (
    <Paper withBorder p="sm" component="section" aria-label={`Grant ${index + 1}`}>
      <Stack gap="sm">
        <Group justify="space-between" align="start" wrap="nowrap">
          <Text size="sm" fw={500} className={classes.sentence ?? ''}>
            <bdi>{sayGrant(grant, entity.name)}.</bdi>
          </Text>
          <Group gap={2} wrap="nowrap">
            <ActionIcon
              aria-label={`Move grant ${index + 1} up`}
              color="gray"
              disabled={index === 0}
              onClick={() => onMove(-1)}
            >
              <Icon name="up" />
            </ActionIcon>
            <ActionIcon
              aria-label={`Move grant ${index + 1} down`}
              color="gray"
              disabled={index === count - 1}
              onClick={() => onMove(1)}
            >
              <Icon name="down" />
            </ActionIcon>
            <ActionIcon aria-label={`Remove grant ${index + 1}`} color="red" onClick={onRemove}>
              <Icon name="trash" />
            </ActionIcon>
          </Group>
        </Group>
        {message !== undefined && (
          <Text size="xs" c="red" role="alert">
            {message}
          </Text>
        )}
        <Group align="end" gap="xs">
          <MultiSelect
            label="Roles"
            placeholder={named.length === 0 ? 'Every user' : ''}
            data={[...new Set([...roles, ...named])]}
            value={[...named]}
            onChange={(next) => set('role', toRole(next))}
            error={errorAt(`${index}.role`)}
            searchable
            size="xs"
            flex="1 1 200px"
            maw={480}
          />
          <Button variant="subtle" size="compact-xs" mb={4} onClick={onNewRole}>
            New role
          </Button>
        </Group>
        <Checkbox.Group label="May" size="xs" value={[...can]} onChange={changeCan} error={errorAt(`${index}.can`)}>
          <Group gap="md" mt={4}>
            {OPERATIONS.map((operation) => (
              <Checkbox key={operation} value={operation} label={operation} />
            ))}
          </Group>
        </Checkbox.Group>
        <Fieldset variant="unstyled" legend="Records" classNames={FIELDSET}>
          <WhereForm
            context={context}
            path={`${index}.where`}
            node={grant.where}
            onChange={(next) => set('where', next)}
          />
        </Fieldset>
        {(can.join() !== 'delete' || grant.fields !== undefined) && (
          <FieldList
            label="Fields that are shown"
            all="All fields"
            columns={columns}
            value={grant.fields}
            error={errorAt(`${index}.fields`)}
            onChange={(next) => set('fields', next)}
          />
        )}
        {writes && (
          <FieldList
            label="Fields that may be written"
            all="Those that are shown"
            columns={writable}
            value={grant.write}
            error={errorAt(`${index}.write`)}
            onChange={(next) => set('write', next)}
          />
        )}
        {can.includes('create') && <SetForm {...props} columns={writable} onSet={(next) => set('set', next)} />}
      </Stack>
    </Paper>
  );
}

interface FieldListProps {
  readonly label: string;
  /** Label of the choice without a list. */
  readonly all: string;
  readonly columns: readonly RecordColumn[];
  readonly value: Json | undefined;
  readonly error: string | undefined;
  readonly onChange: (next: Json | undefined) => void;
}

function FieldList({ label, all, columns, value, error, onChange }: FieldListProps) {
  const names = asTexts(value);
  return (
    <Fieldset variant="unstyled" legend={label} classNames={FIELDSET}>
      <Checkbox
        label={all}
        checked={value === undefined}
        onChange={(event) => onChange(event.currentTarget.checked ? undefined : columns.map(({ name }) => name))}
      />
      {value !== undefined && (
        <MultiSelect
          aria-label={label}
          placeholder={names.length === 0 ? 'None' : ''}
          data={[...new Set([...columns.map(({ name }) => name), ...names])]}
          value={[...names]}
          onChange={onChange}
          error={error}
          searchable
          clearable
          limit={200}
          size="xs"
          mt={4}
          maw={640}
        />
      )}
    </Fieldset>
  );
}

interface SetFormProps extends Pick<GrantFormProps, 'context' | 'grant' | 'index'> {
  readonly columns: readonly RecordColumn[];
  readonly onSet: (next: Json | undefined) => void;
}

/** Values that a new record gets. */
function SetForm({ context, grant, index, columns, onSet }: SetFormProps) {
  const values = listMembers(grant.set);
  const free = columns.filter(({ name }) => values.every(([set]) => set !== name));
  const put = (entries: readonly (readonly [string, Json])[]): void =>
    onSet(entries.length === 0 ? undefined : Object.fromEntries(entries));
  return (
    <Fieldset variant="unstyled" legend="Set in a new record" classNames={FIELDSET}>
      <Stack gap={6}>
        {values.map(([name, value]) => (
          <Group key={name} gap={6} align="start" maw={640}>
            <Text size="sm" mt={5} className={classes.sentence ?? ''}>
              <bdi>{name}</bdi> =
            </Text>
            <ValueInput
              label={`Value of ${name}`}
              value={value}
              column={columns.find((column) => column.name === name)}
              sources={['value', 'claim', 'null']}
              claims={context.claims}
              error={context.errorAt(`${index}.set.${name}`)}
              onChange={(next) => put(values.map((entry) => (entry[0] === name ? [name, next] : entry)))}
            />
            <ActionIcon
              aria-label={`Do not set ${name}`}
              color="gray"
              onClick={() => put(values.filter(([set]) => set !== name))}
            >
              <Icon name="close" />
            </ActionIcon>
          </Group>
        ))}
        {free.length > 0 && (
          <NativeSelect
            aria-label="Set a field"
            size="xs"
            maw={200}
            value=""
            data={[{ value: '', label: 'Set a field…' }, ...free.map(({ name }) => name)]}
            onChange={(event) => {
              const name = event.currentTarget.value;
              if (name !== '') put([...values, [name, '']]);
            }}
          />
        )}
      </Stack>
    </Fieldset>
  );
}
