// API of an entity: its endpoints, a request to try, and the same request for other tools.
import { Anchor, Code, Group, Paper, Select, SimpleGrid, Tabs, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { listEndpoints } from '../../api/endpoints.ts';
import { CONSOLE_API } from '../../api/request.ts';
import { schemaQuery } from '../../api/schema.ts';
import { dataPath, screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { DataTable } from '../../shell/data-table.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useMayAdminister } from '../../shell/permissions.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { Builder } from './builder.tsx';
import { ForAgents } from './for-agents.tsx';

export function Screen() {
  const { entity: name = '', ...place } = useParams({ strict: false }) as WorkspaceRef & { readonly entity?: string };
  const navigate = useNavigate();
  const mayAdminister = useMayAdminister();
  const schema = useQuery(schemaQuery(place));
  const entity = schema.data?.entities.get(name);
  const names = [...(schema.data?.entities.keys() ?? [])];
  const choice = (
    <Select
      aria-label="Entity"
      searchable
      data={names}
      value={name}
      allowDeselect={false}
      onChange={(next) => next !== null && void navigate({ to: screenPath(place, `/api/${next}`) })}
    />
  );
  return (
    <ScreenFrame title={`API of ${name}`} actions={choice}>
      <ErrorAlert error={schema.error} />
      {schema.data !== undefined && entity === undefined && (
        <Text>There is no entity of this name. Choose one above.</Text>
      )}
      {entity !== undefined && (
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
          <div>
            <Title order={2} mb="xs">
              Endpoints
            </Title>
            <DataTable
              label="Endpoints"
              rows={listEndpoints(entity.operations)}
              rowKey={({ operation }) => operation}
              hasHead={false}
              columns={[
                { title: 'Method', cell: ({ method }) => <Code>{method}</Code> },
                {
                  title: 'Path',
                  cell: ({ rest, description }) => (
                    <>
                      <Code>{`/${name}${rest}`}</Code>
                      <Text size="xs" c="dimmed">
                        {description}
                      </Text>
                    </>
                  ),
                },
              ]}
            />
            <Text size="xs" c="dimmed" mt="xs">
              All of them below <Code>{`/api/v1/${place.org}/${place.ws}`}</Code>
            </Text>
            <Fields entity={entity} />
            <Paper withBorder p="sm" mt="md">
              <Title order={2} mb={4}>
                For programs
              </Title>
              <Group gap="md">
                <Anchor
                  size="sm"
                  href={`${CONSOLE_API}${dataPath(place, '/_openapi.json?selection=fixed')}`}
                  download={`${place.ws}.openapi.json`}
                >
                  OpenAPI 3.1 document
                </Anchor>
                {mayAdminister && (
                  <Anchor size="sm" component={Link} to={screenPath(place, '/access/keys')}>
                    Create API key
                  </Anchor>
                )}
              </Group>
            </Paper>
            <ForAgents workspace={place} entity={name} />
          </div>
          <Builder key={name} workspace={place} entity={entity} />
        </SimpleGrid>
      )}
    </ScreenFrame>
  );
}

interface FieldsProps {
  readonly entity: {
    readonly timestamps: boolean;
    readonly fields: ReadonlyMap<string, { readonly type: string }>;
    readonly relations: ReadonlyMap<string, { readonly kind: string; readonly entity: string }>;
  };
}

const STAMPS = [
  ['createdAt', 'datetime'],
  ['updatedAt', 'datetime'],
] as const;

function Fields({ entity }: FieldsProps) {
  const fields = [
    ['id', 'bigint'],
    ...[...entity.fields].map(([name, { type }]) => [name, type] as const),
    ...(entity.timestamps ? STAMPS : []),
  ] as const;
  return (
    <Tabs defaultValue="fields" mt="md">
      <Tabs.List>
        <Tabs.Tab value="fields">Fields</Tabs.Tab>
        <Tabs.Tab value="relations">Relations</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="fields">
        <DataTable
          label="Fields"
          rows={fields}
          rowKey={([name]) => name}
          hasHead={false}
          spacing={2}
          columns={[
            { title: 'Field', cell: ([name]) => <Code>{name}</Code> },
            { title: 'Type', cell: ([, type]) => type },
          ]}
        />
      </Tabs.Panel>
      <Tabs.Panel value="relations">
        <DataTable
          label="Relations"
          rows={[...entity.relations]}
          rowKey={([name]) => name}
          hasHead={false}
          spacing={2}
          columns={[
            { title: 'Relation', cell: ([name]) => <Code>{name}</Code> },
            { title: 'Kind', cell: ([, { kind }]) => kind },
            { title: 'Entity', cell: ([, relation]) => relation.entity },
          ]}
        />
      </Tabs.Panel>
    </Tabs>
  );
}
