import type { TrackerOptions } from '../src/index.js';

/** What happens to one attempt. */
export type Scene = { status: number; body?: unknown; retryAfter?: string; requestId?: string } | 'lost' | 'refused';

interface Sent {
  url: string;
  headers: Headers;
  body: unknown;
}

/** Stands for the service and the time: answers in order, and a sleep that takes none. */
export class Stage {
  readonly requests: Sent[] = [];
  readonly slept: number[] = [];
  #now = 1_798_796_400_000;

  constructor(private readonly scenes: Scene[]) {}

  options(): Pick<TrackerOptions, 'fetch' | 'surroundings'> {
    const sleep = async (ms: number) => {
      this.slept.push(ms);
      this.#now += ms;
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
    const answer = new Headers();
    if (scene.retryAfter) answer.set('retry-after', scene.retryAfter);
    if (scene.requestId) answer.set('x-request-id', scene.requestId);
    return new Response(JSON.stringify(scene.body ?? {}), { status: scene.status, headers: answer });
  };
}
