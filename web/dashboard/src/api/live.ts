/**
 * A program's events as they arrive. Read with `fetch`, because `EventSource` can neither send a credential nor
 * report why it was rejected.
 */
import { ApiError, request } from './client';
import type { LiveEventView } from './operations';

export type LiveEvent = LiveEventView;

export interface Listener {
  /** The stream is open. */
  open(): void;
  event(event: LiveEvent): void;
  /** The stream has ended; it is reopened unless `final`. */
  lost(error: ApiError, final: boolean): void;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Watches until the signal is aborted, reopening the stream when it ends. */
export async function watch(programId: number, listener: Listener, signal: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      const response = await request('GET /api/tracking/live/{program_id}', {
        path: { program_id: programId },
        signal,
      });
      wait = FIRST_WAIT_MS;
      await read(response, listener);
      if (!signal.aborted) listener.lost(new ApiError(0, 'The stream has ended.'), false);
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof ApiError ? error : new ApiError(0, 'The connection was lost.');
      const final = [401, 403, 404].includes(why.status);
      listener.lost(why, final);
      if (final) return;
    }
    // Jitter: many tabs lose their stream at the same moment.
    await pause(wait / 2 + (Math.random() * wait) / 2, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function read(response: Response, listener: Listener) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  const blocks = new Blocks();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    for (const block of blocks.push(value)) {
      if (block.startsWith(':')) listener.open();
      const event = parsed(block);
      if (event) listener.event(event);
    }
  }
}

/** Splits a stream of text into blocks, which end with an empty line. */
export class Blocks {
  #rest = '';

  push(text: string): string[] {
    this.#rest += text;
    const blocks = this.#rest.split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks;
  }
}

/** The event of a block; `undefined` for comments and for notices of dropped events. */
export function parsed(block: string): LiveEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [name = '', ...rest] = line.split(':');
    fields.set(name, rest.join(':').trimStart());
  }
  const data = fields.get('data');
  if (!data || fields.get('event') === 'dropped') return undefined;
  return JSON.parse(data) as LiveEvent;
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
