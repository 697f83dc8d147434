// Import of a file into an existing entity: a field for each column, and the action for existing records.
import { Autocomplete, Group, Select, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type EntityDocument, schemaQuery, type WorkspaceSchema } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { listBelongsTo } from '../../records/fields.ts';
import {
  type Formats,
  guessMapping,
  type Mapping,
  NO_FORMATS,
  printFormats,
  printMapParameter,
} from '../../transfer/mapping.ts';
import type { ImportFile } from '../../transfer/sample.ts';
import { SampleTable } from './sample-table.tsx';
import { UploadForm } from './upload-form.tsx';

const CONFLICTS = [
  { value: 'fail', label: 'Reject the file' },
  { value: 'skip', label: 'Skip them' },
  { value: 'update', label: 'Update them' },
];

/** Lists the columns that a file may fill. */
function listImportColumns({ fields, relations, timestamps }: EntityDocument): readonly string[] {
  const stored = [...relations.values()].flatMap(({ column }) => (column === undefined ? [] : [column]));
  return ['id', ...fields.keys(), ...stored, ...(timestamps ? ['createdAt', 'updatedAt'] : [])];
}

/** Lists the unique fields by which a reference is looked up, such as `customer.email`. */
const listLookUps = ({ entities }: WorkspaceSchema, entity: EntityDocument): readonly string[] =>
  listBelongsTo(entity).flatMap(({ name, entity: target }) =>
    [...(entities.get(target)?.fields.values() ?? [])]
      .filter(({ unique }) => unique === true)
      .map((field) => `${name}.${field.name}`),
  );

export interface IntoEntityProps {
  readonly workspace: WorkspaceRef;
  readonly entity: EntityDocument;
  readonly chosen: ImportFile;
}

export function IntoEntity(props: IntoEntityProps) {
  const { data } = useQuery(schemaQuery(props.workspace));
  return data === undefined ? null : <ImportForm {...props} lookUps={listLookUps(data, props.entity)} />;
}

function ImportForm({ workspace, entity, chosen, lookUps }: IntoEntityProps & { readonly lookUps: readonly string[] }) {
  const columns = listImportColumns(entity);
  const { headers } = chosen.sample;
  const [mapping, setMapping] = useState<Mapping>(() => guessMapping(headers, [...columns, ...lookUps]));
  const [formats, setFormats] = useState(NO_FORMATS);
  const [conflict, setConflict] = useState('fail');
  const [by, setBy] = useState('id');
  const mapped = new Set(mapping.values());
  const keys = [
    'id',
    ...[...entity.fields.values()].filter(({ unique }) => unique === true).map(({ name }) => name),
  ].filter((name) => mapped.has(name));
  const foundBy = keys.includes(by) ? by : keys[0];
  return (
    <Stack>
      <Title order={2}>Columns</Title>
      <SampleTable
        sample={chosen.sample}
        control={(header) => (
          <Select
            aria-label={`Field for ${header}`}
            searchable
            clearable
            allowDeselect={false}
            placeholder="skipped"
            data={[
              { group: 'Fields', items: [...columns] },
              ...(lookUps.length === 0 ? [] : [{ group: 'Find the related record by', items: [...lookUps] }]),
            ]}
            value={mapping.get(header) ?? null}
            onChange={(field) =>
              setMapping(
                new Map([...mapping].map(([one, to]) => [one, one === header ? field : to === field ? null : to])),
              )
            }
          />
        )}
      />
      {chosen.sample.kind === 'csv' && <FormatFields value={formats} onChange={setFormats} />}
      <Select
        label="Existing records"
        maw={320}
        data={CONFLICTS}
        value={conflict}
        allowDeselect={false}
        onChange={(next) => setConflict(next ?? 'fail')}
      />
      {conflict !== 'fail' && (
        <Select
          label="Match records by"
          maw={320}
          data={keys}
          value={foundBy ?? null}
          error={foundBy === undefined ? 'No column goes into the id or a unique field' : undefined}
          allowDeselect={false}
          onChange={(next) => setBy(next ?? 'id')}
        />
      )}
      <UploadForm
        key={chosen.number}
        workspace={workspace}
        entity={entity.name}
        chosen={chosen}
        parameters={{
          map: printMapParameter(mapping),
          formats: chosen.sample.kind === 'csv' ? printFormats(formats) : undefined,
          onConflict: conflict === 'fail' ? undefined : conflict,
          conflictOn: conflict === 'fail' || foundBy === 'id' ? undefined : foundBy,
        }}
        isReady={conflict === 'fail' || foundBy !== undefined}
      />
    </Stack>
  );
}

const FORMS: readonly (readonly [keyof Formats, string, string, readonly string[]])[] = [
  ['date', 'Dates', '2026-01-31', ['dd.MM.yyyy', 'dd/MM/yyyy', 'MM/dd/yyyy', 'd.M.yyyy']],
  ['decimal', 'Numbers, by the example of 1234.5', '1234.5', ['1.234,50', '1,234.50', '1 234,50', '1234,50']],
  ['boolean', 'True and false', 'true/false', ['yes/no', 'ja/nein', 'oui/non', '1/0']],
];

/** Inputs for the forms of dates, numbers and booleans in the file. */
function FormatFields({ value, onChange }: { readonly value: Formats; readonly onChange: (next: Formats) => void }) {
  return (
    <Group gap="sm" align="end" role="group" aria-label="Forms of values">
      {FORMS.map(([type, label, placeholder, examples]) => (
        <Autocomplete
          key={type}
          label={label}
          placeholder={placeholder}
          data={[...examples]}
          value={value[type]}
          onChange={(next) => onChange({ ...value, [type]: next })}
          // Every example is listed, whatever is typed.
          filter={({ options }) => options}
          size="xs"
          w={220}
          spellCheck={false}
        />
      ))}
    </Group>
  );
}
