// Waits for jobs of the server: writes by filter of more than 10,000 records.
import type { Ask } from './ask.ts';
import { type Refusal, WdaError } from './error.ts';
import { type CallOptions, pause } from './transport.ts';

/** Job of the server. */
export interface Job {
  readonly id: number;
  readonly operation: 'update' | 'delete';
  /** Null when the entity was removed. */
  readonly entity: string | null;
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Records that matched when it was started. */
  readonly matched: number;
  /** Records whose turn is over. */
  readonly processed: number;
  readonly updated?: number;
  readonly deleted?: number;
  readonly error:
    | (Pick<Refusal, 'reason' | 'details'> & { readonly code: Refusal['code']; readonly message: string })
    | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

const POLL_SECONDS = 0.5;

/** Returns a job that has succeeded; throws the error of one that has failed, JOB_CANCELLED, or the reason of `signal`. */
export async function waitForJob(
  ask: Ask,
  id: number,
  onProgress: ((job: Job) => void) | undefined,
  options: CallOptions,
): Promise<Job> {
  for (;;) {
    const job = (await ask('GET', `_jobs/${id}`, options)).data as Job;
    onProgress?.(job);
    if (job.state === 'succeeded') return job;
    if (job.state !== 'running') {
      const { message, ...rest } = job.error ?? { code: 'JOB_CANCELLED' as const, message: 'The job was cancelled' };
      throw new WdaError(message, { status: 200, ...rest, job });
    }
    await pause(POLL_SECONDS, options.signal);
  }
}
