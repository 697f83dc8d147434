// Dialog that changes or deletes all records that match the list: it shows first what the server would do, and then the
// progress of the job that many records are.
import { Button, Group, Loader, Modal, NumberInput, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { pluralize } from '../../format/amount.ts';
import {
  cancelJob,
  fetchJob,
  type Matching,
  type MatchingWrite,
  type Tried,
  toJobError,
  tryMatching,
  writeMatching,
} from '../../records/matching-requests.ts';
import type { EntityRef } from '../../records/requests.ts';
import { createKeyCache } from '../../records/write-requests.ts';
import { FormDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { ProgressBar } from '../../shell/progress-bar.tsx';

export interface MatchingDialogProps {
  readonly entityRef: EntityRef;
  readonly matching: Matching;
  readonly write: MatchingWrite;
  readonly onClose: () => void;
  /** Called when records were written. */
  readonly onWritten: () => void;
}

const POLL_MS = 500;

const WORDS = {
  update: { title: 'Change all that match', action: 'Change', done: 'changed', would: 'would change' },
  delete: { title: 'Delete all that match', action: 'Delete', done: 'deleted', would: 'would be deleted' },
} as const;

export function MatchingDialog(props: MatchingDialogProps) {
  const { entityRef, matching, write, onClose, onWritten } = props;
  const words = WORDS[write.kind];
  const [job, setJob] = useState<number>();
  const trial = useQuery({
    queryKey: ['try-matching', entityRef, JSON.stringify(matching), JSON.stringify(write)],
    queryFn: ({ signal }) => tryMatching(entityRef, matching, write, signal),
    gcTime: 0,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (job !== undefined) return <JobDialog {...props} id={job} />;
  if (trial.data === undefined)
    return (
      <Modal opened onClose={onClose} title={words.title}>
        {trial.error === null ? (
          <Group gap="xs">
            <Loader size="xs" />
            <Text size="sm">Counting the records that match</Text>
          </Group>
        ) : (
          <ErrorAlert error={trial.error} />
        )}
        <Group justify="flex-end" mt="sm">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
        </Group>
      </Modal>
    );
  return (
    <ConfirmMatching
      {...props}
      tried={trial.data}
      onJob={setJob}
      onWritten={(count) => {
        announce(`${pluralize(count, 'record')} ${words.done}`);
        onWritten();
        onClose();
      }}
    />
  );
}

/** Asks with the numbers of the dry run. */
function ConfirmMatching({
  entityRef,
  matching,
  write,
  tried: { matched, written },
  onClose,
  onJob,
  onWritten,
}: Omit<MatchingDialogProps, 'onWritten'> & {
  readonly tried: Tried;
  readonly onJob: (id: number) => void;
  readonly onWritten: (count: number) => void;
}) {
  const { title, action, would } = WORDS[write.kind];
  const [max, setMax] = useState<string | number>(matched);
  const key = useRef(createKeyCache());
  const count = pluralize(written ?? matched, 'record');
  return (
    <FormDialog
      title={title}
      action={`${action} ${count}`}
      isDestructive={write.kind === 'delete'}
      isDisabled={matched === 0 || written === 0 || !/^[1-9]\d*$/.test(String(max))}
      focusesCancel
      onClose={onClose}
      onSubmit={async () => {
        const options = { max: Number(max), key: key.current(JSON.stringify([matching, write, max])) };
        const outcome = await writeMatching(entityRef, matching, write, options);
        if ('job' in outcome) onJob(outcome.job);
        else onWritten(outcome.written);
      }}
    >
      <Text size="sm">
        {pluralize(matched, 'record')} of <bdi>{entityRef.entity}</bdi> {matched === 1 ? 'matches' : 'match'}
        {written === undefined
          ? `, and ${would}. So many are a job of the server, which goes on when this page is closed: a thousand at a time, each thousand whole.`
          : `; ${count} ${would}, all or none.`}{' '}
        It cannot be undone here.
      </Text>
      <NumberInput
        label="At most"
        description="When more match by then, nothing is written"
        value={max}
        onChange={setMax}
        min={1}
        max={1_000_000}
        allowDecimal={false}
        allowNegative={false}
      />
    </FormDialog>
  );
}

/** Shows a job until it has ended. */
function JobDialog({ entityRef, write, id, onClose, onWritten }: MatchingDialogProps & { readonly id: number }) {
  const { title, done } = WORDS[write.kind];
  const { data: job, error } = useQuery({
    queryKey: ['job', entityRef.org, entityRef.ws, id],
    queryFn: ({ signal }) => fetchJob(entityRef, id, signal),
    refetchInterval: ({ state }) => (state.data === undefined || state.data.state === 'running' ? POLL_MS : false),
    gcTime: 0,
  });
  const state = job?.state ?? 'running';
  const finish = useRef(onWritten);
  finish.current = onWritten;
  const count = pluralize(job?.updated ?? job?.deleted ?? 0, 'record');
  useEffect(() => {
    if (state === 'running') return;
    announce(
      state === 'succeeded' ? `${count} ${done}` : `The job ${state === 'failed' ? 'has failed' : 'was cancelled'}`,
    );
    finish.current();
  }, [state, count, done]);
  const [processed, matched] = [job?.processed ?? 0, job?.matched ?? 0];
  return (
    <Modal opened onClose={onClose} title={title}>
      <Stack gap="sm">
        <ProgressBar label={`Job ${id}`} size="lg" value={matched === 0 ? 0 : processed / matched} />
        <Text size="sm" role="status">
          {state === 'succeeded'
            ? `${count} ${done}`
            : `${processed.toLocaleString('en')} of ${pluralize(matched, 'record')}${state === 'running' ? '' : ` processed: ${state}`}`}
        </Text>
        <ErrorAlert error={job === undefined ? error : toJobError(job)} />
        <Group justify="flex-end">
          {state === 'running' && (
            <Button variant="default" onClick={() => void cancelJob(entityRef, id)}>
              Cancel the job
            </Button>
          )}
          <Button onClick={onClose} data-autofocus>
            {state === 'running' ? 'Close: it goes on' : 'Done'}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
