// How the console is built. `npm run dev --workspace console` serves it with live reload: its requests then go to the server of
// WDA_URL with the key of WDA_KEY, as there is no cookie on the port of Vite.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The server puts the nonce of each response in its place. */
const NONCE = '__WDA_NONCE__';

// Preact in place of React: 60 kB of gzip less in the first load, which test/console/size.test.ts limits.
const PREACT = [
  { find: /^react$/, replacement: fileURLToPath(new URL('preact.mjs', import.meta.url)) },
  { find: /^react-dom$/, replacement: 'preact/compat' },
  { find: /^react-dom\/client$/, replacement: 'preact/compat/client' },
  { find: /^react\/(jsx-runtime|jsx-dev-runtime)$/, replacement: 'preact/$1' },
];

export default defineConfig(() => {
  const { WDA_URL: target = 'http://localhost:3000', WDA_KEY: key } = process.env;
  return {
    base: '/console/',
    resolve: { alias: PREACT },
    html: { cspNonce: NONCE },
    build: {
      outDir: 'dist',
      emptyOutDir: true,
      target: 'es2023',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        onLog: (level, log, report) => {
          // `use client` is for servers that render.
          if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
        },
      },
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
