// Records that refer to those that are about to be deleted: what prevents it, and what goes or changes with it.
import { Anchor, List, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { stringifySearch } from '../address.ts';
import { isApiError } from '../api/api-error.ts';
import { Digits } from '../api/json.ts';
import { requestExact } from '../api/request.ts';
import type { WorkspaceSchema } from '../api/schema.ts';
import { screenPath } from '../api/workspace.ts';
import { formatCount } from '../format/amount.ts';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { getKeyColumn } from './fields.ts';
import { type EntityRef, entityPath } from './requests.ts';
import type { RecordValue } from './value.ts';

// Most records whose referrers are counted: an address has a limit.
const MOST_COUNTED = 200;

/** Runs a delete as a trial that stores nothing; throws what it would be refused with. */
export function useDeleteTrial(entityRef: EntityRef, ids: readonly string[], isOn = true) {
  return useQuery({
    queryKey: ['delete trial', entityRef.org, entityRef.ws, entityRef.entity, ids],
    enabled: isOn,
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      requestExact({
        method: 'POST',
        path: entityPath(entityRef, '/_bulk/delete?dryRun=true'),
        body: { ids: ids.map((id) => new Digits(id)) },
        signal,
      }),
  });
}

/** Shows why records cannot be deleted; the list of what refers to them follows where that is the reason. */
export function TrialRefusal({ error, count }: { readonly error: unknown; readonly count: number }) {
  if (error === null) return null;
  const isReferred = isApiError(error) && error.details.some(({ code }) => code === 'STILL_REFERENCED');
  if (!isReferred) return <ErrorAlert error={error} />;
  return (
    <Text size="sm" role="alert">
      {count === 1 ? 'It cannot be deleted.' : 'They cannot be deleted, none of them.'} {error.message}
    </Text>
  );
}

interface Referrer {
  readonly entity: string;
  readonly column: string;
  readonly onDelete: unknown;
}

const listReferrers = (schema: WorkspaceSchema, name: string): readonly Referrer[] =>
  [...schema.entities.values()].flatMap((other) =>
    [...other.relations.values()]
      .filter(({ kind, entity }) => (kind ?? 'belongsTo') === 'belongsTo' && entity === name)
      .map((relation) => ({ entity: other.name, column: getKeyColumn(relation), onDelete: relation.onDelete })),
  );

export interface ReferrersProps {
  readonly entityRef: EntityRef;
  readonly schema: WorkspaceSchema;
  readonly ids: readonly string[];
  /** Whether the delete would be refused: only then records that prevent a delete are listed. */
  readonly isRefused: boolean;
}

export function Referrers({ entityRef, schema, ids, isRefused }: ReferrersProps) {
  const referrers = listReferrers(schema, entityRef.entity).filter(
    ({ onDelete }) => isRefused || onDelete === 'cascade' || onDelete === 'setNull',
  );
  if (referrers.length === 0) return null;
  return (
    <>
      <List size="sm" aria-label="Records that refer to it">
        {referrers.map((one) => (
          <ReferrerLine key={`${one.entity}.${one.column}`} entityRef={entityRef} ids={ids} {...one} />
        ))}
      </List>
      {ids.length > MOST_COUNTED && <Text size="xs">Counted for the first {MOST_COUNTED} records.</Text>}
    </>
  );
}

type ReferrerLineProps = Referrer & Pick<ReferrersProps, 'entityRef' | 'ids'>;

function ReferrerLine({ entityRef, ids, entity, column, onDelete }: ReferrerLineProps) {
  const filter = `${column},${ids.length === 1 ? 'eq' : 'in'},${ids.slice(0, MOST_COUNTED).join(',')}`;
  const { data } = useQuery({
    queryKey: ['referring', entityRef.org, entityRef.ws, entity, filter],
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const search = stringifySearch({ filter, size: '1', fields: 'id', expand: '' });
      const path = entityPath({ ...entityRef, entity }, search);
      return Number((await requestExact<readonly RecordValue[]>({ path, signal })).meta.totalElements);
    },
  });
  if (data === 0) return null;
  return (
    <List.Item>
      <Anchor component={Link} size="sm" to={screenPath(entityRef, `/data/${entity}`)} search={{ filter } as never}>
        {`${data === undefined ? '…' : formatCount(data)} ${entity}`}
      </Anchor>{' '}
      by {column} {describeEffect(column, onDelete)}
    </List.Item>
  );
}

function describeEffect(column: string, onDelete: unknown): string {
  if (onDelete === 'cascade') return 'are deleted with it';
  return onDelete === 'setNull' ? `stay: their ${column} becomes NULL` : 'prevent it';
}
