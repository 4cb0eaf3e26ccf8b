/** All requests to the API; every error becomes an [`ApiError`]. */
import type { Operations } from './operations';
import { json, take } from './ahead';
import { credential } from './credential';
import { texts } from '../texts/api';
import { inLanguage } from '../texts/server';

type Operation = keyof Operations;
/** Refused, they say nothing of a session that one works in. */
const OF_NO_SESSION: readonly Operation[] = ['POST /api/auth/local', 'POST /api/auth/passkey', 'POST /api/auth/logout'];
type Given<O extends Operation> = {
  [Part in 'path' | 'query' | 'body' as undefined extends Operations[O][Part] ? never : Part]: Operations[O][Part];
};
/** An operation with only optional parameters can be called without arguments. */
type Arguments<O extends Operation> = Record<never, never> extends Given<O>
  ? [given?: Given<O> & Extra]
  : [given: Given<O> & Extra];
interface Extra {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}
export type Answer<O extends Operation> = Operations[O]['answer'];

export interface Refused {
  commission_id: number;
  reason: string;
}

/** A failed request: rejected by the service, or without an answer (status 0). */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    message: string,
    readonly code?: string,
    readonly retryAfterSeconds?: number,
    /** Of a list of commissions: what keeps each from being changed. */
    readonly reasons: Refused[] = [],
    /** What the message is about, as the service calls it. */
    readonly field?: string,
  ) {
    super(message);
  }
}

/** What somebody typed is refused before it is sent. */
export function refusedField(field: string, message: string): ApiError {
  return new ApiError(400, message, undefined, undefined, [], field);
}

type Ended = () => Promise<boolean>;
let ended: Ended = async () => false;

/** Called when the session has ended; resolves to whether there is another. The request is then retried. */
export function onSessionEnd(listener: Ended) {
  ended = listener;
}

/** A recent password or passkey; or only a passkey, if that is the account's second factor. */
export type ProofNeeded = 'PASSWORD_REQUIRED' | 'PASSKEY_REQUIRED';
type Prove = (needed: ProofNeeded) => Promise<boolean>;
let prove: Prove = async () => false;

/** Asks for a proof; resolves to whether it was given. The request is then retried. */
export function onProofRequired(ask: Prove) {
  prove = ask;
}

export async function call<O extends Operation>(operation: O, ...[given]: Arguments<O>): Promise<Answer<O>> {
  const response = await request(operation, given);
  return (response.status === 204 ? undefined : await whole(response)) as Answer<O>;
}

/** The connection may break in the middle of an answer. */
async function whole(response: Response): Promise<unknown> {
  try {
    return await json(response);
  } catch {
    throw new ApiError(0, texts.unreachable);
  }
}

/** As [`call`], for responses other than JSON: files and streams. */
export async function request<O extends Operation>(operation: O, given?: Arguments<O>[0]): Promise<Response> {
  const [method = 'GET', template = ''] = operation.split(' ');
  const { path, query, body, signal, headers } = (given ?? {}) as {
    path?: Record<string, unknown>;
    query?: Record<string, unknown>;
    body?: unknown;
  } & Extra;
  const to = address(template, path, query);
  const { changes } = credential;
  const ahead = method === 'GET' ? take(to) : undefined;
  const response = await (ahead ?? fetch(to, {
    method,
    headers: {
      ...credential.headers(),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
    credentials: 'same-origin',
    signal: signal ?? null,
  })).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, texts.unreachable);
  });
  if (response.ok) return response;
  const isOfSession = changes === credential.changes && !OF_NO_SESSION.includes(operation);
  if (response.status === 401 && isOfSession && (await ended())) return request(operation, given);
  const error = await refusal(response);
  const needed = error.code;
  if ((needed === 'PASSWORD_REQUIRED' || needed === 'PASSKEY_REQUIRED') && (await prove(needed))) return request(operation, given);
  throw error;
}

/** Fills in the path's parameters and appends the query, without absent and empty values. */
export function address(
  template: string,
  path: Record<string, unknown> = {},
  query: Record<string, unknown> = {},
): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  return search.size > 0 ? `${filled}?${search}` : filled;
}

/** Both envelopes of the contract: `error.code` first, `error.message` for people. */
async function refusal(response: Response): Promise<ApiError> {
  const body = (await Promise.resolve(json(response)).catch(() => ({}))) as {
    error?: { message?: string; code?: string; retry_after_seconds?: number; details?: { code?: string; commissions?: Refused[] } };
  };
  // A proxy's says nothing of what was asked for.
  if (!body.error) return new ApiError([403, 404].includes(response.status) ? 0 : response.status, texts.failed);
  const { message, code, retry_after_seconds: seconds, details } = body.error;
  if (response.status >= 500 && response.status !== 503) return new ApiError(response.status, texts.failed);
  const text = message ? await worded(await inLanguage(message)) : texts.failed;
  const reasons = details?.commissions?.map(async ({ commission_id, reason }) => ({ commission_id, reason: await inLanguage(reason) }));
  return new ApiError(response.status, text, code ?? details?.code, seconds, await Promise.all(reasons ?? []), fieldOf(message));
}

/** The field with whose name a message begins. */
const fieldOf = (message = ''): string | undefined => /^([a-z]+_[a-z_]*[a-z]|[a-z]+)\b/.exec(message)?.[0];

/** Field names are shown as words. */
async function worded(message: string): Promise<string> {
  const field = fieldOf(message);
  if (!field) return message;
  const { FIELDS } = await import('../texts/serverFields').catch(() => ({ FIELDS: {} as Readonly<Record<string, string>> }));
  const words = FIELDS[field] ?? field.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1) + message.slice(field.length);
}
