// Connection to the server. While it is lost, the page polls each second, and refetches its queries when it is
// restored.
import { Alert } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ApiError } from '../api/api-error.ts';
import { setRequestListeners } from '../api/request.ts';
import type { ApiRequest } from '../api/types.ts';
import { createStore } from '../store.ts';

const lostStore = createStore(false);
/** Requests that wait after a transient error; the banner shows the last one. */
const waitingRequests = new Map<ApiRequest, ApiError>();
const waitedFor = createStore<ApiError | undefined>(undefined);
setRequestListeners({
  connection: (state) => lostStore.set(state === 'lost'),
  waiting(one, refusal) {
    if (refusal === undefined) waitingRequests.delete(one);
    else waitingRequests.set(one, refusal);
    waitedFor.set([...waitingRequests.values()].at(-1));
  },
});

const PAUSE_MS = 1000;

export function ConnectionBanner() {
  const isLost = lostStore.use();
  const client = useQueryClient();
  useEffect(() => {
    if (!isLost) return;
    const timer = setInterval(() => {
      fetch('/readyz', { cache: 'no-store' }).then(
        ({ ok }) => ok && lostStore.set(false),
        () => undefined,
      );
    }, PAUSE_MS);
    // Restores the connection after any response.
    return () => {
      clearInterval(timer);
      void client.invalidateQueries();
    };
  }, [isLost, client]);
  const waited = waitedFor.use();
  if (isLost) {
    return (
      <Alert role="alert" color="orange" variant="light" p="xs" mb="sm">
        Connection lost. What you typed is still here; the page continues when the server responds.
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
