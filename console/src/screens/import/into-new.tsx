// Import of a file into a new entity: its fields are guessed from the first rows, and created with the import.
import { Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useRef, useState } from 'react';
import { request, requestExact } from '../../api/request.ts';
import { adminPath, type WorkspaceRef } from '../../api/workspace.ts';
import { printMapParameter } from '../../transfer/mapping.ts';
import type { ImportFile } from '../../transfer/sample.ts';
import { deriveName, type GuessedField, type GuessedType, guessField } from '../../transfer/types.ts';
import { SampleTable } from './sample-table.tsx';
import { UploadForm } from './upload-form.tsx';

const TYPES: readonly GuessedType[] = ['string', 'text', 'bigint', 'decimal', 'boolean', 'date', 'datetime', 'uuid'];

function guessFields({ sample }: ImportFile): readonly (GuessedField | null)[] {
  const usedNames = new Set<string>();
  return sample.headers.map((header, at) => {
    // Every record has an id anyway; the file's is used for it.
    if (header.toLowerCase() === 'id') return null;
    const name = deriveName(header, usedNames);
    usedNames.add(name);
    return guessField(
      name,
      sample.rows.map((row) => row[at] ?? ''),
    );
  });
}

export interface IntoNewProps {
  readonly workspace: WorkspaceRef;
  readonly chosen: ImportFile;
  readonly suggested: string;
}

export function IntoNew({ workspace, chosen, suggested }: IntoNewProps) {
  const [name, setName] = useState(suggested);
  const [fields, setFields] = useState(() => guessFields(chosen));
  const createdEntity = useRef<string>(undefined);
  const { headers } = chosen.sample;
  const mapping = new Map(headers.map((header, at) => [header, fields[at]?.name ?? 'id']));
  async function make(): Promise<void> {
    if (createdEntity.current === name) return;
    // Keeps the rest of the document, to the last digit.
    const { data, etag } = await requestExact<{ readonly entities?: object }>({
      path: adminPath(workspace, '/schema'),
    });
    const own = fields.flatMap((field) => (field === null ? [] : [[field.name, toDefinition(field)] as const]));
    const entities = { ...data.entities, [name]: { fields: Object.fromEntries(own) } };
    const headers = etag === undefined ? {} : { 'If-Match': etag };
    await request({
      method: 'PUT',
      path: adminPath(workspace, '/schema?wait=30'),
      body: { ...data, entities },
      headers,
    });
    createdEntity.current = name;
  }
  return (
    <Stack>
      <TextInput
        label="Name of the entity"
        maw={320}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Title order={2}>Fields</Title>
      <SampleTable
        sample={chosen.sample}
        control={(header, at) => {
          const field = fields[at];
          if (field === undefined || field === null) return <Text size="xs">id</Text>;
          return (
            <Select
              aria-label={`Type of ${header}`}
              data={[...TYPES]}
              value={field.type}
              allowDeselect={false}
              onChange={(type) =>
                setFields(
                  fields.map((one, index) => (index === at ? { name: field.name, type: type as GuessedType } : one)),
                )
              }
            />
          );
        }}
      />
      <Text size="sm" c="dimmed">
        Import creates the entity, then stores the rows. If a row is rejected, the entity remains without records.
      </Text>
      <UploadForm
        workspace={workspace}
        entity={name}
        chosen={chosen}
        parameters={{ map: printMapParameter(mapping) }}
        before={make}
        hasDryRun={false}
      />
    </Stack>
  );
}

const toDefinition = ({ name: _, ...definition }: GuessedField): object => definition;
