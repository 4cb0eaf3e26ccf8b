import { readFileSync } from 'node:fs';
import type { Noun } from '../src/bodies.js';
import type { Failure } from '../src/retry.js';

/** What both clients must do: `web/clients/vectors/vectors.json`. */
export interface Vectors {
  webhooks: {
    now: number;
    tolerance_seconds: number;
    cases: { name: string; secrets: string[]; headers: Record<string, string>; body: string; error: string | null }[];
  };
  answers: {
    name: string;
    noun: Noun;
    status: number;
    /** Text that is no JSON, or JSON. */
    body: unknown;
    outcome?: Record<string, unknown>;
    error?: { message: string; code: string | null };
  }[];
  retries: { noun: Noun; failure: Failure; retry: boolean }[];
  waits: { cases: { attempt: number; random: number; retry_after: number | null; seconds: number }[] };
  retry_after: { now: number; cases: { header: string | null; seconds: number | null }[] };
  mistakes: { name: string; noun: Noun; body: object; error: string | null }[];
  cookies: { name: string; header: string; click_id: string | null }[];
}

// From `build/test`.
const file = new URL('../../../vectors/vectors.json', import.meta.url);
export const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors;
