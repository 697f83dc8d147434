// How the console is built. `npm run dev --workspace console` serves it with live reload: its requests then go to the server of
// WDA_URL with the key of WDA_KEY, as there is no cookie on the port of Vite.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The server puts the nonce of each response in its place. */
const NONCE = '__WDA_NONCE__';

export default defineConfig(() => {
  const { WDA_URL: target = 'http://localhost:3000', WDA_KEY: key } = process.env;
  return {
    base: '/console/',
    plugins: [react()],
    html: { cspNonce: NONCE },
    build: {
      outDir: 'dist',
      emptyOutDir: true,
      target: 'es2023',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // The screens of the console that are large are loaded when they are opened; the limit is a test's, not a warning's.
      chunkSizeWarningLimit: 2000,
      reportCompressedSize: false,
    },
    server: {
      proxy: {
        '/console/api': {
          target,
          rewrite: (path) => path.replace(/^\/console/, ''),
          headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        },
      },
    },
  };
});
