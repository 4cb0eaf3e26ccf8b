import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** Where a running service answers; `npm run dev` passes its API on to it. */
const service = process.env.BASE_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: '/app/',
  plugins: [svelte()],
  build: {
    target: 'es2023',
    // The service answers what lies in `dist` under the same path.
    outDir: 'dist/app',
    emptyOutDir: true,
    // The content security policy allows no data: address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: { include: ['tests/unit/**/*.test.ts'] },
  server: {
    proxy: {
      '/api': { target: service },
    },
  },
});
