import assert from 'node:assert/strict';
import test from 'node:test';
import {
  Queue,
  QueueError,
  RefusedError,
  Tracker,
  UnavailableError,
  type Outcomes,
  type Queued,
  type QueueOptions,
} from '../src/index.js';
import { Stage, type Scene } from './stage.js';

/** A tracker that answers when told to. */
class Held {
  readonly inFlight: { event: Queued; answer: () => void; refuse: () => void }[] = [];
  readonly order: string[] = [];
  most = 0;

  track(noun: string, body: object, { signal }: { signal: AbortSignal }): Promise<Outcomes['lead']> {
    const event = { noun, body } as Queued;
    return new Promise((resolve, reject) => {
      const settled = (settle: () => void) => () => {
        this.inFlight.splice(this.inFlight.findIndex((other) => other.event === event), 1);
        settle();
      };
      this.order.push(noun);
      signal.addEventListener('abort', settled(() => reject(new UnavailableError('given up', 1, null, true, null))));
      this.inFlight.push({
        event,
        answer: settled(() => resolve({ kind: 'recorded', provisional: false })),
        refuse: settled(() => reject(new RefusedError('no', 400, null, null))),
      });
      this.most = Math.max(this.most, this.inFlight.length);
    });
  }

  /** Answers everything, also what is sent meanwhile. */
  async answerAll(): Promise<void> {
    for (await turn(); this.inFlight.length > 0; await turn()) this.inFlight[0]?.answer();
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

function queue(held: Held, options: Partial<QueueOptions> = {}): Queue {
  const onError = (_: Queued, error: unknown) => assert.fail(error as Error);
  return new Queue(held as unknown as Tracker, { onError, ...options });
}

test('events of one customer keep their order, others do not wait', async () => {
  const held = new Held();
  const events = queue(held);
  events.lead({ click_id: 'cust_1_2', customer_key: 'a' });
  events.sale({ transaction_id: '1', amount_cents: 1, customer_key: 'a' });
  events.refund({ transaction_id: '1' });
  events.lead({ customer_key: 'b' });
  await turn();
  assert.deepEqual(held.order, ['lead', 'lead']);
  held.inFlight[0]?.answer();
  await turn();
  assert.deepEqual(held.order, ['lead', 'lead', 'sale']);
  await held.answerAll();
  assert.deepEqual(held.order, ['lead', 'lead', 'sale', 'refund']);
  assert.equal(events.length, 0);
});

test('no more are in flight than may be', async () => {
  const held = new Held();
  const events = queue(held, { concurrency: 3 });
  for (const first of [0, 20]) {
    for (let key = first; key < first + 20; key += 1) events.lead({ customer_key: key });
    await held.answerAll();
    assert.equal(held.most, 3);
  }
  assert.equal(held.order.length, 40);
});

test('a full queue takes nothing', async () => {
  const held = new Held();
  const told: unknown[] = [];
  const events = queue(held, { size: 2, onError: (_, error) => told.push((error as QueueError).reason) });
  const taken = ['a', 'b', 'c'].map((customer_key) => events.lead({ customer_key }));
  assert.deepEqual(taken, [true, true, false]);
  assert.deepEqual(told, ['full']);
  await held.answerAll();
  assert(events.lead({ customer_key: 'c' }));
  await held.answerAll();
  assert.equal(held.order.length, 3);
});

test('flush waits for what was added before; close takes nothing more', async () => {
  const held = new Held();
  const outcomes: string[] = [];
  const told: unknown[] = [];
  const events = queue(held, {
    onOutcome: ({ noun }, { kind }) => outcomes.push(`${noun} ${kind}`),
    onError: (_, error) => told.push((error as QueueError).reason),
  });
  events.lead({ customer_key: 'a' });
  let isFlushed = false;
  const flushed = events.flush().then(() => (isFlushed = true));
  await turn();
  assert(!isFlushed);
  await held.answerAll();
  await flushed;
  assert.deepEqual(outcomes, ['lead recorded']);
  await events.close();
  assert.equal(events.lead({ customer_key: 'b' }), false);
  assert.deepEqual(told, ['closed']);
});

test('a queue that could not tell of errors is a mistake of the set-up', () => {
  for (const options of [undefined, {}]) {
    assert.throws(() => new Queue({} as Tracker, options as unknown as QueueOptions), TypeError);
  }
});

test('what is refused is told, and the next one is sent', async () => {
  const held = new Held();
  const told: unknown[] = [];
  const events = queue(held, { concurrency: 1, onError: ({ noun }, error) => told.push([noun, (error as Error).name]) });
  events.lead({ customer_key: 'a' });
  events.sale({ transaction_id: '1', amount_cents: 1, customer_key: 'a' });
  await turn();
  held.inFlight[0]?.refuse();
  await held.answerAll();
  assert.deepEqual(told, [['lead', 'RefusedError']]);
  assert.deepEqual(held.order, ['lead', 'sale']);
});

test('a queue that is closed in a hurry hands back what was not sent, and then what is in flight', async () => {
  const held = new Held();
  const told: string[] = [];
  const onError = ({ body }: Queued, error: unknown) => {
    told.push(`${(body as { customer_key?: unknown }).customer_key} ${(error as Error).name}`);
  };
  const events = queue(held, { concurrency: 1, onError });
  for (const key of ['a', 'b', 'b']) events.lead({ customer_key: key });
  await turn();
  await events.close({ timeoutMs: 0 });
  assert.deepEqual(told, ['b QueueError', 'b QueueError', 'a UnavailableError']);
  assert.deepEqual(held.order, ['lead']);
  assert.equal(events.length, 0);
});

/** A queue whose service and time are the stage's. */
function staged(scenes: Scene[], told: unknown[]): { stage: Stage; events: Queue } {
  const stage = new Stage(scenes);
  const tracker = new Tracker({ url: 'https://track.example', key: 'aff_secret', ...stage.options() });
  const onError = (_: Queued, error: unknown) => told.push(error);
  return { stage, events: new Queue(tracker, { onError, onOutcome: (_, { kind }) => told.push(kind) }) };
}

const slept = ({ slept }: Stage) => slept.reduce((sum, ms) => sum + ms, 0);
const RECORDED = { status: 200, body: { success: true, sale_id: 311, commission_id: 208, message: 'm' } };
const SALE = { transaction_id: '1', amount_cents: 1, customer_key: 'a' };

test('it outlives a service that cannot be reached for minutes', async () => {
  const told: unknown[] = [];
  const { stage, events } = staged([...Array<Scene>(50).fill('refused'), RECORDED], told);
  events.sale(SALE);
  await events.flush();
  assert.deepEqual(told, ['recorded']);
  assert(slept(stage) > 240_000);
});

test('it gives up after five minutes', async () => {
  const told: unknown[] = [];
  const { stage, events } = staged(Array<Scene>(100).fill('refused'), told);
  events.sale(SALE);
  await events.flush();
  assert(told[0] instanceof UnavailableError && !told[0].isUnknown);
  assert.equal(told[0].attempts, stage.requests.length);
  assert(slept(stage) > 290_000 && slept(stage) < 300_000);
});

test('adding never throws, and the listener is told of mistakes', async () => {
  const told: unknown[] = [];
  const { stage, events } = staged([], told);
  const untyped = events as unknown as Record<string, (body?: unknown) => boolean>;
  const noText = { customer_key: Object.create(null) as object, amount_cents: 1n };
  for (const noun of ['click', 'lead', 'sale', 'refund']) {
    for (const body of [undefined, null, 4, {}, noText, { customer_key: Symbol('a') }]) assert.equal(untyped[noun]?.(body), true);
  }
  events.refund({ transaction_id: '1', refund_amount_cents: 0 });
  stage.onSilence = () => assert.fail();
  await events.flush();
  assert.equal(told.length, 25);
  assert(told.every((error) => error instanceof Error));
});
