import type { TrackerOptions } from '../src/index.js';

/** What happens to one attempt. */
export type Scene = { status: number; body?: unknown; retryAfter?: string; requestId?: string } | 'lost' | 'refused' | 'silence';

interface Sent {
  url: string;
  headers: Headers;
  body: unknown;
}

/** Stands for the service and the time: answers in order, and a sleep that takes none. */
export class Stage {
  readonly requests: Sent[] = [];
  readonly slept: number[] = [];
  /** Called in each sleep, and before a silence that only an abort ends. */
  onSleep = (): void => {};
  onSilence = (): void => {};
  #now = 1_798_796_400_000;

  constructor(private readonly scenes: Scene[]) {}

  options(): Pick<TrackerOptions, 'fetch' | 'surroundings'> {
    const sleep = async (ms: number, signal?: AbortSignal) => {
      this.slept.push(ms);
      this.#now += ms;
      this.onSleep();
      signal?.throwIfAborted();
    };
    return { fetch: this.#fetch, surroundings: { now: () => this.#now, random: () => 0.5, sleep } };
  }

  #fetch: typeof globalThis.fetch = async (url, request) => {
    const headers = new Headers(request?.headers);
    this.requests.push({ url: String(url), headers, body: JSON.parse(String(request?.body)) });
    const scene = this.scenes.shift();
    if (scene === undefined) throw new Error('nothing was to be sent any more');
    if (scene === 'lost') throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } });
    if (scene === 'refused') throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });
    if (scene === 'silence') {
      this.onSilence();
      return aborted(request?.signal);
    }
    const answer = new Headers();
    if (scene.retryAfter) answer.set('retry-after', scene.retryAfter);
    if (scene.requestId) answer.set('x-request-id', scene.requestId);
    return new Response(JSON.stringify(scene.body ?? {}), { status: scene.status, headers: answer });
  };
}

/** Never resolves. */
function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort);
  });
}
