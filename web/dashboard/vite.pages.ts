/** What the documents and the service say of the built files, so that a browser asks for those of a page together with its document. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Plugin } from 'vite';
import { DOORWAYS, ROUTES, type RouteName } from './src/router/routes.ts';

const PAGES = resolve(import.meta.dirname, 'src/pages');
/** `overview: () => withChart(import('./overview/Overview.svelte')),` */
const IMPORT = /^ {2}(\w+): \(\) => .*?import\('(.+?)'\)/gm;

/** The documents name what the first script imports later. */
export const preloadApp: Plugin = {
  name: 'preload-app',
  transformIndexHtml: {
    order: 'post',
    handler(document, { bundle = {} }) {
      const app = Object.values(bundle).find(({ name }) => name === 'app');
      const files = app?.type === 'chunk' ? [app.fileName, ...app.imports] : [];
      return files
        .map((file) => `/app/${file}`)
        .filter((href) => !document.includes(href))
        .map((href) => ({ tag: 'link', attrs: { rel: 'modulepreload', crossorigin: true, href }, injectTo: 'head' }));
    },
  },
};

/**
 * Writes `pages.txt` for the service: a line a page, with its path, its document, and the files of its code. They are separated by blanks, and
 * a parameter of a path is in braces.
 */
export const listPages: Plugin = {
  name: 'list-pages',
  generateBundle(_, bundle) {
    const imports = (file: string): string[] => {
      const chunk = bundle[file];
      return chunk?.type === 'chunk' ? chunk.imports : [];
    };
    const chunks = Object.values(bundle).filter((chunk) => chunk.type === 'chunk');
    const app = chunks.find(({ name }) => name === 'app');
    if (!app) return this.error('there is no chunk of what all pages have');
    const known = new Set([app.fileName, ...app.imports]);
    const source = readFileSync(resolve(PAGES, 'index.ts'), 'utf8');
    const components = new Map([...source.matchAll(IMPORT)].map(([, page, file]) => [page, resolve(PAGES, file ?? '')]));
    const lines = Object.entries(ROUTES).map(([page, path]) => {
      const component = components.get(page);
      const chunk = component && chunks.find(({ moduleIds }) => moduleIds.includes(component));
      const files = new Set(chunk ? [chunk.fileName] : []);
      for (const file of files) for (const one of imports(file)) if (!known.has(one)) files.add(one);
      const document = DOORWAYS.has(page as RouteName) ? 'doorway.html' : 'index.html';
      return [path.replace(/:(\w+)/g, '{$1}'), document, ...files].join(' ');
    });
    this.emitFile({ type: 'asset', fileName: 'pages.txt', source: `${lines.join('\n')}\n` });
  },
};
