import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookEvent } from './bodies.js';
import { WebhookError } from './errors.js';

/** Of `fetch`, or of `node:http`. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

export interface WebhookOptions {
  /** How old a webhook may be, so that nobody sends a recorded one again. */
  toleranceSeconds?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** A verified webhook. */
export interface Webhook {
  /** The same in every attempt and replay: store it, and do each event once. */
  id: string;
  event: WebhookEvent;
}

const VERSION = 'v1,';
/** Another text than was signed is not read: neither one with replacements, nor one without its first character. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Verifies what the service sends to an endpoint, by the Standard Webhooks specification. */
export class WebhookVerifier {
  readonly #keys: Buffer[];
  readonly #toleranceSeconds: number;
  readonly #now: () => number;

  /** `secret`: of the endpoint (`whsec_…`); two while it is replaced. */
  constructor(secret: string | string[], options: WebhookOptions = {}) {
    this.#keys = [secret].flat().map((text) => Buffer.from(text.replace(/^whsec_/, ''), 'base64'));
    if (this.#keys.length === 0 || this.#keys.some((key) => key.length === 0)) {
      throw new TypeError('the secret of the webhook endpoint is empty');
    }
    this.#toleranceSeconds = options.toleranceSeconds ?? 300;
    this.#now = options.now ?? Date.now;
  }

  /**
   * @param body as it arrived, byte by byte: parsed and written again it is another text.
   * @throws WebhookError
   */
  verify(body: string | Uint8Array, headers: WebhookHeaders): Webhook {
    // What a framework has in place of a body that it did not read.
    if (typeof body !== 'string' && !ArrayBuffer.isView(body)) throw new WebhookError('body');
    const id = header(headers, 'webhook-id');
    const timestamp = header(headers, 'webhook-timestamp');
    const signatures = header(headers, 'webhook-signature');
    if (!id || !timestamp || !signatures) throw new WebhookError('missing_header');
    const age = /^\d{1,12}$/.test(timestamp) ? Math.floor(this.#now() / 1000) - Number(timestamp) : NaN;
    if (!(Math.abs(age) <= this.#toleranceSeconds)) throw new WebhookError('timestamp');
    const candidates = signatures
      .split(' ')
      .filter((signature) => signature.startsWith(VERSION))
      .map((signature) => Buffer.from(signature.slice(VERSION.length), 'base64'));
    const isOurs = this.#keys
      .map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest())
      .some((expected) => candidates.some((candidate) => areEqual(expected, candidate)));
    if (!isOurs) throw new WebhookError('signature');
    return { id, event: parsed(body) };
  }
}

/** In a time that does not depend on where they differ. */
function areEqual(expected: Buffer, candidate: Buffer): boolean {
  return expected.length === candidate.length && timingSafeEqual(expected, candidate);
}

function header(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const key = Object.keys(headers).find((key) => key.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  return Array.isArray(value) ? value[0] : value;
}

function parsed(body: string | Uint8Array): WebhookEvent {
  try {
    const event: unknown = JSON.parse(typeof body === 'string' ? body : UTF8.decode(body));
    if (typeof event === 'object' && event !== null && 'type' in event) return event as WebhookEvent;
  } catch {
    // Below.
  }
  throw new WebhookError('body');
}
