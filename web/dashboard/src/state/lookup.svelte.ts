/** What the service finds by what is typed. */
import { Resource } from './resource.svelte';

/** Whoever types goes on within this time. */
const PAUSE_MS = 150;

/** Takes what is typed once the typing pauses, or ends. `again`: it was taken before, in the same typing. */
export class Typing {
  readonly #take: (text: string, again: boolean) => void;
  #again = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Made while a component is. */
  constructor(take: (text: string, again: boolean) => void) {
    this.#take = take;
    $effect(() => () => clearTimeout(this.#timer));
  }

  pause(text: string) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#take(text, this.#again);
      this.#again = true;
    }, PAUSE_MS);
  }

  end(text: string) {
    clearTimeout(this.#timer);
    this.#take(text, this.#again);
    this.#again = false;
  }
}

export interface Found<T> {
  /** What was looked for. */
  by: string;
  rows: readonly T[];
}

/** Looks again once the typing pauses; `typed` is undefined while nothing is to be looked for. */
export class Lookup<T> {
  readonly #typed: () => string | undefined;
  readonly #found: Resource<Found<T>>;

  /** Made while a component is. */
  constructor(typed: () => string | undefined, look: (text: string) => Promise<readonly T[]>) {
    this.#typed = () => typed()?.trim();
    this.#found = new Resource(async () => {
      const text = this.#typed();
      if (text === undefined) return { by: '', rows: [] };
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      // Another look is under way, whose answer counts.
      if (this.#typed() !== text) return { by: '', rows: [] };
      return { by: text, rows: await look(text) };
    });
  }

  /** Of what is typed now: an answer to something else is none. */
  get rows(): readonly T[] {
    const found = this.#found.data;
    return found && found.by === this.#typed() ? found.rows : [];
  }

  get loading(): boolean {
    return this.#found.loading;
  }

  get error(): unknown {
    return this.#found.error;
  }
}
