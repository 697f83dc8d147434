// Related records in both directions, by one request.
import { Anchor, List, Paper, SimpleGrid, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { stringifySearch } from '../../address.ts';
import { requestExact } from '../../api/request.ts';
import { type EntityDocument, type RelationDocument, schemaQuery, type WorkspaceSchema } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import { recordScreenPath } from '../../records/cell-value.tsx';
import { getKeyColumn } from '../../records/fields.ts';
import { findRecordLabel, getLabel, listLabelPaths } from '../../records/record-label.ts';
import { type EntityRef, entityPath } from '../../records/requests.ts';
import { getId, getMember, type RecordValue } from '../../records/value.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';

// Number of listed records; a link leads to all of them.
const SHOWN = 10;
const MOST_RELATIONS = 30;

export interface RelationsProps {
  readonly entityRef: EntityRef;
  readonly entity: EntityDocument;
  readonly record: RecordValue;
}

const isToMany = ({ kind }: RelationDocument): boolean => kind === 'hasMany' || kind === 'manyToMany';

function useRelated({ entityRef, entity, record }: RelationsProps, schema: WorkspaceSchema | undefined) {
  const relations = [...entity.relations.values()].slice(0, MOST_RELATIONS);
  const id = getId(record);
  const sizes = relations.filter(isToMany).map(({ name }): [string, string] => [`${name}.size`, String(SHOWN + 1)]);
  const fields = relations.flatMap(({ name, entity: target }) => [
    `${name}.id`,
    ...listLabelPaths(getLabel(schema?.entities.get(target)), name),
  ]);
  const search = stringifySearch({
    expand: relations.map(({ name }) => name).join(),
    fields: ['id', ...fields].join(),
    ...Object.fromEntries(sizes),
  });
  return useQuery({
    queryKey: ['record', entityRef.org, entityRef.ws, entityRef.entity, id, 'related', search],
    enabled: schema !== undefined && relations.length > 0,
    queryFn: async ({ signal }) =>
      (await requestExact<RecordValue>({ path: entityPath(entityRef, `/${id}${search}`), signal })).data,
  });
}

export function Relations(props: RelationsProps) {
  const { entityRef, entity, record } = props;
  const { data: schema } = useQuery(schemaQuery(entityRef));
  const related = useRelated(props, schema);
  if (entity.relations.size === 0) return <Text size="sm">This entity has no relations.</Text>;
  return (
    <>
      <ErrorAlert error={related.error} onRetry={() => void related.refetch()} />
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {[...entity.relations.values()].slice(0, MOST_RELATIONS).map((relation) => (
          <RelationCard
            key={relation.name}
            entityRef={entityRef}
            record={record}
            relation={relation}
            schema={schema}
            value={related.data === undefined ? undefined : getMember(related.data, relation.name)}
          />
        ))}
      </SimpleGrid>
    </>
  );
}

interface RelationCardProps {
  readonly entityRef: EntityRef;
  readonly record: RecordValue;
  readonly relation: RelationDocument;
  readonly schema: WorkspaceSchema | undefined;
  readonly value: unknown;
}

function RelationCard({ entityRef, record, relation, schema, value }: RelationCardProps) {
  const target = schema?.entities.get(relation.entity);
  const label = getLabel(target);
  const records = (
    Array.isArray(value) ? value : value === null || value === undefined ? [] : [value]
  ) as readonly RecordValue[];
  const inverse = relation.inverse === undefined ? undefined : target?.relations.get(relation.inverse);
  const filter = inverse?.kind === 'belongsTo' ? `${getKeyColumn(inverse)},eq,${getId(record)}` : undefined;
  const getName = (one: RecordValue): string => findRecordLabel(one, label) ?? `${relation.entity} ${getId(one)}`;
  return (
    <Paper withBorder p="sm" component="section" aria-label={relation.name}>
      <Title order={2} mb={4}>
        <bdi>{relation.name}</bdi>
      </Title>
      {value === null || (Array.isArray(value) && value.length === 0) ? (
        <Text size="sm" c="dimmed">
          None
        </Text>
      ) : (
        <List listStyleType="none" size="sm" spacing={2}>
          {records.slice(0, SHOWN).map((one) => (
            <List.Item key={getId(one)}>
              <Anchor component={Link} size="sm" to={recordScreenPath(entityRef, relation.entity, getId(one))}>
                <bdi dir="auto">{getName(one)}</bdi>
              </Anchor>
            </List.Item>
          ))}
        </List>
      )}
      {isToMany(relation) && records.length > SHOWN && <Text size="xs">and more</Text>}
      {isToMany(relation) && filter !== undefined && (
        <Anchor
          component={Link}
          size="xs"
          to={screenPath(entityRef, `/data/${relation.entity}`)}
          search={{ filter } as never}
        >
          Show all in the grid
        </Anchor>
      )}
    </Paper>
  );
}
