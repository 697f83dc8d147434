// What the server said, as far as the page remembers it.
import { QueryClient } from '@tanstack/react-query';
import { isRefusal } from './api/refusal.ts';

// A refusal stands; what did not arrive, or was refused as passing, is asked for again.
const isPassing = (error: unknown): boolean =>
  isRefusal(error) &&
  (error.status === 0 || error.status === 429 || (error.status === 503 && error.code !== 'QUERY_TIMEOUT'));

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => isPassing(error) && failures < 60,
      retryDelay: (failures, error) =>
        isRefusal(error) && error.retryAfterSeconds !== undefined
          ? error.retryAfterSeconds * 1000
          : Math.min(500 * 2 ** failures, 5000),
      networkMode: 'always',
      refetchOnWindowFocus: true,
      staleTime: 5000,
      structuralSharing: false,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});
