// Screen with the records of an entity. The address bar holds its filters, sort, columns, labels and page.
import { Anchor, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { screenPath } from '../../api/workspace.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { MissingEntityAlert, useEntity } from '../../shell/use-entity.tsx';
import { RecordsView } from './records-view.tsx';

export function Screen() {
  const { org, ws, entity } = useParams({ strict: false }) as Record<'org' | 'ws' | 'entity', string>;
  const { schema, entity: document, isGone } = useEntity({ org, ws }, entity);
  if (schema.data === undefined)
    return (
      <ScreenFrame title={entity}>
        <ErrorAlert error={schema.error} onRetry={() => void schema.refetch()} />
      </ScreenFrame>
    );
  if (document === undefined)
    return (
      <ScreenFrame title={entity}>
        <Text>
          The workspace has no entity of this name.{' '}
          <Anchor component={Link} to={screenPath({ org, ws })}>
            Entities
          </Anchor>
        </Text>
      </ScreenFrame>
    );
  return (
    <>
      {isGone && <MissingEntityAlert />}
      <RecordsView key={`${org}/${ws}/${entity}`} org={org} ws={ws} schema={schema.data} entity={document} />
    </>
  );
}
