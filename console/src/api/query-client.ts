// Cache of the server's responses.
import { QueryClient } from '@tanstack/react-query';
import { isApiError } from './api-error.ts';

// Retries only requests without a response; `send` retries transient errors itself.
const isUnanswered = (error: unknown): boolean => isApiError(error, 'UNREACHABLE');

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => isUnanswered(error) && failures < 60,
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5000),
      networkMode: 'always',
      refetchOnWindowFocus: true,
      staleTime: 5000,
      structuralSharing: false,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});
