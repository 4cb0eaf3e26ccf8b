/** Data of a page: loaded when the page opens, and again when its dependencies change. */
import { untrack } from 'svelte';
import { ApiError } from '../api/client';

export class Resource<T> {
  data = $state.raw<T>();
  error = $state.raw<unknown>();
  loading = $state(true);
  #version = $state(0);
  #asked = 0;

  /** `load` is run again when state it reads before its first await changes. Made while a component is. */
  constructor(load: () => Promise<T>) {
    $effect(() => {
      void this.#version;
      const asked = ++this.#asked;
      untrack(() => (this.loading = true));
      load().then(
        (data) => this.#settle(asked, () => ((this.data = data), (this.error = undefined))),
        (error: unknown) => this.#settle(asked, () => (this.error = error)),
      );
    });
  }

  reload() {
    this.#version += 1;
  }

  /** Ignores a response that a later request has overtaken. */
  #settle(asked: number, take: () => void) {
    if (asked !== this.#asked) return;
    take();
    this.loading = false;
  }
}

export function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 403 || error.status === 404);
}
