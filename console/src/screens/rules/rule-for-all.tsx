// Form for one rule on every entity that has a column, such as `customerId`.
import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { listSharedColumns, type RulesByEntity } from '../../access/rules.ts';
import type { WorkspaceSchema } from '../../api/schema.ts';
import type { RowRule } from '../../api/types.ts';
import { pluralize } from '../../format/amount.ts';

export interface RuleForAllProps {
  readonly schema: WorkspaceSchema;
  /** Rules of the draft, or those in force. */
  readonly getRules: (entity: string) => readonly RowRule[];
  readonly onAdd: (rules: RulesByEntity) => void;
}

export function RuleForAll({ schema, getRules, onAdd }: RuleForAllProps) {
  const shared = listSharedColumns([...schema.entities.values()]);
  const [chosen, setChosen] = useState<string>();
  const [claim, setClaim] = useState('');
  const column = shared.find(({ name }) => name === chosen) ?? shared[0];
  if (column === undefined) return null;
  const missing = column.entities.filter(
    (entity) => !getRules(entity).some((rule) => rule.column === column.name && rule.claim === claim.trim()),
  );
  return (
    <form
      aria-label="A rule on every entity with a column"
      onSubmit={(event) => {
        event.preventDefault();
        const rule = { column: column.name, claim: claim.trim(), enabled: true };
        onAdd(new Map(missing.map((entity) => [entity, [...getRules(entity), rule]])));
        setClaim('');
      }}
    >
      <Group gap="xs" align="end">
        <NativeSelect
          label="A rule on every entity with"
          data={shared.map(({ name, entities }) => ({
            value: name,
            label: `${name} (${pluralize(entities.length, 'entity', 'entities')})`,
          }))}
          value={column.name}
          onChange={({ currentTarget: { value } }) => setChosen(value)}
        />
        <TextInput
          label="equals the claim"
          placeholder="customer_id"
          value={claim}
          onChange={({ currentTarget: { value } }) => setClaim(value)}
          spellCheck={false}
        />
        <Button type="submit" variant="default" disabled={claim.trim() === '' || missing.length === 0}>
          Add to {pluralize(missing.length, 'entity', 'entities')}
        </Button>
      </Group>
    </form>
  );
}
