// Matrix of entities and their rules: a switch for each rule, and a mark at entities that hide nothing.

import { Autocomplete, Badge, Button, Group, Stack, Switch, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import classes from '../../access/access.module.css';
import { hasActiveRule, listRuleColumns, type RulesByEntity } from '../../access/rules.ts';
import { limitedQuery } from '../../access/rules-api.ts';
import { schemaQuery } from '../../api/schema.ts';
import type { RowRule } from '../../api/types.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';
import { useFocusWhenAdded } from '../../shell/use-focus-when-added.ts';
import { RuleForAll } from './rule-for-all.tsx';

export interface MatrixProps {
  readonly workspace: WorkspaceRef;
  readonly inForce: RulesByEntity;
  readonly draft: RulesByEntity;
  /** Error of the last save. */
  readonly error: unknown;
  readonly onChange: (entity: string, rules: readonly RowRule[]) => void;
  readonly onChangeAll: (rules: RulesByEntity) => void;
}

export function Matrix({ workspace, inForce, draft, error, onChange, onChangeAll }: MatrixProps) {
  const schema = useQuery(schemaQuery(workspace));
  const limited = useQuery(limitedQuery(workspace)).data;
  const [edited, setEdited] = useState<string>();
  const { page, searchField, pageLinks } = useSearchableList(
    [...inForce.keys()],
    (name) => name,
    'Find an entity with rules',
  );
  if (inForce.size === 0) return <Text size="sm">There are no entities yet.</Text>;
  return (
    <Stack gap="xs">
      {schema.data !== undefined && (
        <RuleForAll
          schema={schema.data}
          getRules={(entity) => draft.get(entity) ?? inForce.get(entity) ?? []}
          onAdd={onChangeAll}
        />
      )}
      {searchField}
      <ErrorAlert error={error} />
      <Table.ScrollContainer minWidth={560} type="native">
        <Table aria-label="Row rules" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Entity</Table.Th>
              <Table.Th>Rules</Table.Th>
              <Table.Th aria-label="Actions" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {page.map((entity) => {
              const document = schema.data?.entities.get(entity);
              return (
                <EntityRules
                  key={entity}
                  entity={entity}
                  rules={draft.get(entity) ?? inForce.get(entity) ?? []}
                  isLimited={limited?.has(entity)}
                  isChanged={draft.has(entity)}
                  columns={document === undefined ? [] : listRuleColumns(document)}
                  isEdited={edited === entity}
                  onEdit={() => setEdited(edited === entity ? undefined : entity)}
                  onChange={(rules) => onChange(entity, rules)}
                />
              );
            })}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {pageLinks}
    </Stack>
  );
}

interface EntityRulesProps {
  readonly entity: string;
  readonly rules: readonly RowRule[];
  /** Whether grants limit it, too; undefined while this is loaded. */
  readonly isLimited: boolean | undefined;
  readonly isChanged: boolean;
  readonly columns: readonly string[];
  readonly isEdited: boolean;
  readonly onEdit: () => void;
  readonly onChange: (rules: readonly RowRule[]) => void;
}

function EntityRules({ entity, rules, isLimited, isChanged, columns, isEdited, onEdit, onChange }: EntityRulesProps) {
  const [added, setAdded] = useState<number>();
  const change = (at: number, part: Partial<RowRule>): void =>
    onChange(rules.map((rule, index) => (index === at ? { ...rule, ...part } : rule)));
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={400} style={{ verticalAlign: 'top' }}>
        <bdi>{entity}</bdi> {isChanged && <Badge color="accent">Unsaved</Badge>}
      </Table.Th>
      <Table.Td>
        <Stack gap={6}>
          {rules.length === 0 && isLimited === true && (
            <Text size="xs" c="dimmed">
              none: its grants limit users
            </Text>
          )}
          {!hasActiveRule(rules) && isLimited === false && (
            <Group gap={4} className={classes.warning ?? ''}>
              <Icon name="warning" />
              <Text size="xs">every external user sees all</Text>
            </Group>
          )}
          {rules.map((rule, at) =>
            isEdited ? (
              <RuleFields
                key={at}
                rule={rule}
                columns={columns}
                isAdded={at === added}
                onChange={(part) => change(at, part)}
              >
                <Button
                  variant="subtle"
                  color="red"
                  size="compact-xs"
                  onClick={() => onChange(rules.filter((_, index) => index !== at))}
                >
                  Remove rule
                </Button>
              </RuleFields>
            ) : (
              <Switch
                key={at}
                label={
                  <bdi className={classes.code}>
                    {rule.column} = {rule.claim}
                  </bdi>
                }
                aria-label={`${rule.column} = ${rule.claim} of ${entity}`}
                checked={rule.enabled}
                onChange={(event) => change(at, { enabled: event.currentTarget.checked })}
              />
            ),
          )}
          {isEdited && (
            <Group>
              <Button
                variant="default"
                size="compact-xs"
                onClick={() => {
                  setAdded(rules.length);
                  onChange([...rules, { column: columns[0] ?? '', claim: '', enabled: true }]);
                }}
              >
                Add rule
              </Button>
            </Group>
          )}
        </Stack>
      </Table.Td>
      <Table.Td style={{ verticalAlign: 'top' }}>
        <Button
          variant="subtle"
          size="compact-xs"
          onClick={onEdit}
          aria-expanded={isEdited}
          aria-label={`${isEdited ? 'Done with' : 'Edit'} rules of ${entity}`}
        >
          {isEdited ? 'Done' : 'Edit'}
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}

interface RuleFieldsProps {
  readonly rule: RowRule;
  readonly columns: readonly string[];
  /** Whether it was just added to the draft. */
  readonly isAdded: boolean;
  readonly onChange: (part: Partial<RowRule>) => void;
  readonly children: React.ReactNode;
}

function RuleFields({ rule, columns, isAdded, onChange, children }: RuleFieldsProps) {
  const column = useFocusWhenAdded(isAdded);
  return (
    <Group gap="xs" align="center">
      <Autocomplete
        ref={column}
        aria-label="Column"
        placeholder="Column"
        data={[...columns]}
        value={rule.column}
        onChange={(column) => onChange({ column })}
        size="xs"
        limit={50}
      />
      <span aria-hidden="true">=</span>
      <TextInput
        aria-label="Claim"
        placeholder="Claim, such as customer_id"
        value={rule.claim}
        onChange={(event) => onChange({ claim: event.currentTarget.value })}
      />
      <Switch
        aria-label="RowRule is on"
        checked={rule.enabled}
        onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
      />
      {children}
    </Group>
  );
}
