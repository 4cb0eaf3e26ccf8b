/** The password, asked for again where the service wants it to be recent. */
import { onPasswordRequired } from '../api/client';

class PasswordAgain {
  asked = $state(false);
  #waiting: ((given: boolean) => void)[] = [];

  /** Whoever needs it at the same time waits for the same answer. */
  ask(): Promise<boolean> {
    this.asked = true;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  answer(given: boolean) {
    this.asked = false;
    for (const resolve of this.#waiting.splice(0)) resolve(given);
  }
}

export const passwordAgain = new PasswordAgain();

onPasswordRequired(() => passwordAgain.ask());
