/** What a table shows, in the page's address: reloading keeps it, Back undoes each change. */
import { place, setQuery } from './location.svelte';
import { pageOf } from './routes';

export class TableState<Filter extends string = never> {
  readonly #filters: readonly Filter[];
  readonly #pageName: string;
  readonly #page = $derived.by(() => pageOf(place.query.get(this.#pageName)));
  // Text, so that changes of other tables in the address change nothing here.
  readonly #texts = $derived.by(() => JSON.stringify(this.#filters.map((name) => place.query.get(name) ?? '')));

  /** `pageName`: of the second table of a page. */
  constructor(filters: readonly Filter[] = [], pageName = 'page') {
    this.#filters = filters;
    this.#pageName = pageName;
  }

  get page(): number {
    return this.#page;
  }

  set page(to: number) {
    setQuery({ [this.#pageName]: to > 1 ? String(to) : undefined }, true);
  }

  get(filter: Filter): string {
    const texts = JSON.parse(this.#texts) as string[];
    return texts[this.#filters.indexOf(filter)] ?? '';
  }

  /** Starts at the first page. */
  set(filter: Filter, text: string) {
    setQuery({ [this.#pageName]: undefined, [filter]: text }, true);
  }
}
