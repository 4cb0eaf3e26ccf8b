/**
 * The first script: small, so that what takes a round trip is asked for while the rest of the code is on its way. Imports nothing that needs
 * Svelte.
 */
import { askFirst } from './api/ahead';
import { PAGES } from './pages';
import { match } from './router/routes';

const page = match(location.pathname);
// `state/pages` loads it again, and says when that fails.
if (page) PAGES[page.name]?.().catch(() => {});
askFirst(page);
void import('./main');
// A browser's first formatters take a tenth of a second on a slow machine, which is otherwise idle once the requests are sent.
setTimeout(() => {
  new Intl.NumberFormat().format(0);
  new Intl.DateTimeFormat().format(0);
});
