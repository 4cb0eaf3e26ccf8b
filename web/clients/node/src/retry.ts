import type { Noun } from './bodies.js';

/** Why there is no usable answer: an HTTP status; no connection, so nothing was sent; or no answer to what was sent. */
export type Failure = number | 'not_sent' | 'lost';

const FIRST_WAIT_SECONDS = 0.25;
const LONGEST_WAIT_SECONDS = 8;

/** The service says that it recorded nothing. */
const NOTHING_RECORDED = [408, 429, 503];
/** The service, or a proxy before it, does not know. */
const UNKNOWN = [500, 502, 504];

/** Whether the event may have been recorded. */
export function isUnknown(failure: Failure): boolean {
  return failure === 'lost' || (typeof failure === 'number' && UNKNOWN.includes(failure));
}

/**
 * Whether to send it again. A sale is known by its transaction_id, a lead by its customer, a refund by its id or amount: a second
 * one has no effect. A click has no such id, and would count twice.
 */
export function mayRetry(noun: Noun, failure: Failure): boolean {
  if (isUnknown(failure)) return noun !== 'click';
  return failure === 'not_sent' || (typeof failure === 'number' && NOTHING_RECORDED.includes(failure));
}

/** Seconds until the next attempt. `attempt`: which one failed, from 1. `random`: from 0 to 1, so that callers do not come together. */
export function wait(attempt: number, random: number, retryAfterSeconds: number | null): number {
  const backoff = Math.min(FIRST_WAIT_SECONDS * 2 ** (attempt - 1), LONGEST_WAIT_SECONDS);
  return Math.max(backoff * (0.5 + random / 2), retryAfterSeconds === null ? 0 : retryAfterSeconds + random);
}

/** The seconds of a `Retry-After`, which is a number or a date. `now`: in milliseconds. */
export function retryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  // Days and months are words there: nothing else that `Date.parse` takes is a date of HTTP.
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000));
}
