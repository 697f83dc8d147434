// Entry of the console, a page that uses the server over HTTP alone.
import './trusted-types.ts';
import '@mantine/core/styles.css';
import './console.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { createAppRouter } from './router.tsx';
import { watchForNewBuilds } from './shell/new-build.ts';
import { fetchInsecureDownloads } from './shell/plain-http.ts';
import { SessionExpiredDialog } from './shell/session-expired.tsx';
import { cssVariablesResolver, theme } from './theme.ts';
import { nonce } from './trusted-types.ts';

const styleNonce = nonce();
// The scroll lock of dialogs adds a style element and looks for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce });
const router = createAppRouter();
watchForNewBuilds(() => router.state.isLoading);
fetchInsecureDownloads();

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariablesResolver}
      defaultColorScheme="auto"
      getStyleNonce={() => styleNonce}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <SessionExpiredDialog />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
