/** What the documents and the service say of the built files. */
import type { Plugin } from 'vite';
import { DOORWAYS, ROUTES, type RouteName } from './src/router/routes.ts';

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

/** Writes `pages.txt` for the service: a line a page, with its path and its document. A parameter of a path is in braces. */
export const listPages: Plugin = {
  name: 'list-pages',
  generateBundle() {
    const line = ([page, path]: [string, string]) =>
      `${path.replace(/:(\w+)/g, '{$1}')} ${DOORWAYS.has(page as RouteName) ? 'doorway.html' : 'index.html'}\n`;
    this.emitFile({ type: 'asset', fileName: 'pages.txt', source: Object.entries(ROUTES).map(line).join('') });
  },
};
