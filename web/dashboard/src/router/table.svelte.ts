/** What a table shows, in the page's address: reloading keeps it, Back undoes each change. */
import { knownText, type Known } from './filters';
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

export class TableState<const Filter extends string = never> implements Table {
  readonly #filters: readonly (readonly [name: Filter, known?: Known])[];
  readonly #second: string;
  readonly sorts: Sorts;
  readonly #at = $derived.by(() => this.#read('page'));
  // Text, so that changes of other tables in the address change nothing here.
  readonly #texts = $derived.by(() => JSON.stringify(this.#filters.map(([name, known]) => knownText(this.#read(name), known))));
  readonly #sort = $derived.by(() => this.#read('sort'));
  readonly #order = $derived.by(() => this.#read('order'));

  /** A filter that has choices names them: the address may have others. `second`: the name of a page's second table. */
  constructor(filters: readonly (Filter | readonly [name: Filter, known: Known])[] = [], sorts: Sorts = {}, second = '') {
    this.#filters = filters.map((filter) => (typeof filter === 'string' ? [filter] : filter));
    this.sorts = sorts;
    this.#second = second;
  }

  /** In the address: `page` and `sort` of the first table, `archived` and `archived-sort` of the second. */
  #key(name: string): string {
    if (!this.#second) return name;
    return name === 'page' ? this.#second : `${this.#second}-${name}`;
  }

  #read(name: string): string {
    return place.query.get(this.#key(name)) ?? '';
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
    setQuery({ [this.#key('page')]: page > 1 ? at : undefined });
  };

  /** Starts at the first page. */
  readonly sortBy = (sort: string) => {
    const { sort: by, order } = chosen(this.sorting, sort, this.sorts) ?? {};
    setQuery({ [this.#key('page')]: undefined, [this.#key('sort')]: by, [this.#key('order')]: order });
  };

  get(filter: Filter): string {
    const texts = JSON.parse(this.#texts) as string[];
    return texts[this.#filters.findIndex(([name]) => name === filter)] ?? '';
  }

  /** Starts at the first page. `again`: instead of the change before. */
  set(filter: Filter, text: string, again = false) {
    setQuery({ [this.#key('page')]: undefined, [this.#key(filter)]: text }, again);
  }
}
