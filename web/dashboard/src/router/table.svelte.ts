/** What a table shows, in the page's address: reloading keeps it, Back undoes each change. */
import { place, setQuery } from './location.svelte';
import { pageOf, type PageOf } from './routes';

/** Shows another page, of the entries up to one. */
export type Turn = (page: number, upTo?: number | null) => void;

export class TableState<Filter extends string = never> {
  readonly #filters: readonly Filter[];
  readonly #pageName: string;
  readonly #at = $derived.by(() => place.query.get(this.#pageName) ?? '');
  // Text, so that changes of other tables in the address change nothing here.
  readonly #texts = $derived.by(() => JSON.stringify(this.#filters.map((name) => place.query.get(name) ?? '')));

  /** `pageName`: of the second table of a page. */
  constructor(filters: readonly Filter[] = [], pageName = 'page') {
    this.#filters = filters;
    this.#pageName = pageName;
  }

  get at(): PageOf {
    return pageOf(this.#at);
  }

  /** The first page shows what is new. */
  readonly turn: Turn = (page, upTo) => {
    const at = upTo ? `${page}-${upTo}` : String(page);
    setQuery({ [this.#pageName]: page > 1 ? at : undefined });
  };

  get(filter: Filter): string {
    const texts = JSON.parse(this.#texts) as string[];
    return texts[this.#filters.indexOf(filter)] ?? '';
  }

  /** Starts at the first page. */
  set(filter: Filter, text: string) {
    setQuery({ [this.#pageName]: undefined, [filter]: text });
  }
}
