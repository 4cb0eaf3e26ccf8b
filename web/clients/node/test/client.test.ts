import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import test from 'node:test';
import { RefusedError, Tracker, TrackerError, UnavailableError, type TrackerOptions } from '../src/index.js';
import { Stage } from './stage.js';

const SALE = { transaction_id: 'order-1', amount_cents: 4900, customer_key: 'user-1' };
const RECORDED = { success: true, sale_id: 311, commission_id: 208, message: 'Sale tracked successfully' };

function tracker(stage: Stage, options: Partial<TrackerOptions> = {}): Tracker {
  return new Tracker({ url: 'https://track.example/', key: 'aff_secret', ...stage.options(), ...options });
}

test('a sale is sent as the API has it', async () => {
  const stage = new Stage([{ status: 200, body: RECORDED }]);
  const outcome = await tracker(stage).sale({ ...SALE, click_id: undefined });
  assert.equal(outcome.kind === 'recorded' && outcome.sale_id, 311);
  const [request] = stage.requests;
  assert.equal(request?.url, 'https://track.example/api/v1/track/sale');
  assert.equal(request?.headers.get('authorization'), 'Bearer aff_secret');
  assert.match(request?.headers.get('user-agent') ?? '', /^referral-tracker-node\/\d/);
  assert.deepEqual(request?.body, SALE);
});

test('it is sent again with the same transaction_id, later each time', async () => {
  const stage = new Stage([{ status: 500 }, 'lost', { status: 503, retryAfter: '7' }, { status: 409, body: duplicate() }]);
  const outcome = await tracker(stage).sale(SALE);
  assert.equal(outcome.kind, 'already_done');
  assert.deepEqual(stage.requests.map(({ body }) => body), [SALE, SALE, SALE, SALE]);
  assert.deepEqual(stage.slept, [187.5, 375, 7500]);
});

test('after the last attempt it is unavailable, and maybe recorded', async () => {
  const stage = new Stage([{ status: 500 }, { status: 503 }, { status: 503 }, { status: 429, retryAfter: '1' }]);
  await assert.rejects(tracker(stage).sale(SALE), (error) => {
    assert(error instanceof UnavailableError);
    assert.deepEqual([error.attempts, error.status, error.isUnknown, error.retryAfterSeconds], [4, 429, true, 1]);
    return true;
  });
});

test('nothing that was only rejected is in doubt', async () => {
  const stage = new Stage([{ status: 503 }, 'refused']);
  await assert.rejects(tracker(stage, { attempts: 2 }).sale(SALE), (error) => {
    return error instanceof UnavailableError && !error.isUnknown && error.status === null;
  });
});

test('it does not wait beyond its time', async () => {
  const stage = new Stage([{ status: 429, retryAfter: '45' }]);
  await assert.rejects(tracker(stage).sale(SALE), (error) => {
    return error instanceof UnavailableError && error.attempts === 1 && error.retryAfterSeconds === 45;
  });
  assert.deepEqual(stage.slept, []);
});

test('a click that may have been counted is not sent again', async () => {
  const click = { affiliate_url: 'https://shop.example/?aff=ada' };
  for (const failure of [{ status: 500 }, 'lost'] as const) {
    const stage = new Stage([failure]);
    await assert.rejects(tracker(stage).click(click), (error) => error instanceof UnavailableError && error.isUnknown);
  }
  const stage = new Stage(['refused', { status: 503 }, { status: 200, body: clicked() }]);
  const outcome = await tracker(stage).click(click);
  assert.equal(outcome.kind === 'recorded' && outcome.click_id, 'cust_1_2');
});

test('a call of nobody is sent in test mode', async () => {
  const answer = { success: true, message: 'm', data: { eventId: 3, programId: 1, test_mode: true } };
  const stage = new Stage([{ status: 200, body: answer }]);
  assert.equal((await tracker(stage, { testMode: true }).sale({ transaction_id: '1', amount_cents: 1 })).kind, 'test');
});

test('a call without a body is a mistake', async () => {
  const client = tracker(new Stage([]), { testMode: true }) as unknown as Record<string, (body?: unknown) => Promise<unknown>>;
  for (const noun of ['click', 'lead', 'sale', 'refund']) {
    for (const body of [undefined, null, 'order-1', [SALE]]) {
      await assert.rejects(client[noun]!(body), { name: 'RefusedError', status: null, code: 'invalid_call' });
    }
  }
});

test('further fields are part of additional_data', async () => {
  const stage = new Stage([{ status: 200, body: RECORDED }]);
  const additional_data = { plan: 'gold', program_id: 1 };
  await tracker(stage).sale({ ...SALE, additional_data });
  await tracker(new Stage([{ status: 200, body: clicked() }])).click({ affiliate_url: 'https://shop.example', additional_data: { plan: 'gold' } });
  assert.deepEqual(stage.requests[0]?.body, { ...SALE, additional_data });
});

test('a call that is aborted tells what is known', async () => {
  const cause = new Error('closed');
  const stage = new Stage([{ status: 503 }, 'silence']);
  const inWait = new AbortController();
  stage.onSleep = () => inWait.abort(cause);
  await assert.rejects(tracker(stage).track('sale', SALE, { signal: inWait.signal }), (error) => {
    return error instanceof UnavailableError && error.status === 503 && error.attempts === 1 && !error.isUnknown;
  });
  const inFlight = new AbortController();
  stage.onSilence = () => inFlight.abort(cause);
  await assert.rejects(tracker(stage).track('sale', SALE, { signal: inFlight.signal }), (error) => {
    return error instanceof UnavailableError && error.isUnknown && error.attempts === 1 && error.cause === cause;
  });
  assert.equal(stage.requests.length, 2);
});

test('a mistake is thrown at once', async () => {
  const body = { data: null, error: { status: 401, name: 'UnauthorizedError', message: 'Invalid API token', details: {} } };
  const stage = new Stage([{ status: 401, body, requestId: 'r-9' }]);
  await assert.rejects(tracker(stage).sale(SALE), (error) => {
    return error instanceof RefusedError && error.message === 'Invalid API token' && error.requestId === 'r-9';
  });
});

test('test mode is added to what is sent', async () => {
  const answer = { success: true, message: 'm', data: { eventId: 3, programId: 1, test_mode: true } };
  const stage = new Stage([{ status: 200, body: answer }]);
  const outcome = await tracker(stage, { testMode: true }).lead({ additional_data: { program_id: 1 } });
  assert.deepEqual(outcome, { kind: 'test', event_id: 3, program_id: 1 });
  assert.deepEqual(stage.requests[0]?.body, { additional_data: { program_id: 1, test_mode: true } });
});

test('warnings about the key are told, and change no outcome', async () => {
  const warnings = [{ code: 'api_key_rotation_required', message: 'm', hint: 'h', rotate_by: 't', docs_url: 'u' }];
  const stage = new Stage([{ status: 200, body: { ...RECORDED, warnings } }]);
  const told: unknown[] = [];
  const onWarnings = (warnings: unknown) => {
    told.push(warnings);
    throw new Error('of the listener');
  };
  assert.equal((await tracker(stage, { onWarnings }).sale(SALE)).kind, 'recorded');
  assert.deepEqual(told, [warnings]);
});

test('the key is in no text of the client', () => {
  const shown = inspect(tracker(new Stage([])), { depth: 9, showHidden: true });
  assert(!shown.includes('aff_secret'), shown);
});

test('an address or a key that cannot be right is a mistake of the set-up', () => {
  for (const url of ['', 'track.example', 'ftp://track.example']) assert.throws(() => new Tracker({ url }), TrackerError);
  assert.throws(() => new Tracker({ url: 'https://track.example', key: 'aff_a\n' }), TrackerError);
});

test('a real server: no connection, silence, a redirect', async () => {
  let answer: (response: import('node:http').ServerResponse) => void = () => {};
  const server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Tracker({ url, attempts: 1, timeoutMs: 200 });
  // Never answers.
  await assert.rejects(client.sale(SALE), (error) => error instanceof UnavailableError && error.isUnknown);
  answer = (response) => response.socket?.destroy();
  await assert.rejects(client.sale(SALE), (error) => error instanceof UnavailableError && error.isUnknown);
  answer = (response) => response.writeHead(301, { location: 'https://elsewhere.example/' }).end();
  await assert.rejects(client.sale(SALE), (error) => error instanceof RefusedError && error.status === 301);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  await assert.rejects(client.sale(SALE), (error) => error instanceof UnavailableError && !error.isUnknown);
});

function duplicate() {
  const message = 'Duplicate transaction_id. This sale has already been recorded.';
  return { data: null, error: { status: 409, name: 'ConflictError', message, details: {} } };
}

function clicked() {
  return { success: true, click_id: 'cust_1_2', partner_code: 'ada', cookie_window_days: 90 };
}
