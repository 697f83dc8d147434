// Screen of a version of a shared schema: its steps, the difference to another version, and its document.
import { NativeSelect, Stack, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { Json } from '../../api/json.ts';
import { DifferenceView } from '../../schema/difference-view.tsx';
import classes from '../../schema/schema.module.css';
import { type Format, printText } from '../../schema/text.ts';
import {
  type SharedSchemaRef,
  schemaPath,
  sharedSchemaQuery,
  versionQuery,
} from '../../shared-schemas/shared-schemas-api.ts';
import { Trail, useSharedSchema } from '../../shared-schemas/trail.tsx';
import { VersionSteps } from '../../shared-schemas/version-steps.tsx';
import { CopyReadAs } from '../../shell/copy-as.tsx';
import { DateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { useAddress } from '../../shell/use-address.ts';

const FORMAT: Format = 'yaml';

export function Screen() {
  const schema = useSharedSchema();
  const { version = '' } = useParams({ strict: false }) as { readonly version?: string };
  const { read, write } = useAddress();
  const { data, error, refetch } = useQuery(versionQuery(schema, version));
  return (
    <>
      <Trail {...schema} here={`Version ${version}`} />
      <ScreenFrame
        title={`Version ${version} of ${schema.name}`}
        actions={<CopyReadAs path={schemaPath(schema, `/versions/${version}`)} />}
      >
        <ErrorAlert error={error} onRetry={() => void refetch()} />
        {data !== undefined && (
          <>
            <Text size="sm" c="dimmed" mb="sm">
              Published <DateTime instant={data.createdAt} />
            </Text>
            <Tabs
              value={read('tab') ?? 'steps'}
              onChange={(tab) => write({ tab: tab === 'steps' ? undefined : (tab ?? undefined) }, false)}
            >
              <Tabs.List mb="sm">
                <Tabs.Tab value="steps">Steps</Tabs.Tab>
                <Tabs.Tab value="difference">Difference</Tabs.Tab>
                <Tabs.Tab value="document">Document</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="steps">
                <VersionSteps label="Steps" steps={data.steps} />
              </Tabs.Panel>
              <Tabs.Panel value="difference">
                <Difference schema={schema} version={Number(version)} document={data.schema} />
              </Tabs.Panel>
              <Tabs.Panel value="document">
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by the keyboard (WCAG 2.1.1) */}
                <section className={classes.difference} aria-label="Document" tabIndex={0}>
                  <div style={{ whiteSpace: 'pre' }}>{printText(FORMAT, data.schema)}</div>
                </section>
              </Tabs.Panel>
            </Tabs>
          </>
        )}
      </ScreenFrame>
    </>
  );
}

interface DifferenceProps {
  readonly schema: SharedSchemaRef;
  readonly version: number;
  readonly document: Json;
}

function Difference({ schema, version, document }: DifferenceProps) {
  const { read, write } = useAddress();
  const { data: shared } = useQuery(sharedSchemaQuery(schema));
  const against = Number(read('against') ?? version - 1);
  const { data, error, refetch } = useQuery({ ...versionQuery(schema, against), enabled: against > 0 });
  const others = Array.from({ length: shared?.newest ?? version }, (_, index) => index + 1);
  const label = `Difference of version ${against} and version ${version}`;
  return (
    <Stack gap="xs">
      {version > 1 || read('against') !== undefined ? (
        <NativeSelect
          label="Compared with version"
          maw={200}
          value={String(against)}
          data={others.filter((one) => one !== version).map(String)}
          onChange={({ currentTarget: { value } }) =>
            write({ against: Number(value) === version - 1 ? undefined : value })
          }
        />
      ) : (
        <Text size="sm">This is the first version.</Text>
      )}
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {against === 0 && <DifferenceView before={{ entities: {} }} after={document} format={FORMAT} label={label} />}
      {data !== undefined && against > 0 && (
        <DifferenceView before={data.schema} after={document} format={FORMAT} label={label} />
      )}
    </Stack>
  );
}
