// Form of the settings of a webhook, with a sample of the body that its receiver gets.
import {
  ActionIcon,
  Button,
  Checkbox,
  Code,
  Fieldset,
  Group,
  MultiSelect,
  NativeSelect,
  ScrollArea,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { WhereForm } from '../../access/where-form.tsx';
import { fieldError, isApiError, isShownAtFields } from '../../api/api-error.ts';
import { prettyExact, stringifyExact } from '../../api/json.ts';
import { schemaQuery } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { listColumns } from '../../records/fields.ts';
import type { JsonObject } from '../../schema/json-value.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { Icon } from '../../shell/icon.tsx';
import { UnsavedChangesGuard } from '../../shell/unsaved-changes.tsx';
import { createAdminCall } from '../../snippets/admin.ts';
import { makeSample } from '../../webhooks/sample.ts';
import {
  type EventType,
  getOnlyEntity,
  type Header,
  NEW_WEBHOOK,
  selectChanges,
  TYPES,
  toBody,
  toSettings,
  type WebhookSettings,
} from '../../webhooks/settings.ts';
import type { Webhook } from '../../webhooks/webhooks-api.ts';

export interface SettingsFormProps {
  readonly workspace: WorkspaceRef;
  /** Webhook to change, or undefined for a new one. */
  readonly webhook?: Webhook;
  /** Sends the members that differ. */
  readonly onSave: (body: JsonObject) => Promise<void>;
}

const FIELDS = ['name', 'url', 'entities', 'types', 'fields', 'filter', 'previous', 'maxBatch', 'ordering', 'headers'];

export function SettingsForm({ workspace, webhook, onSave }: SettingsFormProps) {
  const schema = useQuery(schemaQuery(workspace));
  // Settings that the draft started from: a newer version must not be undone by a save.
  const [start, setStart] = useState(() => (webhook === undefined ? NEW_WEBHOOK : toSettings(webhook)));
  const [settings, setSettings] = useState(start);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const set = (change: Partial<WebhookSettings>): void => setSettings({ ...settings, ...change });
  const body = toBody(settings);
  const sent = webhook === undefined ? body : selectChanges(body, toBody(start));
  const isDirty = Object.keys(selectChanges(body, toBody(start))).length > 0;
  async function save(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      await onSave(sent);
      const stored = { ...settings, headers: Object.keys(body.headers ?? {}).map((name) => ({ name, value: null })) };
      setStart(stored);
      setSettings(stored);
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form
      aria-label={webhook === undefined ? 'New webhook' : 'Settings'}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Stack gap="sm">
          <TextInput
            label="Name"
            value={settings.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
            error={fieldError(error, 'name')}
            required
            dir="auto"
            autoComplete="off"
          />
          <TextInput
            label="URL"
            description="https, and http to private networks that the server allows"
            placeholder="https://erp.example.com/hooks/shop"
            value={settings.url}
            onChange={(event) => set({ url: event.currentTarget.value.trim() })}
            error={fieldError(error, 'url')}
            required
            autoComplete="off"
            spellCheck={false}
          />
          <EventFields settings={settings} set={set} error={error} workspace={workspace} />
          <SendingFields settings={settings} set={set} error={error} />
          <HeaderFields headers={settings.headers} onChange={(headers) => set({ headers })} error={error} />
          {!isShownAtFields(error, FIELDS) && <ErrorAlert error={error} />}
          <Group>
            <Button type="submit" loading={isBusy} disabled={webhook !== undefined && !isDirty}>
              {webhook === undefined ? 'Create webhook' : 'Save'}
            </Button>
            <CopyAs
              label={webhook === undefined ? 'Copy as' : 'Copy change as'}
              call={() =>
                createAdminCall(
                  { origin: location.origin, ...workspace },
                  {
                    method: webhook === undefined ? 'POST' : 'PUT',
                    rest: webhook === undefined ? '/webhooks' : `/webhooks/${webhook.id}`,
                    body: stringifyExact(sent),
                  },
                )
              }
            />
          </Group>
        </Stack>
        <div>
          <Title order={2} mb="xs">
            Sample of a message
          </Title>
          <Sample text={sampleText(settings, schema.data)} />
        </div>
      </SimpleGrid>
      <UnsavedChangesGuard isDirty={isDirty && !isBusy} />
    </form>
  );
}

function sampleText(
  settings: WebhookSettings,
  schema: Parameters<typeof makeSample>[1] | undefined,
): string | undefined {
  const sample = schema === undefined ? undefined : makeSample(settings, schema);
  return sample === undefined ? undefined : prettyExact(sample);
}

function Sample({ text }: { readonly text: string | undefined }): ReactNode {
  if (text === undefined)
    return <Text size="sm">No entity keeps its changes yet: see its settings in the schema.</Text>;
  return (
    <>
      <ScrollArea.Autosize
        mah={520}
        viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Sample of a message' }}
      >
        <Code block dir="ltr">
          {text}
        </Code>
      </ScrollArea.Autosize>
      <Text size="xs" c="dimmed" mt="xs">
        A POST with the headers webhook-id, webhook-timestamp, webhook-attempt and webhook-signature (Standard
        Webhooks).
      </Text>
    </>
  );
}

interface PartProps {
  readonly settings: WebhookSettings;
  readonly set: (change: Partial<WebhookSettings>) => void;
  readonly error: unknown;
}

const TYPE_LABELS: Readonly<Record<EventType, string>> = {
  created: 'created',
  updated: 'updated',
  removed: 'removed',
  schema: 'schema: its definition changed',
};

function EventFields({ settings, set, error, workspace }: PartProps & { readonly workspace: WorkspaceRef }) {
  const schema = useQuery(schemaQuery(workspace));
  const name = getOnlyEntity(settings);
  const entity = schema.data?.entities.get(name ?? '');
  const names = [...(schema.data?.entities.values() ?? [])].flatMap(({ name, operations }) =>
    operations.includes('changes') || settings.entities?.includes(name) === true ? [name] : [],
  );
  return (
    <>
      <MultiSelect
        label="Entities"
        description="Leave empty for all that keep their changes, including future ones"
        placeholder={settings.entities === null ? 'All' : ''}
        data={names}
        value={[...(settings.entities ?? [])]}
        onChange={(next) => set({ entities: next.length === 0 ? null : next })}
        searchable
        limit={50}
        size="xs"
        error={fieldError(error, 'entities')}
      />
      <Checkbox.Group
        label="Events"
        value={[...settings.types]}
        onChange={(next) => set({ types: TYPES.filter((type) => next.includes(type)) })}
        error={fieldError(error, 'types')}
        size="xs"
      >
        <Group gap="md" mt={4}>
          {TYPES.map((type) => (
            <Checkbox key={type} value={type} label={TYPE_LABELS[type]} />
          ))}
        </Group>
      </Checkbox.Group>
      {entity === undefined || schema.data === undefined ? (
        <Text size="xs" c="dimmed">
          A webhook of one entity may have a filter and a selection of fields.
        </Text>
      ) : (
        <>
          <Fieldset legend="Filter" p="xs">
            <WhereForm
              context={{
                schema: schema.data,
                entity,
                claims: [],
                isFilter: true,
                errorAt: (path) => fieldError(error, path),
                errorJustAt: (path) => errorJustAt(error, path),
              }}
              path="filter"
              node={settings.filter}
              onChange={(filter) => set({ filter })}
            />
          </Fieldset>
          <MultiSelect
            label="Fields"
            description="Leave empty for those that a list shows"
            data={listColumns(entity).map((column) => column.name)}
            value={[...(settings.fields ?? [])]}
            onChange={(next) => set({ fields: next.length === 0 ? null : next })}
            searchable
            limit={100}
            size="xs"
            error={fieldError(error, 'fields')}
          />
        </>
      )}
      <Switch
        label="With the values before each change"
        checked={settings.previous}
        onChange={(event) => set({ previous: event.currentTarget.checked })}
      />
    </>
  );
}

function errorJustAt(error: unknown, path: string): string | undefined {
  return isApiError(error) ? error.details.find(({ field }) => field === path)?.message : undefined;
}

const SendingFields = ({ settings, set, error }: PartProps) => (
  <Group grow align="start">
    <TextInput
      label="Events in a message"
      description="1 to 100; above 1 a message has a list"
      inputMode="numeric"
      value={settings.maxBatch}
      onChange={(event) => set({ maxBatch: event.currentTarget.value.trim() })}
      error={fieldError(error, 'maxBatch')}
    />
    <NativeSelect
      label="Order"
      description="What happens after a message that fails"
      size="xs"
      value={settings.ordering}
      data={[
        { value: 'relaxed', label: 'relaxed: it is set aside in time' },
        { value: 'strict', label: 'strict: nothing is sent after it' },
      ]}
      onChange={(event) => set({ ordering: event.currentTarget.value as WebhookSettings['ordering'] })}
      error={fieldError(error, 'ordering')}
    />
  </Group>
);

interface HeaderFieldsProps {
  readonly headers: readonly Header[];
  readonly onChange: (headers: readonly Header[]) => void;
  readonly error: unknown;
}

function HeaderFields({ headers, onChange, error }: HeaderFieldsProps) {
  const message = fieldError(error, 'headers');
  return (
    <Fieldset legend="Headers" p="xs">
      <Stack gap={6}>
        {headers.map(({ name, value }, at) => (
          <Group key={at} gap={6} wrap="nowrap">
            <TextInput
              aria-label={`Name of header ${at + 1}`}
              placeholder="Authorization"
              value={name}
              onChange={(event) => onChange(headers.with(at, { name: event.currentTarget.value.trim(), value }))}
              flex={1}
              spellCheck={false}
            />
            <TextInput
              aria-label={`Value of header ${at + 1}`}
              placeholder={value === null ? 'Stored, not shown' : ''}
              value={value ?? ''}
              onChange={(event) => onChange(headers.with(at, { name, value: event.currentTarget.value }))}
              flex={2}
              autoComplete="off"
              spellCheck={false}
            />
            <ActionIcon
              aria-label={`Remove header ${name}`.trim()}
              color="gray"
              onClick={() => onChange(headers.filter((_, place) => place !== at))}
            >
              <Icon name="close" />
            </ActionIcon>
          </Group>
        ))}
        {message !== undefined && (
          <Text size="xs" c="red" role="alert">
            {message}
          </Text>
        )}
        <div>
          <Button
            variant="default"
            size="compact-xs"
            onClick={() => onChange([...headers, { name: '', value: '' }])}
            disabled={headers.length >= 20}
          >
            Add header
          </Button>
        </div>
      </Stack>
    </Fieldset>
  );
}
