/**
 * A program's events as they arrive. Read with `fetch`, because `EventSource` can neither send a credential nor
 * report why it was rejected.
 */
import { ApiError, request } from './client';
import type { LiveEventView } from './operations';
import { texts } from '../texts/api';

export type LiveEvent = LiveEventView;

export interface Listener {
  /** The stream is open. */
  open(): void;
  event(event: LiveEvent): void;
  /** More events of a type came than are shown. */
  dropped?(type: LiveEvent['event_type']): void;
  /** Where the stream is: given to the next `watch`, it goes on there. */
  at?(id: string): void;
  /** The stream has ended; it is reopened unless `final`. */
  lost(error: ApiError, final: boolean): void;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/**
 * Watches until the signal is aborted, from where an earlier stream stopped. When the stream ends it is reopened there, so that nothing is
 * missed; an event may come twice.
 */
export async function watch(
  programId: number,
  listener: Listener,
  signal: AbortSignal,
  stoppedAt?: string,
): Promise<void> {
  let wait = FIRST_WAIT_MS;
  let place = stoppedAt;
  const at = (id: string) => {
    place = id;
    listener.at?.(id);
  };
  while (!signal.aborted) {
    try {
      const response = await request('GET /api/tracking/live/{program_id}', {
        path: { program_id: programId },
        ...(place ? { headers: { 'Last-Event-ID': place } } : {}),
        signal,
      });
      wait = FIRST_WAIT_MS;
      await read(response, { ...listener, at });
      if (!signal.aborted) listener.lost(new ApiError(0, texts.streamEnded), false);
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof ApiError ? error : new ApiError(0, texts.connectionLost);
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
      const { event, dropped, id } = parsed(block);
      if (event) listener.event(event);
      if (dropped) listener.dropped?.(dropped);
      if (id) listener.at?.(id);
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

export interface Block {
  event?: LiveEvent;
  /** Of this type more came than are shown. */
  dropped?: LiveEvent['event_type'];
  /** Where the stream is. */
  id?: string;
}

export function parsed(block: string): Block {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [name = '', ...rest] = line.split(':');
    fields.set(name, rest.join(':').trimStart());
  }
  const [data, id] = [fields.get('data'), fields.get('id')];
  const place = id ? { id } : {};
  if (!data) return place;
  const event = JSON.parse(data) as LiveEvent;
  return fields.get('event') === 'dropped' ? { ...place, dropped: event.event_type } : { ...place, event };
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
