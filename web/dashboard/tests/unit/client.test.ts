import { expect, test, vi } from 'vitest';

vi.stubGlobal('location', { protocol: 'https:', pathname: '/app/partner/payouts/3', search: '' });
const { address, ApiError, call, onProofRequired, onSessionEnd } = await import('../../src/api/client');

const answer = (status: number, body: unknown) =>
  vi.stubGlobal('fetch', vi.fn(async () => new Response(JSON.stringify(body), { status })));

test('an address has its places filled, and of the query what there is', () => {
  expect(address('/api/x/{id}/y', { id: 7 }, { page: 2, type: '', from: undefined })).toBe('/api/x/7/y?page=2');
  expect(address('/api/x/{id}', { id: 'a/b' })).toBe('/api/x/a%2Fb');
});

test('both envelopes of errors become one', async () => {
  answer(400, { data: null, error: { status: 400, name: 'BadRequestError', message: 'short_code is taken', details: {} } });
  await expect(call('GET /api/users/me')).rejects.toMatchObject({ status: 400, message: 'Code is taken', field: 'short_code' });
  answer(429, { error: { code: 'rate_limited', message: 'Too many', retry_after_seconds: 21 } });
  await expect(call('GET /api/users/me')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 21 });
  answer(500, { data: null, error: { message: 'a detail of ours' } });
  await expect(call('GET /api/users/me')).rejects.toThrow(/our side/);
});

test('a 404 of a proxy says nothing of what was asked for: it can be tried again', async () => {
  vi.stubGlobal('fetch', vi.fn(async () => new Response('<html>Not found</html>', { status: 404 })));
  await expect(call('GET /api/users/me')).rejects.toMatchObject({ status: 0 });
  answer(404, { data: null, error: { message: 'Program not found' } });
  await expect(call('GET /api/users/me')).rejects.toMatchObject({ status: 404 });
});

test('who is no longer signed in is told so, once and in one place', async () => {
  const ended = vi.fn(async () => false);
  onSessionEnd(ended);
  answer(401, { data: null, error: { message: 'Missing or invalid credentials' } });
  await expect(call('GET /api/users/me')).rejects.toBeInstanceOf(ApiError);
  expect(ended).toHaveBeenCalledOnce();
  // Who signs in again goes on with what they did.
  const answers = [new Response('{}', { status: 401 }), new Response('{"id":4}')];
  vi.stubGlobal('fetch', vi.fn(async () => answers.shift()));
  onSessionEnd(async () => true);
  expect(await call('GET /api/users/me')).toEqual({ id: 4 });
  answer(401, { error: { message: 'Invalid identifier or password' } });
  await expect(call('POST /api/auth/local', { body: { identifier: 'a', password: 'b' } })).rejects.toMatchObject({ status: 401 });
});

test('a late refusal of the session before does not end the one after', async () => {
  const { credential } = await import('../../src/api/credential');
  const ended = vi.fn(async () => false);
  onSessionEnd(ended);
  let refuse = () => {};
  vi.stubGlobal('fetch', vi.fn(() => new Promise((resolve) => (refuse = () => resolve(new Response('{}', { status: 401 }))))));
  const late = call('GET /api/users/me');
  credential.forget();
  credential.keep('another');
  refuse();
  await expect(late).rejects.toMatchObject({ status: 401 });
  expect(ended).not.toHaveBeenCalled();
});

test('what the first script asked for is asked for once, and again after another page', async () => {
  const { askFirst, forgetSent } = await import('../../src/api/ahead');
  const { match } = await import('../../src/router/routes');
  const me = () => call('GET /api/users/me');
  answer(200, { id: 4 });
  askFirst(match(location.pathname));
  expect(vi.mocked(fetch).mock.calls.map(([to]) => to)).toEqual(['/api/users/me', '/api/partner/payouts/3']);
  expect(await me()).toEqual({ id: 4 });
  expect(fetch).toHaveBeenCalledTimes(2);
  forgetSent();
  await call('GET /api/partner/payouts/{payout_id}', { path: { payout_id: 3 } });
  expect(fetch).toHaveBeenCalledTimes(3);
  // From a proxy before the service.
  vi.stubGlobal('fetch', vi.fn(async () => new Response('<h1>Bad gateway</h1>', { status: 502 })));
  askFirst(undefined);
  await expect(me()).rejects.toMatchObject({ status: 502 });
});

test('what needs the password again is sent once more when it was given', async () => {
  const refused = { data: null, error: { message: 'Confirm your password first', details: { code: 'PASSWORD_REQUIRED' } } };
  const answers = [new Response(JSON.stringify(refused), { status: 403 }), new Response('{"id":4}')];
  vi.stubGlobal('fetch', vi.fn(async () => answers.shift()));
  onProofRequired(async () => true);
  expect(await call('GET /api/users/me')).toEqual({ id: 4 });
  onProofRequired(async () => false);
  answer(403, refused);
  await expect(call('GET /api/users/me')).rejects.toMatchObject({ status: 403, code: 'PASSWORD_REQUIRED' });
  expect(fetch).toHaveBeenCalledOnce();
});

test('what needs a passkey says so to who asks for it, and is sent once more', async () => {
  const refused = { data: null, error: { message: 'Confirm with a passkey', details: { code: 'PASSKEY_REQUIRED' } } };
  const answers = [new Response(JSON.stringify(refused), { status: 403 }), new Response('{"id":4}')];
  vi.stubGlobal('fetch', vi.fn(async () => answers.shift()));
  const ask = vi.fn(async () => true);
  onProofRequired(ask);
  expect(await call('GET /api/users/me')).toEqual({ id: 4 });
  expect(ask).toHaveBeenCalledExactlyOnceWith('PASSKEY_REQUIRED');
});

test('a service that is not there is told apart from one that refuses', async () => {
  vi.stubGlobal('fetch', vi.fn(async () => Promise.reject(new TypeError('network'))));
  await expect(call('GET /api/users/me')).rejects.toMatchObject({ status: 0 });
  // It breaks in the middle of an answer.
  vi.stubGlobal('fetch', vi.fn(async () => new Response('{"id":')));
  await expect(call('GET /api/users/me')).rejects.toMatchObject({ status: 0 });
});
