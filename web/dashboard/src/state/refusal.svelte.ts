/** Why fields of a form were refused, which is said beside each. */
import { getContext, setContext } from 'svelte';

class Refusal {
  #texts = $state.raw<Readonly<Record<string, string>>>({});

  /** Why the field of this name was refused; '' if it was not. */
  of(field: string): string {
    return this.#texts[field] ?? '';
  }

  refuse(field: string, text: string) {
    this.#texts = { ...this.#texts, [field]: text };
  }

  forget(field: string) {
    if (this.of(field)) this.refuse(field, '');
  }

  forgetAll() {
    this.#texts = {};
  }
}

const REFUSAL = Symbol('refusal');

/** Of a form, for its fields. */
export function refusals(): Refusal {
  return setContext(REFUSAL, new Refusal());
}

/** Of a field's form; what is not in one is never refused. */
export function refusal(): Refusal | undefined {
  return getContext<Refusal>(REFUSAL);
}
