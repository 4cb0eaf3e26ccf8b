/** Asks for the password or a passkey again when the service requires it. */
import { onProofRequired, type ProofNeeded } from '../api/client';

class PasswordAgain {
  asked = $state<ProofNeeded>();
  #waiting: ((given: boolean) => void)[] = [];

  /** Concurrent requests share one prompt; a passkey satisfies both. */
  ask(needed: ProofNeeded): Promise<boolean> {
    if (this.asked !== 'PASSKEY_REQUIRED') this.asked = needed;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  answer(given: boolean) {
    this.asked = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve(given);
  }
}

export const passwordAgain = new PasswordAgain();

onProofRequired((needed) => passwordAgain.ask(needed));
