import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { Bodies } from '../src/bodies.js';
import { Tracker } from '../src/client.js';
import { clickIdFrom } from '../src/cookies.js';
import { RefusedError, WebhookError } from '../src/errors.js';
import { outcomeOf } from '../src/outcomes.js';
import { mayRetry, retryAfter, wait } from '../src/retry.js';
import { WebhookVerifier } from '../src/webhooks.js';
import { Stage } from './stage.js';
import { vectors } from './vectors.js';

for (const { name, noun, status, body, outcome, error } of vectors.answers) {
  test(`answer to a ${noun}: ${name}`, () => {
    if (outcome) {
      assert.deepEqual(outcomeOf(noun, status, body), outcome);
      return;
    }
    assert.throws(
      () => outcomeOf(noun, status, body, 'r-1'),
      (thrown) => {
        assert(thrown instanceof RefusedError);
        const { message, code } = thrown;
        assert.deepEqual({ message, code }, error);
        assert.equal(thrown.status, status);
        assert.equal(thrown.requestId, 'r-1');
        return true;
      },
    );
  });
}

test('retries', () => {
  const decided = vectors.retries.map(({ noun, failure }) => ({ noun, failure, retry: mayRetry(noun, failure) }));
  assert.deepEqual(decided, vectors.retries);
});

test('waits', () => {
  for (const { attempt, random, retry_after, seconds } of vectors.waits.cases) {
    assert.equal(wait(attempt, random, retry_after), seconds, `attempt ${attempt}, ${retry_after}`);
  }
});

test('Retry-After', () => {
  for (const { header, seconds } of vectors.retry_after.cases) {
    assert.equal(retryAfter(header, vectors.retry_after.now * 1000), seconds, `${header}`);
  }
});

for (const { name, noun, body, error } of vectors.mistakes) {
  test(`mistakes: ${name}`, async () => {
    const stage = new Stage([{ status: 200, body: { success: true } }]);
    const tracker = new Tracker({ url: 'https://track.example', key: 'aff_secret', ...stage.options() });
    const done = tracker.track(noun, body as Bodies[typeof noun]);
    if (error === null) {
      await done;
      assert.deepEqual(stage.requests.map(({ body }) => body), [body]);
      return;
    }
    await assert.rejects(done, (thrown) => {
      assert(thrown instanceof RefusedError);
      const { message, status, code, requestId } = thrown;
      assert.deepEqual({ message, status, code, requestId }, { message: error, status: null, code: 'invalid_call', requestId: null });
      return true;
    });
    assert.deepEqual(stage.requests, []);
  });
}

for (const { name, header, click_id } of vectors.cookies) {
  test(`cookies: ${name}`, () => {
    assert.equal(clickIdFrom(header), click_id ?? undefined);
  });
}

const { now, tolerance_seconds, cases } = vectors.webhooks;

for (const { name, secrets, headers, body, error } of cases) {
  test(`webhook: ${name}`, () => {
    const verifier = new WebhookVerifier(secrets, { now: () => now * 1000 });
    const asBytes = Buffer.from(body);
    const capitals = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toUpperCase(), [value]]));
    for (const [text, its] of [[body, headers], [asBytes, new Headers(headers)], [asBytes, capitals]] as const) {
      if (error === null) {
        const { id, event } = verifier.verify(text, its);
        assert.equal(id, headers['webhook-id']);
        assert.deepEqual(event, JSON.parse(body));
      } else {
        assert.throws(
          () => verifier.verify(text, its),
          (thrown) => thrown instanceof WebhookError && thrown.reason === error,
        );
      }
    }
  });
}

test('the signatures of the vectors are those of the library of Standard Webhooks', () => {
  for (const { secrets, headers, body, error, name } of cases.filter(({ error }) => error !== 'body')) {
    const seconds = Number(headers['webhook-timestamp']);
    const isOurs = secrets.some((secret) => {
      const signature = new Webhook(secret).sign(headers['webhook-id'] ?? '', new Date(seconds * 1000), body);
      return (headers['webhook-signature'] ?? '').split(' ').includes(signature);
    });
    if (error === null || error === 'signature') assert.equal(isOurs, error === null, name);
  }
  assert.equal(tolerance_seconds, 300);
});

test('an empty secret is a mistake of the set-up', () => {
  for (const secret of ['', 'whsec_', []]) assert.throws(() => new WebhookVerifier(secret), TypeError);
});

/** With headers that are right for it. */
function verify(body: unknown, signed: Uint8Array): unknown {
  const [secret, id] = [Buffer.alloc(32, 7), 'evt_1'];
  const signature = createHmac('sha256', secret).update(`${id}.${now}.`).update(signed).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(now), 'webhook-signature': `v1,${signature}` };
  const verifier = new WebhookVerifier(`whsec_${secret.toString('base64')}`, { now: () => now * 1000 });
  return verifier.verify(body as string, headers).event;
}

test('a body that is no JSON in UTF-8 is refused, though signed', () => {
  const event = { type: 'sale.recorded', data: { note: 'Zoë' } };
  const text = JSON.stringify(event);
  assert.deepEqual(verify(Buffer.from(text), Buffer.from(text)), event);
  const bodies = [
    Buffer.from(text, 'latin1'),
    Buffer.from(text, 'utf16le'),
    Buffer.from(`\ufeff${text}`),
    Buffer.from(text.replace('"Zoë"', 'NaN')),
    Buffer.from(text.replace('"Zoë"', '-Infinity')),
  ];
  for (const body of bodies) assert.throws(() => verify(body, body), { name: 'WebhookError', reason: 'body' });
});

test('what a framework puts in place of a body that it did not read is refused', () => {
  const nothing = Buffer.alloc(0);
  for (const body of [undefined, null, {}, { type: 'sale.recorded' }, 4, []]) {
    assert.throws(() => verify(body, nothing), { name: 'WebhookError', reason: 'body' });
  }
});
