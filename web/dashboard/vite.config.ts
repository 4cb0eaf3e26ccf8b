import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { listPages, preloadApp } from './vite.pages.ts';

/** Where a running service answers; `npm run dev` passes its API on to it. */
const service = process.env.BASE_URL ?? 'http://127.0.0.1:8080';

/** Of parts that only one page has, and that are large. */
const OF_ONE_PAGE = /\/(AsTable|Chart|Combobox|Copy|Filters|Paged|PagedTable|Palette|PasswordAgain|ProofFields|QrCode|Rich|SearchField|Secret|Share)\.svelte|\/api\/(live|newest)\.ts|\/state\/(asShown|lookup|shops)(\.svelte)?\.ts|\/domain\/(audit|cohorts|customerData|device|draft|earnings|review|rights|sale|search|snippets|webhooks|wholeList)\.ts|\/texts\/(serverFields|serverMessages)\.ts/;

/** What tables are searched and paged with: most pages have one. */
const isOfTables = (module: string) => /\/src\/(parts\/(Combobox|Paged|PagedTable|SearchField)\.svelte|pages\/(PartnerChoice|SearchedChoice)\.svelte|state\/lookup\.svelte\.ts)/.test(module);

/** The table of events with its texts, which other pages have, too. */
const isOfEventTable = (module: string) => /\/src\/(pages\/ProgramEventTable\.svelte|texts\/pages\/eventTable\.ts)/.test(module);

/** Texts of what is common, in the second language: one file instead of a dozen. Those of the service's messages are loaded with the first one. */
const isCommonGerman = (module: string) => /\/src\/texts\/de\/(?!pages\/|server\.ts)/.test(module) && !OF_ONE_PAGE.test(module);

/** What is needed to ask for the rest. */
const isFirst = (module: string) => /\/src\/(begin|api\/(ahead|credential)|router\/routes|pages\/(index|requests))\.ts|vite\/preload-helper|rolldown\/runtime/.test(module);

function isCommon(module: string): boolean {
  if (OF_ONE_PAGE.test(module) || /\/src\/texts\/(de|pages)\//.test(module)) return false;
  return /\/node_modules\/(svelte|esm-env|clsx)\/|\/src\/(api|domain|frame|parts|router|state|texts)\/|\/src\/(App\.svelte|main\.ts)/.test(module);
}

export default defineConfig({
  base: '/app/',
  plugins: [svelte(), preloadApp, listPages],
  build: {
    target: 'es2023',
    // The service answers what lies in `dist` under the same path.
    outDir: 'dist/app',
    emptyOutDir: true,
    // The content security policy allows no data: address.
    assetsInlineLimit: 0,
    // All of it is smaller than one request more.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // The same script; they differ in what they draw before it runs.
      input: ['index.html', 'doorway.html'],
      // What nearly every page needs is one file; each page has its own, with what it shares with few others beside it.
      output: { codeSplitting: { groups: [{ name: 'begin', test: isFirst }, { name: 'app', test: isCommon }, { name: 'tables', test: isOfTables }, { name: 'event-table', test: isOfEventTable }, { name: 'german', test: isCommonGerman }] } },
    },
  },
  test: { include: ['tests/unit/**/*.test.ts'] },
  server: {
    proxy: {
      '/api': { target: service },
    },
  },
});
