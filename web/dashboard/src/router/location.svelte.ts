/** The address bar: current location and navigation. */
import { forgetSent } from '../api/ahead';
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
    if (this.path !== location.pathname) {
      this.visits += 1;
      forgetSent();
    }
    this.path = location.pathname;
    this.search = location.search;
    this.hash = location.hash;
  }
}

export const place = new Place();

/** Where the current entry is in the tab's history, so that a step back can be undone. */
let at = position(0);

function position(otherwise: number): number {
  const state = history.state as { at?: number } | null;
  return state?.at ?? otherwise;
}

/** Whether a page may be left; a promise if the user has to be asked. */
type MayLeave = () => true | Promise<boolean>;
let mayLeave: MayLeave = () => true;

/** Asked before a link or the browser's buttons lead to another page, or to another tab of it. */
export function onLeave(ask: MayLeave) {
  mayLeave = ask;
}

/** Navigates to a page; `replace` replaces the history entry. */
export function go(href: string, replace = false) {
  if (!replace) at += 1;
  history[replace ? 'replaceState' : 'pushState']({ at }, '', href);
  place.read();
}

export function goTo(name: RouteName, parameters: Record<string, string | number> = {}) {
  go(path(name, parameters));
}

/** What forms are on: a page, or a tab of it. Filters leave them where they are. */
const sheet = (path: string, query: URLSearchParams) => `${path}?tab=${query.get('tab') ?? ''}`;
const shown = () => sheet(location.pathname, new URLSearchParams(location.search));

/** As `go`, unless the user would rather stay with what they have typed; resolves to whether they have left. */
export async function leaveFor(href: string): Promise<boolean> {
  const to = new URL(href, location.href);
  if (sheet(to.pathname, to.searchParams) !== shown() && !(await mayLeave())) return false;
  go(href);
  return true;
}

/** Stores a page's state in its address, so that it can be bookmarked and shared. Back undoes the change, unless it replaces the entry. */
export function setQuery(changes: Record<string, string | undefined>, replace = false) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const href = query.size > 0 ? `${location.pathname}?${query}` : location.pathname;
  if (href !== location.pathname + location.search) go(href, replace);
}

/** Handles clicks on links to our pages without loading a document, and the browser's Back and Forward. */
export function followLinks() {
  history.replaceState({ at }, '');
  addEventListener('popstate', stepped);
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    const link = (event.target as Element | null)?.closest('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (!match(link.pathname) || link.hash) return;
    event.preventDefault();
    void leaveFor(link.pathname + link.search);
  });
}

let isReturning = false;

function stepped() {
  if (isReturning) {
    isReturning = false;
    return;
  }
  const steps = position(at) - at;
  const answer = steps === 0 || shown() === sheet(place.path, place.query) ? true : mayLeave();
  if (answer === true) {
    at += steps;
    place.read();
    return;
  }
  // The browser has moved already: back to the page, until the user has answered.
  isReturning = true;
  history.go(-steps);
  void answer.then((yes) => yes && history.go(steps));
}
