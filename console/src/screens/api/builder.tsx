// Form for a request of any operation of the entity, which sends it and displays the response with its headers.
import { Group, NativeSelect, Paper, Title } from '@mantine/core';
import { useState } from 'react';
import { type Endpoint, listEndpoints } from '../../api/endpoints.ts';
import type { EntityDocument } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { useViewAs } from '../../shell/permissions.ts';
import { ListForm } from './list-form.tsx';
import { OperationForm } from './operation-form.tsx';

/** Operations with a screen of their own: a file is chosen there. */
const ELSEWHERE = new Set(['import']);

export function Builder({ workspace, entity }: { readonly workspace: WorkspaceRef; readonly entity: EntityDocument }) {
  const isViewing = useViewAs() !== undefined;
  const endpoints = listEndpoints(entity.operations).filter(
    ({ operation, method }) => !ELSEWHERE.has(operation) && (!isViewing || method === 'GET' || operation === 'query'),
  );
  const [chosen, setChosen] = useState('list');
  const endpoint = endpoints.find(({ operation }) => operation === chosen) ?? endpoints[0];
  if (endpoint === undefined) return null;
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" mb="xs" align="end">
        <Title order={2}>Try it</Title>
        <NativeSelect
          label="Operation"
          data={endpoints.map((one) => ({ value: one.operation, label: formatEndpoint(one, entity.name) }))}
          value={endpoint.operation}
          onChange={({ currentTarget: { value } }) => setChosen(value)}
        />
      </Group>
      {endpoint.operation === 'list' ? (
        <ListForm workspace={workspace} entity={entity} />
      ) : (
        <OperationForm key={endpoint.operation} workspace={workspace} entity={entity} endpoint={endpoint} />
      )}
    </Paper>
  );
}

const formatEndpoint = ({ method, rest }: Endpoint, entity: string): string => `${method} /${entity}${rest}`;
