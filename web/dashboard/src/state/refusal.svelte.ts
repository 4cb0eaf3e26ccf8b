/** Why a field of a form was refused, which is said beside it. */
import { getContext, setContext } from 'svelte';

class Refusal {
  /** The name of the field; '' if none is refused. */
  field = $state('');
  text = $state('');
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
