// Upload form with its outcome: progress in bytes, counts, or errors by row and a file with these rows.
import { Alert, Anchor, Button, Checkbox, Group, NumberInput, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { isApiError } from '../../api/api-error.ts';
import { upload } from '../../api/upload.ts';
import { dataPath, screenPath, type WorkspaceRef } from '../../api/workspace.ts';
import { formatBytes, pluralize } from '../../format/amount.ts';
import { createKeyCache } from '../../records/write-requests.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { saveFile } from '../../shell/save-file.ts';
import { UnsavedChangesGuard } from '../../shell/unsaved-changes.tsx';
import { createImportCall } from '../../snippets/admin.ts';
import { type ImportFile, pickRows } from '../../transfer/sample.ts';

interface ImportCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
  readonly rejected?: number;
}

export interface Result extends ImportCounts {
  readonly isDryRun: boolean;
  /** Rejected rows as a file. */
  readonly rejects: Blob | undefined;
  /** Sentences about headers that were read as fields of similar names. */
  readonly notes: readonly string[];
}

export interface UploadFormProps {
  readonly workspace: WorkspaceRef;
  readonly entity: string;
  readonly chosen: ImportFile;
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** Called before the upload; throws to stop it. */
  readonly before?: () => Promise<void>;
  /** False to offer the import without a dry run. */
  readonly hasDryRun?: boolean;
  /** False while a required choice is missing. */
  readonly isReady?: boolean;
}

// Largest file that the page reads to extract its rejected rows.
const MOST_BYTES = 50_000_000;

// Default and bound of the parameter maxErrors.
const DEFAULT_MAX_ERRORS = 100;
const MOST_ERRORS = 100_000;

export function UploadForm({
  workspace,
  entity,
  chosen,
  parameters,
  before,
  hasDryRun = true,
  isReady = true,
}: UploadFormProps) {
  const [sent, setSent] = useState<number>();
  const [result, setResult] = useState<Result>();
  const [error, setError] = useState<unknown>();
  const [isStoring, setStoring] = useState(false);
  const [stored, setStored] = useState<string>();
  const [leavesOut, setLeavesOut] = useState(false);
  const [maxErrors, setMaxErrors] = useState(DEFAULT_MAX_ERRORS);
  const [keyOf] = useState(createKeyCache);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const client = useQueryClient();
  const { file, name, sample } = chosen;
  const type = sample.kind === 'csv' ? 'text/csv' : 'application/x-ndjson';
  const allParameters = {
    ...parameters,
    rejects: leavesOut ? 'true' : undefined,
    maxErrors: leavesOut || maxErrors === DEFAULT_MAX_ERRORS ? undefined : String(maxErrors),
  };
  const entries = Object.entries(allParameters).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
  const pathWith = (more: string[][]): string =>
    dataPath(workspace, `/${encodeURIComponent(entity)}/_import?${new URLSearchParams([...entries, ...more])}`);
  const path = pathWith([]);
  async function run(isDryRun: boolean): Promise<void> {
    const controller = new AbortController();
    stop.current = controller;
    setError(undefined);
    setResult(undefined);
    setSent(0);
    setStoring(!isDryRun);
    try {
      await before?.();
      const { data, meta, rejects } = await upload<ImportCounts>({
        path: isDryRun ? pathWith([['dryRun', 'true']]) : path,
        key: isDryRun ? undefined : keyOf(path),
        type,
        file,
        onProgress: setSent,
        signal: controller.signal,
      });
      const { notes = [] } = meta as { readonly notes?: readonly string[] };
      setResult({ ...data, isDryRun, rejects, notes });
      if (isDryRun) return;
      // Prevents a second import by a second click.
      setStored(path);
      await client.invalidateQueries();
    } catch (thrown) {
      setError(controller.signal.aborted ? new Error('Cancelled') : thrown);
    } finally {
      setSent(undefined);
    }
  }
  const isSurelyNot = !isStoring || (isApiError(error) && error.status >= 400 && error.status < 500);
  const rows = isApiError(error)
    ? new Set(error.details.flatMap(({ row }) => (row === undefined || row === 0 ? [] : [row])))
    : new Set<number>();
  const badName = `${name.replace(/\.[^.]*$/, '')}.bad.${sample.kind === 'csv' ? 'csv' : 'ndjson'}`;
  const saveBadRows = async (): Promise<void> => saveFile(new Blob([pickRows(await file.text(), rows)]), badName);
  return (
    <Stack gap="xs">
      <Checkbox
        label="Leave out rows with mistakes"
        description="The other rows are imported, and these can be downloaded with their reasons"
        checked={leavesOut}
        disabled={sent !== undefined}
        onChange={(event) => setLeavesOut(event.currentTarget.checked)}
      />
      {!leavesOut && (
        <NumberInput
          label="Mistakes to list"
          description="The rest of the file is not read after so many"
          maw={320}
          min={1}
          max={MOST_ERRORS}
          clampBehavior="strict"
          allowDecimal={false}
          allowNegative={false}
          value={maxErrors}
          disabled={sent !== undefined}
          onChange={(next) => setMaxErrors(Number(next) || DEFAULT_MAX_ERRORS)}
        />
      )}
      <UnsavedChangesGuard isDirty={isStoring && sent !== undefined} />
      <Group>
        {hasDryRun && (
          <Button variant="default" disabled={!isReady || sent !== undefined} onClick={() => void run(true)}>
            Dry run
          </Button>
        )}
        <Button disabled={!isReady || sent !== undefined || stored === path} onClick={() => void run(false)}>
          Import
        </Button>
        {chosen.delimiter === undefined && before === undefined && isReady && (
          <CopyAs
            call={() =>
              createImportCall({
                origin: location.origin,
                ...workspace,
                entity,
                file: { name, type },
                parameters: allParameters,
              })
            }
          />
        )}
        {sent !== undefined && (
          <Button variant="subtle" onClick={() => stop.current?.abort()}>
            Cancel
          </Button>
        )}
      </Group>
      {sent !== undefined && (
        <>
          <Progress.Root size="lg">
            <Progress.Section value={file.size === 0 ? 100 : (sent / file.size) * 100} aria-label="Sent" />
          </Progress.Root>
          <Text size="sm" role="status">
            {sent < file.size
              ? `${formatBytes(sent)} of ${formatBytes(file.size)} sent`
              : 'Sent. The server checks and stores the rows'}
          </Text>
        </>
      )}
      {result !== undefined && (
        <Alert role="status" color={result.isDryRun ? 'blue' : 'green'} variant="light" p="xs">
          {result.isDryRun ? 'Nothing is stored. The import would have: ' : ''}
          {`${pluralize(result.inserted, 'record')} inserted, ${result.updated} updated, ${result.skipped} skipped${result.rejected === undefined ? '' : `, ${result.rejected} rejected`}. `}
          {!result.isDryRun && (
            <Anchor component={Link} to={screenPath(workspace, `/data/${entity}`)} size="sm">
              Show the records
            </Anchor>
          )}
          {result.notes.map((note) => (
            <Text key={note} size="sm">
              <bdi>{note}</bdi>
            </Text>
          ))}
          <RejectedRows {...result} filename={badName} />
        </Alert>
      )}
      <ErrorAlert error={error} />
      {error !== undefined && (
        <Group>
          <Text size="sm">
            {isSurelyNot
              ? 'Nothing was imported.'
              : 'Either the whole file was imported or none of it. Import it again to find out: no record is stored twice.'}
          </Text>
          {rows.size > 0 && file.size <= MOST_BYTES && (
            <Button variant="default" onClick={() => void saveBadRows()}>
              Download the bad rows
            </Button>
          )}
        </Group>
      )}
    </Stack>
  );
}

function RejectedRows({
  rejected = 0,
  rejects,
  filename,
}: Pick<Result, 'rejected' | 'rejects'> & { readonly filename: string }) {
  if (rejected === 0) return null;
  // An earlier import with the same key has been done: its rejected rows are not kept.
  if (rejects === undefined) return <Text size="sm">This import was done before; its rejected rows are not kept.</Text>;
  return (
    <Button mt="xs" size="xs" variant="default" onClick={() => saveFile(rejects, filename)}>
      Download the rejected rows
    </Button>
  );
}
