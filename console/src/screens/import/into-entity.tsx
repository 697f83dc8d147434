// Import of a file into an existing entity: a field for each column, and the action for existing records.
import { Select, Stack, Title } from '@mantine/core';
import { useState } from 'react';
import type { EntityDocument } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { guessMapping, type Mapping, printMapParameter } from '../../transfer/mapping.ts';
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

export interface IntoEntityProps {
  readonly workspace: WorkspaceRef;
  readonly entity: EntityDocument;
  readonly chosen: ImportFile;
}

export function IntoEntity({ workspace, entity, chosen }: IntoEntityProps) {
  const columns = listImportColumns(entity);
  const { headers } = chosen.sample;
  const [mapping, setMapping] = useState<Mapping>(() => guessMapping(headers, columns));
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
            data={[...columns]}
            value={mapping.get(header) ?? null}
            onChange={(field) =>
              setMapping(
                new Map([...mapping].map(([one, to]) => [one, one === header ? field : to === field ? null : to])),
              )
            }
          />
        )}
      />
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
          onConflict: conflict === 'fail' ? undefined : conflict,
          conflictOn: conflict === 'fail' || foundBy === 'id' ? undefined : foundBy,
        }}
        isReady={conflict === 'fail' || foundBy !== undefined}
      />
    </Stack>
  );
}
