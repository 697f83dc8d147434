// Form for the parameters of a list.
import { Button, Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { EntityDocument } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { COUNT_MODES } from '../../records/request-tables.generated.ts';
import { RequestForm, useRun } from './request-result.tsx';

/** Typed parameters. */
interface Parameters {
  readonly filter: string;
  readonly sort: string;
  readonly expand: string;
  readonly fields: string;
  readonly size: string;
  readonly count: string;
}

const NOTHING: Parameters = { filter: '', sort: '', expand: '', fields: '', size: '20', count: 'exact' };

export function ListForm({ workspace, entity }: { readonly workspace: WorkspaceRef; readonly entity: EntityDocument }) {
  const [typed, setTyped] = useState(NOTHING);
  const query = Object.entries(typed)
    .filter(([name, value]) => value.trim() !== '' && value !== NOTHING[name as keyof Parameters])
    .map(([name, value]): [string, string] => [name, value.trim()]);
  const run = useRun({ workspace, entity: entity.name, method: 'GET', rest: '', query });
  const field = (name: keyof Parameters, placeholder: string) => (
    <TextInput
      label={name}
      placeholder={placeholder}
      value={typed[name]}
      onChange={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })}
      spellCheck={false}
    />
  );
  const [first = 'id'] = entity.fields.keys();
  const [relation = ''] = entity.relations.keys();
  return (
    <RequestForm run={run}>
      {field('filter', `${first},eq,…`)}
      {field('sort', `${first},desc`)}
      {field('expand', relation)}
      {field('fields', `id,${first}`)}
      <Group grow align="end">
        {field('size', '20')}
        <Select
          label="count"
          data={COUNT_MODES}
          value={typed.count}
          allowDeselect={false}
          onChange={(count) => setTyped({ ...typed, count: count ?? 'exact' })}
        />
        <Button type="submit" loading={run.isPending}>
          Run
        </Button>
      </Group>
    </RequestForm>
  );
}
