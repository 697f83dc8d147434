// A workspace at a glance: its entities with their size, and what to do first while it is empty.
import { Anchor, Badge, Button, Group, Paper, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { Rule } from '../../access/rules.ts';
import { rulesQuery } from '../../access/rules-api.ts';
import { providerQuery } from '../../api/identity-provider.ts';
import { migrationsQuery } from '../../api/migrations.ts';
import { schemaQuery } from '../../api/schema.ts';
import { statisticsQuery } from '../../api/statistics.ts';
import { adminPath, screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { formatBytes, formatCount } from '../../format/amount.ts';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { LastChange } from '../../shell/last-change.tsx';
import { useSearchableList } from '../../shell/pagination.tsx';
import { useMayAdminister } from '../../shell/permissions.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { workspaceOption } from '../../snippets/admin.ts';

export function Screen() {
  const place = useParams({ strict: false }) as WorkspaceRef;
  const schema = useQuery(schemaQuery(place));
  const isAdministrator = useMayAdminister();
  const statistics = useQuery({ ...statisticsQuery(place), enabled: isAdministrator });
  const rules = useQuery({ ...rulesQuery(place), enabled: isAdministrator });
  const entities = [...(schema.data?.entities.values() ?? [])];
  const { page, searchField, pageLinks } = useSearchableList(entities, ({ name }) => name);
  return (
    <ScreenFrame
      title={schema.data?.name ?? `${place.org}/${place.ws}`}
      actions={
        isAdministrator && (
          <CopyReadAs path={adminPath(place, '/statistics')} wda={`workspace statistics ${workspaceOption(place)}`} />
        )
      }
    >
      {schema.error !== null && schema.data === undefined ? (
        <NoAccess error={schema.error} />
      ) : (
        <ErrorAlert error={statistics.error} />
      )}
      {isAdministrator && schema.data !== undefined && <Summary place={place} />}
      {schema.data !== undefined && entities.length === 0 && (
        <FirstSteps place={place} isAdministrator={isAdministrator} />
      )}
      {entities.length > 0 && (
        <>
          {searchField}
          <Table.ScrollContainer minWidth={480} maw={900} type="native">
            <Table aria-label="Entities">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Entity</Table.Th>
                  <Table.Th ta="right">Fields</Table.Th>
                  {isAdministrator && <Table.Th>Row rules</Table.Th>}
                  {isAdministrator && <Table.Th ta="right">Records</Table.Th>}
                  {isAdministrator && <Table.Th ta="right">Size</Table.Th>}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {page.map(({ name, description, fields }) => {
                  const known = statistics.data?.get(name);
                  return (
                    <Table.Tr key={name}>
                      <Table.Td>
                        <Group gap="xs">
                          <Anchor component={Link} to={screenPath(place, `/data/${name}`)} size="sm">
                            <bdi>{name}</bdi>
                          </Anchor>
                          <Text size="xs" c="dimmed" truncate maw={360} dir="auto">
                            {description}
                          </Text>
                        </Group>
                      </Table.Td>
                      <Table.Td ta="right">{fields.size}</Table.Td>
                      {isAdministrator && <Table.Td>{describeRules(rules.data?.get(name))}</Table.Td>}
                      {isAdministrator && (
                        <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
                          {known && `${known.exact ? '' : '≈ '}${formatCount(known.records)}`}
                        </Table.Td>
                      )}
                      {isAdministrator && (
                        <Table.Td ta="right" style={{ whiteSpace: 'nowrap' }}>
                          {known && formatBytes(known.tableBytes + known.indexBytes)}
                        </Table.Td>
                      )}
                    </Table.Tr>
                  );
                })}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {pageLinks}
        </>
      )}
    </ScreenFrame>
  );
}

/** Whether rules narrow what external users see: nothing while it is not known. */
function describeRules(rules: readonly Rule[] | undefined): string {
  if (rules === undefined) return '';
  return rules.some(({ enabled }) => enabled) ? 'on' : rules.length > 0 ? 'off' : 'none';
}

/** What of the workspace is changed by administrators, in a line each with its way there. */
function Summary({ place }: { readonly place: WorkspaceRef }) {
  const provider = useQuery(providerQuery(place));
  const migrations = useQuery(migrationsQuery(place, 0, 1));
  const migration = migrations.data?.migrations[0];
  const stored = provider.data?.value;
  return (
    <Group gap="lg" mb="sm" style={{ rowGap: 2 }}>
      {provider.data !== undefined && (
        <Text size="sm" c="dimmed">
          Identity provider:{' '}
          <Anchor component={Link} to={screenPath(place, '/access/provider')} size="sm" underline="always">
            {stored === undefined ? 'none' : stored.enabled ? 'on' : 'off'}
          </Anchor>
        </Text>
      )}
      {migration !== undefined && (
        <Text size="sm" c="dimmed">
          Last migration:{' '}
          <Anchor component={Link} to={screenPath(place, `/migrations/${migration.id}`)} size="sm" underline="always">
            {migration.state}
          </Anchor>
          , <DateTime instant={migration.createdAt} />
        </Text>
      )}
      <LastChange place={place} />
    </Group>
  );
}

function NoAccess({ error }: { readonly error: unknown }) {
  return (
    <>
      <Text mb="xs">You have no access to this workspace, or it does not exist.</Text>
      <ErrorAlert error={error} />
      <Anchor component={Link} to="/" size="sm">
        Back to the start
      </Anchor>
    </>
  );
}

function FirstSteps({ place, isAdministrator }: { readonly place: WorkspaceRef; readonly isAdministrator: boolean }) {
  if (!isAdministrator) return <Badge color="gray">No entities yet</Badge>;
  return (
    <Paper withBorder p="lg" maw={560}>
      <Text mb="sm">This workspace has no entities yet. An entity is a table of records with an API of its own.</Text>
      <Group>
        <Button component={Link} to={screenPath(place, '/schema')} search={{ tab: 'document' } as never}>
          Write a schema
        </Button>
        <Button component={Link} to={screenPath(place, '/import')} variant="default">
          Import a file
        </Button>
        <Button component={Link} to={screenPath(place, '/access/keys')} variant="subtle">
          Create a key
        </Button>
        <Button component={Link} to={screenPath(place, '/access/provider')} variant="subtle">
          Connect an identity provider
        </Button>
      </Group>
    </Paper>
  );
}
