/** Asks for the password or a passkey again when the service requires it, or when the session ends before what was typed is sent. */
import { onProofRequired, onSessionEnd, type ProofNeeded } from '../api/client';
import { isAnyChanged } from './drafts.svelte';
import { session } from './session.svelte';

/** `SIGN_IN`: the session has ended. */
type Needed = ProofNeeded | 'SIGN_IN';
/** What satisfies one satisfies those before it. */
const LEAST_FIRST: readonly Needed[] = ['PASSWORD_REQUIRED', 'PASSKEY_REQUIRED', 'SIGN_IN'];

class PasswordAgain {
  asked = $state<Needed>();
  #waiting: ((given: boolean) => void)[] = [];

  /** Concurrent requests share one prompt; a passkey satisfies both. */
  ask(needed: Needed): Promise<boolean> {
    if (!this.asked || LEAST_FIRST.indexOf(needed) > LEAST_FIRST.indexOf(this.asked)) this.asked = needed;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  answer(given: boolean) {
    this.asked = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve(given);
  }
}

export const passwordAgain = new PasswordAgain();

onProofRequired((needed) => passwordAgain.ask(needed));

onSessionEnd(async () => {
  if (session.user && isAnyChanged() && (await passwordAgain.ask('SIGN_IN'))) return true;
  if (session.user) session.hasEnded = true;
  session.forget();
  return false;
});
