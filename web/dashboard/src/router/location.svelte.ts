/** The address bar: where we are, and going elsewhere. */
import { match, path, type Match, type RouteName } from './routes';

class Place {
  path = $state(location.pathname);
  search = $state(location.search);
  hash = $state(location.hash);
  readonly match: Match | undefined = $derived(match(this.path));
  readonly query = $derived(new URLSearchParams(this.search));
  /** Counts the pages somebody went to, to tell them from the first one. */
  visits = $state(0);

  read() {
    if (this.path !== location.pathname) this.visits += 1;
    this.path = location.pathname;
    this.search = location.search;
    this.hash = location.hash;
  }
}

export const place = new Place();

/** Goes to an address of ours; `replace` leaves no way back. */
export function go(href: string, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', href);
  place.read();
}

export function goTo(name: RouteName, parameters: Record<string, string | number> = {}) {
  go(path(name, parameters));
}

/** Puts what a page shows into its address, so that it can be kept and shared. */
export function setQuery(changes: Record<string, string | undefined>) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  go(query.size > 0 ? `${location.pathname}?${query}` : location.pathname, true);
}

/** Links to our pages need no new document. */
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
