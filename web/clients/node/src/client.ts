import { setTimeout as sleep } from 'node:timers/promises';
import type { Bodies, Click, Lead, Noun, Refund, RotationWarning, Sale } from './bodies.js';
import { RefusedError, TrackerError, UnavailableError } from './errors.js';
import { VERSION } from './generated/version.js';
import { mistakeOf } from './mistakes.js';
import { outcomeOf, type Outcomes } from './outcomes.js';
import { isUnknown, mayRetry, retryAfter, wait, type Failure } from './retry.js';

export interface Patience {
  /** How often a call is sent at most. */
  attempts: number;
  /** How long a call may take with all its attempts and waits. */
  totalMs: number;
}

export interface CallOptions extends Partial<Patience> {
  /** Ends the call early, an attempt as well as a wait. */
  signal?: AbortSignal | undefined;
}

export interface TrackerOptions extends Partial<Patience> {
  /** The address of the installation, such as `https://track.example`. */
  url: string;
  /** The program's key or a server key (`aff_…`). Clicks and browsers' leads need none. */
  key?: string | undefined;
  /** How long one attempt may take. */
  timeoutMs?: number;
  /** Every event is a test event: shown on the set-up page, and not counted. */
  testMode?: boolean;
  /** Called when the service wants the key to be replaced. Without it, the first such answer is a process warning. */
  onWarnings?: (warnings: RotationWarning[]) => void;
  /** In place of the global one. */
  fetch?: typeof globalThis.fetch;
  /** @internal */
  surroundings?: Surroundings;
}

/** @internal */
export interface Surroundings {
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
  /** Rejects once it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const SYSTEM: Surroundings = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

interface Answer {
  status: number;
  body: unknown;
  requestId: string | null;
  retryAfterSeconds: number | null;
}

/** An attempt that no answer ended. */
interface Silence {
  failure: 'not_sent' | 'lost';
  cause: unknown;
}

/** Failures of connecting: the request was not sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];

/** Calls the service. One instance is enough for a process. */
export class Tracker {
  readonly #url: string;
  // Private to the language, so that no log of this object has it.
  readonly #key: string | undefined;
  readonly #options: Required<Pick<TrackerOptions, 'timeoutMs' | 'attempts' | 'totalMs' | 'testMode'>>;
  readonly #onWarnings: (warnings: RotationWarning[]) => void;
  readonly #fetch: typeof globalThis.fetch;
  readonly #surroundings: Surroundings;

  constructor(options: TrackerOptions) {
    const url = URL.canParse(options.url ?? '') ? new URL(options.url) : undefined;
    if (!url || !['http:', 'https:'].includes(url.protocol)) throw new TrackerError('url must be an http(s) address');
    if (options.key && /[^\x21-\x7e]/.test(options.key)) throw new TrackerError('key has characters that no key has');
    this.#url = options.url.replace(/\/+$/, '');
    this.#key = options.key || undefined;
    this.#options = {
      timeoutMs: options.timeoutMs ?? 10_000,
      attempts: options.attempts ?? 4,
      totalMs: options.totalMs ?? 30_000,
      testMode: options.testMode ?? false,
    };
    this.#onWarnings = options.onWarnings ?? once(warnOfProcess);
    this.#fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
    this.#surroundings = options.surroundings ?? SYSTEM;
  }

  /** A visitor came through a partner's link. The browser script does this; a server reports visits of pages without it. */
  click(click: Click): Promise<Outcomes['click']> {
    return this.track('click', click);
  }

  /** A visitor signed up. */
  lead(lead: Lead): Promise<Outcomes['lead']> {
    return this.track('lead', lead);
  }

  /** A customer paid. */
  sale(sale: Sale): Promise<Outcomes['sale']> {
    return this.track('sale', sale);
  }

  /** Money went back. Name partial refunds by `refund_id`: without one, the same amount again is a repeat. */
  refund(refund: Refund): Promise<Outcomes['refund']> {
    return this.track('refund', refund);
  }

  /**
   * @param options in place of the client's own
   * @throws RefusedError, or UnavailableError after the last attempt
   */
  async track<N extends Noun>(noun: N, body: Bodies[N], options: CallOptions = {}): Promise<Outcomes[N]> {
    const { attempts, totalMs, signal }: Patience & CallOptions = { ...this.#options, ...options };
    const { testMode } = this.#options;
    const mistake = mistakeOf(noun, body, testMode);
    if (mistake !== undefined) throw new RefusedError(mistake, null, 'invalid_call', null);
    const text = JSON.stringify(testMode ? inTestMode(body) : body);
    signal?.throwIfAborted();
    const end = this.#surroundings.now() + totalMs;
    let isInDoubt = false;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#attempt(noun, text, end, signal);
      const failure: Failure = 'failure' in answer ? answer.failure : answer.status;
      isInDoubt ||= isUnknown(failure);
      const mayBeLater = mayRetry(noun, failure);
      if (!mayBeLater && !isUnknown(failure) && !('failure' in answer)) {
        return outcomeOf(noun, answer.status, answer.body, answer.requestId);
      }
      const seconds = 'failure' in answer ? null : answer.retryAfterSeconds;
      const pause = 1000 * wait(attempt, this.#surroundings.random(), seconds);
      const isLast = attempt >= attempts || this.#surroundings.now() + pause >= end;
      const unavailable = new UnavailableError(
        `${noun}: ${describe(failure)} (attempt ${attempt})`,
        attempt,
        'failure' in answer ? null : answer.status,
        isInDoubt,
        seconds,
        { cause: 'failure' in answer ? answer.cause : undefined },
      );
      if (!mayBeLater || isLast || signal?.aborted) throw unavailable;
      await this.#surroundings.sleep(pause, signal).catch(() => {
        throw unavailable;
      });
    }
  }

  async #attempt(noun: Noun, text: string, end: number, call: AbortSignal | undefined): Promise<Answer | Silence> {
    const { now } = this.#surroundings;
    const ms = Math.max(1, Math.min(this.#options.timeoutMs, end - now()));
    const limit = new AbortController();
    const abort = () => limit.abort(call?.reason);
    const timer = setTimeout(() => limit.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
    call?.addEventListener('abort', abort);
    if (call?.aborted) abort();
    try {
      const response = await this.#fetch(`${this.#url}/api/v1/track/${noun}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': `referral-tracker-node/${VERSION}`,
          ...(this.#key && { authorization: `Bearer ${this.#key}` }),
        },
        body: text,
        // The key goes nowhere else.
        redirect: 'manual',
        signal: limit.signal,
      });
      const body = parsed(await response.text());
      this.#tellWarnings(body);
      return {
        status: response.status,
        body,
        requestId: response.headers.get('x-request-id'),
        retryAfterSeconds: retryAfter(response.headers.get('retry-after'), now()),
      };
    } catch (cause) {
      return { failure: wasNotSent(cause) ? 'not_sent' : 'lost', cause };
    } finally {
      clearTimeout(timer);
      call?.removeEventListener('abort', abort);
    }
  }

  #tellWarnings(body: unknown): void {
    const warnings = (body as { warnings?: RotationWarning[] } | null | undefined)?.warnings;
    if (!Array.isArray(warnings) || warnings.length === 0) return;
    try {
      this.#onWarnings(warnings);
    } catch {
      // The call has its answer: what a listener does about a warning cannot change it.
    }
  }
}

function inTestMode(body: object): object {
  const { additional_data } = body as { additional_data?: object };
  return { ...body, additional_data: { ...additional_data, test_mode: true } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Of an address with several IP addresses, all must have refused. */
function wasNotSent(error: unknown): boolean {
  const { cause, code, errors } = (error ?? {}) as { cause?: unknown; code?: unknown; errors?: unknown[] };
  if (Array.isArray(errors) && errors.length > 0) return errors.every(wasNotSent);
  if (typeof code === 'string' && NOT_SENT.includes(code)) return true;
  return cause ? wasNotSent(cause) : false;
}

function describe(failure: Failure): string {
  if (failure === 'not_sent') return 'the service cannot be reached';
  return failure === 'lost' ? 'no answer' : `the service answered ${failure}`;
}

function warnOfProcess([warning]: RotationWarning[]): void {
  process.emitWarning(`${warning?.message} ${warning?.hint}`, { type: 'TrackerWarning', code: warning?.code ?? '' });
}

function once<T>(listener: (value: T) => void): (value: T) => void {
  let isDone = false;
  return (value) => {
    if (isDone) return;
    isDone = true;
    listener(value);
  };
}
