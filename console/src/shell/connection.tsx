// Whether the server answers, for the whole page. While it does not, it is asked each second, and what the page shows is asked for
// again once it does.
import { Alert } from '@mantine/core';
import { type Query, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { watchRequests } from '../api/ask.ts';
import { isRefusal, type Refusal } from '../api/refusal.ts';
import { makeStore } from './store.ts';

const lost = makeStore(false);
watchRequests({ connection: (state) => lost.set(state === 'lost') });

const PAUSE_MS = 1000;

/** Whether the last request got no answer. */
export const useIsConnectionLost = lost.use;

export function ConnectionBanner() {
  const isLost = lost.use();
  const client = useQueryClient();
  useEffect(() => {
    if (!isLost) return;
    const timer = setInterval(() => {
      fetch('/readyz', { cache: 'no-store' }).then(
        ({ ok }) => {
          if (!ok) return;
          lost.set(false);
          void client.invalidateQueries();
        },
        () => undefined,
      );
    }, PAUSE_MS);
    return () => clearInterval(timer);
  }, [isLost, client]);
  const waited = useWaitedFor();
  if (isLost) {
    return (
      <Alert role="alert" color="orange" variant="light" p="xs" mb="sm">
        Connection lost. What you typed is still here; the page goes on when the server answers again.
      </Alert>
    );
  }
  if (waited === undefined) return null;
  return (
    <Alert role="status" color="yellow" variant="light" p="xs" mb="sm">
      <bdi>{waited.message}</bdi>
      {waited.retryAfterSeconds === undefined ? '. Trying again' : `. Trying again in ${waited.retryAfterSeconds} s`}
    </Alert>
  );
}

/** A refusal that passes, for which a query of the page waits. */
function useWaitedFor(): Refusal | undefined {
  const client = useQueryClient();
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => {
    const cache = client.getQueryCache();
    const waits = ({ state }: Query): boolean =>
      state.fetchStatus === 'fetching' && isRefusal(state.fetchFailureReason) && state.fetchFailureReason.status >= 429;
    return cache.subscribe(() => {
      const reason = cache.getAll().find(waits)?.state.fetchFailureReason;
      setRefusal(isRefusal(reason) ? reason : undefined);
    });
  }, [client]);
  return refusal;
}
