import type { Bodies, Click, Lead, Noun, Refund, Sale } from './bodies.js';
import type { Patience, Tracker } from './client.js';
import { QueueError } from './errors.js';
import type { Outcomes } from './outcomes.js';

/** One event of the queue. */
export type Queued = { [N in Noun]: { noun: N; body: Bodies[N] } }[Noun];

export interface QueueOptions extends Partial<Patience> {
  /** How many events may wait, those in flight included. */
  size?: number;
  /** How many are in flight at once. */
  concurrency?: number;
  /** Called after each event that has an outcome. */
  onOutcome?: (event: Queued, outcome: Outcomes[Noun]) => void;
  /** Called for each event that was refused, could not be sent, or found no room: store it, or it is lost. */
  onError: (event: Queued, error: unknown) => void;
}

/**
 * More patient than a call that somebody waits for: it outlives a minute's rate limit, and a restart of the service. The time alone is
 * the limit: refused connections come back at once, and would soon use up any number of attempts.
 */
const PATIENCE: Patience = { attempts: Infinity, totalMs: 300_000 };

interface Entry {
  event: Queued;
  isSent: boolean;
  /** Handed to `onError`, because the queue was closed before its turn. */
  isAbandoned: boolean;
  /** Ends the call. Each has its own: a signal that lives as long as the queue would gather listeners. */
  call: AbortController;
}

/**
 * Sends events in the background, several at once. Events that share a customer key, click id or transaction id keep their order: a
 * lead is sent before its customer's sale, a sale before its refund. The queue is in memory: what waits is lost with the process.
 *
 * An event is sent again for five minutes (`totalMs`) from its first attempt, which outlives a restart of the service; then `onError`
 * has it.
 *
 * Adding an event never throws: false means that there was no room, which `onError` is told.
 */
export class Queue {
  readonly #tracker: Tracker;
  readonly #options: Required<QueueOptions>;
  /** Of each id, the latest event. */
  readonly #latest = new Map<string, Promise<void>>();
  readonly #waiting = new Map<Promise<void>, Entry>();
  /** Events whose turn it is, and that no slot is free for. */
  readonly #ready: (() => void)[] = [];
  #freeSlots: number;
  #isClosed = false;

  constructor(tracker: Tracker, options: QueueOptions) {
    // Without types this is easily left out, and then nobody would know of what was lost.
    if (typeof options?.onError !== 'function') throw new TypeError('onError is required');
    this.#tracker = tracker;
    this.#options = { ...PATIENCE, size: 1000, concurrency: 8, onOutcome: () => {}, ...options };
    this.#freeSlots = this.#options.concurrency;
  }

  /** How many events wait or are in flight. */
  get length(): number {
    return this.#waiting.size;
  }

  click(body: Click): boolean {
    return this.#add({ noun: 'click', body });
  }

  lead(body: Lead): boolean {
    return this.#add({ noun: 'lead', body });
  }

  sale(body: Sale): boolean {
    return this.#add({ noun: 'sale', body });
  }

  refund(body: Refund): boolean {
    return this.#add({ noun: 'refund', body });
  }

  /** Resolves once everything that was added before is settled. */
  async flush(): Promise<void> {
    await Promise.all(this.#waiting.keys());
  }

  /**
   * Takes nothing more, and flushes. Call it before the process ends. After `timeoutMs`, everything that is not settled is handed to
   * `onError`: what was not sent with a `QueueError`; what is in flight, or waits for another attempt, is aborted, and has an
   * `UnavailableError` that says whether it may have been recorded. Nothing is sent after that.
   */
  async close({ timeoutMs }: { timeoutMs?: number } = {}): Promise<void> {
    this.#isClosed = true;
    if (timeoutMs === undefined) return this.flush();
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([this.flush(), isLate]);
    clearTimeout(timer);
    for (const entry of this.#waiting.values()) {
      if (entry.isSent) {
        entry.call.abort(new QueueError('closed'));
      } else if (!entry.isAbandoned) {
        entry.isAbandoned = true;
        this.#tell(() => this.#options.onError(entry.event, new QueueError('closed')));
      }
    }
    await this.flush();
  }

  #add(event: Queued): boolean {
    const isFull = this.#waiting.size >= this.#options.size;
    if (this.#isClosed || isFull) {
      this.#tell(() => this.#options.onError(event, new QueueError(this.#isClosed ? 'closed' : 'full')));
      return false;
    }
    const ids = idsOf(event);
    const before = ids.flatMap((id) => this.#latest.get(id) ?? []);
    const entry: Entry = { event, isSent: false, isAbandoned: false, call: new AbortController() };
    const done = this.#settle(entry, before).finally(() => {
      this.#waiting.delete(done);
      ids.filter((id) => this.#latest.get(id) === done).forEach((id) => this.#latest.delete(id));
    });
    this.#waiting.set(done, entry);
    ids.forEach((id) => this.#latest.set(id, done));
    return true;
  }

  async #settle(entry: Entry, before: Promise<void>[]): Promise<void> {
    await Promise.all(before);
    if (this.#freeSlots > 0) this.#freeSlots -= 1;
    else await new Promise<void>((resolve) => this.#ready.push(resolve));
    if (!entry.isAbandoned) await this.#send(entry);
    // The slot goes to the next one, or is free.
    const next = this.#ready.shift();
    if (next) next();
    else this.#freeSlots += 1;
  }

  async #send(entry: Entry): Promise<void> {
    const { event } = entry;
    const { signal } = entry.call;
    const { attempts, totalMs, onOutcome, onError } = this.#options;
    entry.isSent = true;
    try {
      const outcome = await this.#tracker.track(event.noun, event.body, { attempts, totalMs, signal });
      this.#tell(() => onOutcome(event, outcome));
    } catch (error) {
      this.#tell(() => onError(event, error));
    }
  }

  /** A listener that throws must not stop the queue: its error is the process's. */
  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** What orders events: those with one of these in common are sent one after the other. */
function idsOf({ body }: Queued): string[] {
  // Without types there may be none.
  const fields = (body ?? {}) as Record<string, unknown>;
  return ['customer_key', 'click_id', 'transaction_id'].flatMap((name) => {
    const id = textOf(fields[name]);
    return id === '' ? [] : [`${name} ${id}`];
  });
}

function textOf(id: unknown): string {
  try {
    return String(id ?? '');
  } catch {
    // Some objects have no text. The call says what is wrong with it.
    return '';
  }
}
