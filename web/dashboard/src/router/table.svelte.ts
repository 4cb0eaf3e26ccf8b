/** What a table shows, in the page's address: reloading keeps it, Back undoes each change. */
import { place, setQuery } from './location.svelte';
import { pageOf, type PageOf } from './routes';
import { chosen, sortingOf, type Sorting, type Sorts } from './sorting';

/** Shows another page, of the entries up to one. */
export type Turn = (page: number, upTo?: number | null) => void;

/** What a table, whatever it filters by, lets its reader change. */
export interface Table {
  readonly turn: Turn;
  readonly sorts: Sorts;
  readonly sorting: Sorting | undefined;
  readonly sortBy: (sort: string) => void;
}

export class TableState<Filter extends string = never> implements Table {
  readonly #filters: readonly Filter[];
  readonly #pageName: string;
  readonly sorts: Sorts;
  readonly #at = $derived.by(() => place.query.get(this.#pageName) ?? '');
  // Text, so that changes of other tables in the address change nothing here.
  readonly #texts = $derived.by(() => JSON.stringify(this.#filters.map((name) => place.query.get(name) ?? '')));
  readonly #sort = $derived.by(() => place.query.get('sort') ?? '');
  readonly #order = $derived.by(() => place.query.get('order') ?? '');

  /** `pageName`: of the second table of a page. */
  constructor(filters: readonly Filter[] = [], sorts: Sorts = {}, pageName = 'page') {
    this.#filters = filters;
    this.sorts = sorts;
    this.#pageName = pageName;
  }

  /** For the request: the page, and the order. */
  get at(): PageOf & Partial<Sorting> {
    return { ...pageOf(this.#at), ...this.sorting };
  }

  get sorting(): Sorting | undefined {
    return sortingOf(this.#sort, this.#order, this.sorts);
  }

  /** The first page shows what is new. */
  readonly turn: Turn = (page, upTo) => {
    const at = upTo ? `${page}-${upTo}` : String(page);
    setQuery({ [this.#pageName]: page > 1 ? at : undefined });
  };

  /** Starts at the first page. */
  readonly sortBy = (sort: string) => {
    const { sort: by, order } = chosen(this.sorting, sort, this.sorts) ?? {};
    setQuery({ [this.#pageName]: undefined, sort: by, order });
  };

  get(filter: Filter): string {
    const texts = JSON.parse(this.#texts) as string[];
    return texts[this.#filters.indexOf(filter)] ?? '';
  }

  /** Starts at the first page. `again`: instead of the change before. */
  set(filter: Filter, text: string, again = false) {
    setQuery({ [this.#pageName]: undefined, [filter]: text }, again);
  }
}
