// Screen of one record: form, relations in both directions, and JSON. `new` in place of the id creates one.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useLocation, useParams } from '@tanstack/react-router';
import { getAll, parseSearch } from '../../address.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { fetchRecord } from '../../records/requests.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useMayWrite, useViewAs } from '../../shell/permissions.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { MissingEntityAlert, useEntity } from '../../shell/use-entity.tsx';
import { RecordForm, type RecordFormProps } from './form.tsx';
import { RecordView } from './record-view.tsx';

export function Screen() {
  const {
    entity: name = '',
    id = '',
    ...place
  } = useParams({ strict: false }) as WorkspaceRef & {
    readonly entity?: string;
    readonly id?: string;
  };
  const { schema, entity, isGone } = useEntity(place, name);
  if (schema.data === undefined || entity === undefined)
    return (
      <ScreenFrame title={`${name} ${id}`}>
        <ErrorAlert error={schema.error} />
        {schema.data !== undefined && <Text>There is no entity of this name.</Text>}
      </ScreenFrame>
    );
  const entityRef = { org: place.org, ws: place.ws, entity: name };
  return (
    <>
      {isGone && <MissingEntityAlert />}
      {id === 'new' ? (
        <New key={name} entityRef={entityRef} entity={entity} />
      ) : (
        <RecordView key={`${name}/${id}`} entityRef={entityRef} entity={entity} id={id} />
      )}
    </>
  );
}

type NewProps = Pick<RecordFormProps, 'entityRef' | 'entity'>;

/** Form for a new record; `?from=17` copies the values of another one. */
function New({ entityRef, entity }: NewProps) {
  const mayWrite = useMayWrite();
  const isViewing = useViewAs() !== undefined;
  const { searchStr } = useLocation();
  const [from] = getAll(parseSearch(searchStr), 'from');
  const original = useQuery({
    queryKey: ['record', entityRef.org, entityRef.ws, entityRef.entity, from, 'copied'],
    enabled: from !== undefined,
    queryFn: ({ signal }) => fetchRecord(entityRef, from ?? '', ['*'], signal),
  });
  return (
    <ScreenFrame title={`New record of ${entityRef.entity}`}>
      <ErrorAlert error={original.error} />
      {!mayWrite && (
        <Text size="sm">
          {isViewing
            ? 'Records cannot be created while you view as a user.'
            : 'This needs a key with write permission.'}
        </Text>
      )}
      {mayWrite && (from === undefined || original.data !== undefined) && (
        <RecordForm entityRef={entityRef} entity={entity} from={original.data?.record} />
      )}
    </ScreenFrame>
  );
}
