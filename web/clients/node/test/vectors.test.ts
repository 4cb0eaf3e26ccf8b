import assert from 'node:assert/strict';
import test from 'node:test';
import { Webhook } from 'standardwebhooks';
import { clickIdFrom } from '../src/cookies.js';
import { RefusedError, WebhookError } from '../src/errors.js';
import { outcomeOf } from '../src/outcomes.js';
import { mayRetry, retryAfter, wait } from '../src/retry.js';
import { WebhookVerifier } from '../src/webhooks.js';
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
