// Editor of a condition, of a grant or a filter: comparisons, and groups of them, nested as the API has them.
import { ActionIcon, Autocomplete, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import type { Json } from '../api/json.ts';
import type { EntityDocument, WorkspaceSchema } from '../api/schema.ts';
import { type ColumnType, listColumns } from '../records/fields.ts';
import { operatorNamed } from '../records/filter.ts';
import { findColumn, listPathsAfter } from '../records/filter-paths.ts';
import { asText, isList, isObject, type JsonObject } from '../schema/json-value.ts';
import { Icon } from '../shell/icon.tsx';
import classes from './access.module.css';
import { getKind, getSource, listGrantOperators, listParts, type Source, setOperator, toGroup } from './grants.ts';
import { ValueInput } from './value-input.tsx';

/** Values that every part of the form of a grant needs. */
export interface FormContext {
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  readonly claims: readonly string[];
  /** Whether it is a filter, which compares own fields with literals alone. */
  readonly isFilter?: boolean;
  /** Message of the server about the member at a path, such as `0.where.field`, or about something inside it. */
  readonly errorAt: (path: string) => string | undefined;
  /** Message about just this member. */
  readonly errorJustAt: (path: string) => string | undefined;
}

export interface WhereFormProps {
  readonly context: FormContext;
  /** Path of the node in the grants. */
  readonly path: string;
  readonly node: Json | undefined;
  readonly onChange: (next: Json | undefined) => void;
}

/** Returns a condition without a field yet. */
const startCondition = ({ isFilter = false }: FormContext): Json => ({
  field: '',
  op: 'eq',
  value: isFilter ? '' : { claim: '' },
});

/** Editor of a whole `where`, which may be missing. */
export function WhereForm({ context, path, node, onChange }: WhereFormProps) {
  if (node !== undefined) return <Node context={context} path={path} node={node} onChange={onChange} />;
  return (
    <Group gap="xs">
      <Text size="sm">All records</Text>
      <Button variant="default" size="compact-xs" onClick={() => onChange(startCondition(context))}>
        Add condition
      </Button>
    </Group>
  );
}

interface NodeProps extends WhereFormProps {
  readonly node: Json;
  /** Whether it stands in a group, which has the buttons that add to it. */
  readonly isMember?: boolean;
  readonly isNegated?: boolean;
}

function Node(props: NodeProps) {
  const { node, path, context, onChange } = props;
  const message = context.errorJustAt(path);
  const kind = getKind(node);
  return (
    <Stack gap={6}>
      {kind === 'compare' ? (
        <Comparison {...props} />
      ) : kind === 'not' ? (
        <Negation {...props} />
      ) : (
        <Members {...props} />
      )}
      {message !== undefined && (
        <Text size="xs" c="red" role="alert">
          {message}
        </Text>
      )}
      {kind !== 'and' && kind !== 'or' && props.isMember !== true && (
        <Group gap="xs">
          <Button
            variant="default"
            size="compact-xs"
            onClick={() => onChange({ and: [node, startCondition(context)] })}
          >
            And another condition
          </Button>
          <Button variant="default" size="compact-xs" onClick={() => onChange({ or: [node, startCondition(context)] })}>
            Or another condition
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function Members({ node, path, context, onChange }: NodeProps) {
  const kind = getKind(node) === 'or' ? 'or' : 'and';
  const parts = listParts(node);
  return (
    <Stack gap={6} role="group" aria-label={kind === 'and' ? 'All of these' : 'Any of these'} className={classes.node}>
      <Group gap="xs">
        <NativeSelect
          aria-label="Records match"
          size="xs"
          value={kind}
          data={[
            { value: 'and', label: 'all of these' },
            { value: 'or', label: 'any of these' },
          ]}
          onChange={(event) => onChange({ [event.currentTarget.value]: parts })}
        />
        <Button
          variant="default"
          size="compact-xs"
          onClick={() => onChange({ [kind]: [...parts, startCondition(context)] })}
        >
          Add condition
        </Button>
        <Button
          variant="default"
          size="compact-xs"
          onClick={() =>
            onChange({
              [kind]: [
                ...parts,
                { [kind === 'and' ? 'or' : 'and']: [startCondition(context), startCondition(context)] },
              ],
            })
          }
        >
          Add group
        </Button>
      </Group>
      {parts.map((part, at) => (
        <Node
          key={at}
          context={context}
          path={`${path}.${kind}.${at}`}
          node={part}
          isMember
          onChange={(next) =>
            onChange(
              next === undefined
                ? toGroup(
                    kind,
                    parts.filter((_, place) => place !== at),
                  )
                : { [kind]: parts.with(at, next) },
            )
          }
        />
      ))}
    </Stack>
  );
}

function Negation({ node, path, context, onChange }: NodeProps) {
  const member = (node as JsonObject).not ?? startCondition(context);
  return (
    <Group gap={6} align="start" role="group" aria-label="Not" className={classes.node} wrap="nowrap">
      <Text size="sm" fw={600} mt={5}>
        not
      </Text>
      <Node
        context={context}
        path={`${path}.not`}
        node={member}
        isMember
        isNegated
        onChange={(next) => onChange(next === undefined ? undefined : { not: next })}
      />
      <Button variant="subtle" size="compact-xs" mt={4} onClick={() => onChange(member)}>
        Remove “not”
      </Button>
    </Group>
  );
}

const isTime = (type: ColumnType): boolean => type === 'date' || type === 'datetime';

function Comparison({ node, path, context, onChange, isNegated = false }: NodeProps) {
  const { schema, entity, claims, errorAt, isFilter = false } = context;
  const members: JsonObject = isObject(node) ? node : {};
  const field = asText(members.field);
  const op = asText(members.op);
  const column = findColumn(schema, entity, field);
  const type = column?.type ?? 'string';
  const takes = operatorNamed(op)?.takes ?? 'one';
  const operators = listGrantOperators(type);
  const sources: readonly Source[] = isFilter
    ? ['value']
    : isTime(type)
      ? ['value', 'claim', 'now']
      : ['value', 'claim'];
  const isMany = takes === 'many';
  return (
    <Group gap={6} align="start" wrap="wrap">
      <Autocomplete
        aria-label="Field"
        placeholder={isFilter ? 'Field' : 'Field, or relation.field'}
        size="xs"
        flex="1 1 160px"
        data={isFilter ? listColumns(entity).map(({ name }) => name) : [...listPathsAfter(schema, entity, field)]}
        limit={200}
        value={field}
        onChange={(next) => onChange({ ...members, field: next })}
        error={errorAt(`${path}.field`)}
        spellCheck={false}
      />
      <NativeSelect
        aria-label="Operator"
        size="xs"
        flex="0 1 130px"
        value={op}
        data={[
          ...operators.map(({ name, label }) => ({ value: name, label })),
          ...(operators.some(({ name }) => name === op) ? [] : [{ value: op, label: operatorNamed(op)?.label ?? op }]),
        ]}
        onChange={(event) => onChange(setOperator(members, event.currentTarget.value))}
        error={errorAt(`${path}.op`)}
      />
      {takes === 'two' ? (
        [0, 1].map((at) => {
          const values = isList(members.value) ? members.value : ['', ''];
          return (
            <ValueInput
              key={at}
              label={at === 0 ? 'From' : 'To'}
              value={values[at] ?? ''}
              column={column}
              sources={sources}
              claims={claims}
              error={errorAt(`${path}.value.${at}`) ?? (at === 0 ? context.errorJustAt(`${path}.value`) : undefined)}
              onChange={(next) =>
                onChange({ ...members, value: [0, 1].map((n) => (n === at ? next : (values[n] ?? ''))) })
              }
            />
          );
        })
      ) : takes === 'none' ? null : (
        <ValueInput
          label="Value"
          value={members.value}
          column={column}
          isList={isMany && getSource(members.value) === 'value'}
          sources={isMany && !isFilter ? ['value', 'claim'] : sources}
          claims={claims}
          error={errorAt(`${path}.value`)}
          onChange={(value) => onChange({ ...members, value })}
        />
      )}
      <Group gap={2} wrap="nowrap">
        {!isNegated && (
          <Button variant="subtle" size="compact-xs" mt={4} onClick={() => onChange({ not: members })}>
            Negate
          </Button>
        )}
        <ActionIcon aria-label={`Remove condition ${field}`.trim()} color="gray" onClick={() => onChange(undefined)}>
          <Icon name="close" />
        </ActionIcon>
      </Group>
    </Group>
  );
}
