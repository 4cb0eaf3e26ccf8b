import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { DeliveryView, EndpointView } from '../../src/api/operations';
import { ALL_TYPES, attemptText, health, verdict } from '../../src/domain/webhooks';

const DELIVERY: DeliveryView = {
  id: 1,
  event_id: 'evt_1',
  type: 'sale.recorded',
  state: 'waiting',
  is_replay: false,
  is_test: true,
  attempts: 0,
  status: null,
  failure: null,
  answer: null,
  duration_ms: null,
  attempted_at: null,
  next_attempt_at: '2026-03-01T12:00:00.000Z',
  finished_at: null,
  created_at: '2026-03-01T12:00:00.000Z',
};
const ENDPOINT: EndpointView = {
  id: 1,
  url: 'https://hooks.example/',
  description: '',
  event_types: ['sale.recorded'],
  enabled: true,
  disabled_reason: null,
  disabled_at: null,
  failing_since: null,
  last_failure_at: null,
  last_success_at: null,
  previous_secret_valid_until: null,
  created_at: '2026-03-01T12:00:00.000Z',
};

test('an endpoint can be sent each type of the catalogue', () => {
  const catalogue = fileURLToPath(new URL('../../../../common/domain/src/programs/outbound_event.rs', import.meta.url));
  const known = [...readFileSync(catalogue, 'utf8').matchAll(/^ +[A-Z]\w+ = "([a-z_.]+)",$/gm)].map(([, name]) => name);
  expect(known.length).toBeGreaterThan(10);
  expect([...ALL_TYPES].sort()).toEqual([...known].sort());
});

test('a test event has an outcome once it was tried', () => {
  expect(verdict(DELIVERY)).toBeUndefined();
  expect(verdict({ ...DELIVERY, state: 'delivered', attempts: 1, status: 204, duration_ms: 1_084 })).toEqual({
    text: 'It answered 204 in 1,084 ms.',
    tone: 'good',
  });
  expect(verdict({ ...DELIVERY, attempts: 1, failure: 'no whole answer in time', duration_ms: 15_000 })?.text).toBe(
    'No whole answer in time in 15,000 ms.',
  );
  expect(verdict({ ...DELIVERY, state: 'cancelled' })?.tone).toBe('bad');
});

test('an attempt is told by its status, or by why there was none', () => {
  expect(attemptText(DELIVERY)).toBe('Not tried yet');
  expect(attemptText({ ...DELIVERY, attempts: 1, status: 500 })).toBe('500');
  expect(attemptText({ ...DELIVERY, attempts: 1, failure: 'the host was not found' })).toBe('The host was not found');
});

test('an endpoint is off, failing, working or new', () => {
  const at = '2026-03-01T12:00:00.000Z';
  expect(health(ENDPOINT).text).toBe('Nothing sent yet');
  expect(health({ ...ENDPOINT, last_success_at: at }).text).toBe('Works');
  expect(health({ ...ENDPOINT, last_success_at: at, failing_since: at }).text).toBe('Failing');
  expect(health({ ...ENDPOINT, enabled: false, disabled_reason: 'gone' })).toMatchObject({ text: 'Off', tone: 'bad' });
});
