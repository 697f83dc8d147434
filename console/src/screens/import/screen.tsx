// Import screen: reads a sample of a file and imports it into an entity or a new one.
import { Button, FileButton, Group, Paper, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { schemaQuery } from '../../api/schema.ts';
import type { WorkspaceRef } from '../../api/workspace.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useMayWrite, useViewAs } from '../../shell/permissions.ts';
import { ScreenFrame } from '../../shell/screen-frame.tsx';
import { convertToCommas, detectDelimiter, type ImportFile, parseSample } from '../../transfer/sample.ts';
import { deriveName } from '../../transfer/types.ts';
import { IntoEntity } from './into-entity.tsx';
import { IntoNew } from './into-new.tsx';

const SAMPLE_BYTES = 262_144;
// Largest file that the page converts in memory to commas.
const MOST_CONVERTED_BYTES = 20_000_000;

export function Screen() {
  const { entity: name, ...place } = useParams({ strict: false }) as WorkspaceRef & { readonly entity?: string };
  const schema = useQuery(schemaQuery(place));
  const [chosen, setChosen] = useState<ImportFile>();
  const [error, setError] = useState<unknown>();
  const mayWrite = useMayWrite();
  const isViewing = useViewAs() !== undefined;
  const entity = name === undefined ? undefined : schema.data?.entities.get(name);
  async function choose(input: Blob | null, fileName: string): Promise<void> {
    if (input === null) return;
    setError(undefined);
    try {
      const delimiter = detectDelimiter(await input.slice(0, SAMPLE_BYTES).text());
      const file = delimiter === undefined ? input : await convert(input, delimiter);
      const text = await file.slice(0, SAMPLE_BYTES).text();
      const sample = parseSample(text, file.size <= SAMPLE_BYTES);
      if (sample.headers.length === 0) throw new Error('The file has no rows');
      setChosen((last) => ({ file, name: fileName, sample, delimiter, number: (last?.number ?? 0) + 1 }));
    } catch (thrown) {
      setChosen(undefined);
      setError(thrown);
    }
  }
  // Only owners may create an entity.
  const isAllowed = name === undefined || mayWrite;
  return (
    <ScreenFrame title={name === undefined ? 'Import a file' : `Import into ${name}`}>
      <ErrorAlert error={schema.error} />
      {schema.data !== undefined && !isAllowed && (
        <Text size="sm">
          {isViewing ? 'Nothing can be imported while you view as a user.' : 'This needs a key with write permission.'}
        </Text>
      )}
      {isAllowed && (
        <Stack maw={1000}>
          <Source onChosen={(file, fileName) => void choose(file, fileName)} />
          <ErrorAlert error={error} />
          {chosen?.delimiter !== undefined && (
            <Text size="sm" role="status">
              The values of this file are separated by {describeDelimiter(chosen.delimiter)}. They are sent separated by
              commas.
            </Text>
          )}
          {chosen !== undefined && entity !== undefined && (
            <IntoEntity key={JSON.stringify(chosen.sample.headers)} workspace={place} entity={entity} chosen={chosen} />
          )}
          {chosen !== undefined && name === undefined && schema.data !== undefined && (
            <IntoNew
              key={chosen.number}
              workspace={place}
              chosen={chosen}
              suggested={deriveName(chosen.name.replace(/\.[^.]*$/, ''), new Set(schema.data.entities.keys()))}
            />
          )}
          {name !== undefined && schema.data !== undefined && entity === undefined && (
            <Text>There is no entity of this name.</Text>
          )}
        </Stack>
      )}
    </ScreenFrame>
  );
}

async function convert(file: Blob, delimiter: string): Promise<Blob> {
  if (file.size > MOST_CONVERTED_BYTES)
    throw new Error(
      `The values of this file are separated by ${describeDelimiter(delimiter)}. Save it with commas first: it is large.`,
    );
  return new Blob([convertToCommas(await file.text(), delimiter)]);
}

const describeDelimiter = (delimiter: string): string =>
  delimiter === ';' ? 'semicolons' : delimiter === '\t' ? 'tabs' : `“${delimiter}”`;

function Source({ onChosen }: { readonly onChosen: (file: Blob | null, name: string) => void }) {
  const [pasted, setPasted] = useState('');
  const [fileName, setFileName] = useState<string>();
  const reset = useRef<() => void>(null);
  return (
    <Paper withBorder p="sm">
      <Group align="end" wrap="wrap">
        <FileButton
          onChange={(file) => {
            setFileName(file?.name);
            onChosen(file, file?.name ?? '');
            // A corrected file has the same name: without a reset the browser reports no change.
            reset.current?.();
          }}
          resetRef={reset}
          accept=".csv,.ndjson,.jsonl,text/csv,application/x-ndjson"
          inputProps={{ 'aria-label': 'File' }}
        >
          {(props) => <Button {...props}>Choose a file</Button>}
        </FileButton>
        {fileName !== undefined && <TextInput aria-label="Chosen file" value={fileName} readOnly dir="auto" />}
        <Text size="xs" c="dimmed">
          CSV with a header, or NDJSON: one JSON object per line
        </Text>
      </Group>
      <Textarea
        mt="xs"
        label="Or paste rows"
        autosize
        minRows={2}
        maxRows={8}
        value={pasted}
        onChange={(event) => setPasted(event.currentTarget.value)}
        spellCheck={false}
      />
      {pasted.trim() !== '' && (
        <Button mt="xs" variant="default" onClick={() => onChosen(new Blob([fromSheet(pasted)]), 'pasted')}>
          Use these rows
        </Button>
      )}
    </Paper>
  );
}

/** Converts rows of a spreadsheet, which are separated by tabs, to CSV. */
function fromSheet(text: string): string {
  const [first = ''] = text.split('\n', 1);
  if (!first.includes('\t') || first.trimStart().startsWith('{')) return text;
  const cell = (value: string): string =>
    /[",\r\n]/.test(value) && !value.startsWith('"') ? `"${value.replaceAll('"', '""')}"` : value;
  return text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(cell).join(','))
    .join('\n');
}
