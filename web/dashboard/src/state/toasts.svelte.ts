/** Short notifications of results. */
import { ApiError } from '../api/client';
import { texts } from '../texts/state';

export interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

const SHOWN_MS = 6_000;
const MOST = 3;
let last = 0;

class Toasts {
  list = $state<Toast[]>([]);

  say(text: string, isBad = false) {
    const id = ++last;
    this.list = [...this.list, { id, text, isBad }].slice(-MOST);
    // Errors stay until they are dismissed.
    if (!isBad) setTimeout(() => this.dismiss(id), SHOWN_MS);
  }

  dismiss(id: number) {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();

export function explain(error: unknown): string {
  return error instanceof ApiError ? error.message : texts.wentWrongHere;
}

/** Runs an action, and shows its error unless the session has ended. */
export async function attempt(work: () => Promise<unknown>) {
  try {
    await work();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;
    toasts.say(explain(error), true);
  }
}
