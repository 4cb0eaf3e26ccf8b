/** The address bar: current location and navigation. */
import { match, path, type Match, type RouteName } from './routes';

class Place {
  path = $state(location.pathname);
  search = $state(location.search);
  hash = $state(location.hash);
  readonly match: Match | undefined = $derived(match(this.path));
  readonly query = $derived(new URLSearchParams(this.search));
  /** Number of navigations; 0 on the first page. */
  visits = $state(0);

  read() {
    if (this.path !== location.pathname) this.visits += 1;
    this.path = location.pathname;
    this.search = location.search;
    this.hash = location.hash;
  }
}

export const place = new Place();

/** Navigates to a page; `replace` replaces the history entry. */
export function go(href: string, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', href);
  place.read();
}

export function goTo(name: RouteName, parameters: Record<string, string | number> = {}) {
  go(path(name, parameters));
}

/** Stores a page's state in its address, so that it can be bookmarked and shared. */
export function setQuery(changes: Record<string, string | undefined>) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  go(query.size > 0 ? `${location.pathname}?${query}` : location.pathname, true);
}

/** Handles clicks on links to our pages without loading a document. */
export function followLinks() {
  addEventListener('popstate', () => place.read());
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    const link = (event.target as Element | null)?.closest('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (!match(link.pathname) || link.hash) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
