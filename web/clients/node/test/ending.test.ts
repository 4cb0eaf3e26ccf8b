import assert from 'node:assert/strict';
import test from 'node:test';
import { example, json, start } from './express.js';
import { Program } from './program.js';
import { Service, freePort, webhook } from './servers.js';

/** A process that never ends would else keep the tests waiting. */
const LIMIT = { timeout: 60_000 };
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** Two events of one customer: the second waits for the first. */
const REPORTER = `
const { Queue, Tracker } = await import('${new URL('../src/index.js', import.meta.url).href}');
const onError = ({ noun }, { name, status, isUnknown }) => console.log(noun, name, status, isUnknown);
const queue = new Queue(new Tracker({ url: process.env.TRACKER_URL }), { onError });
process.once('SIGTERM', () => queue.close({ timeoutMs: 1 }));
queue.lead({ customer_key: 'a' });
queue.sale({ transaction_id: '1', amount_cents: 1, customer_key: 'a' });
`;

for (const [name, status, known] of [
  ['hangs', null, 'lead UnavailableError null true'],
  ['answers 503', 503, 'lead UnavailableError 503 false'],
] as const) {
  test(`a closed queue lets its process end while the service ${name}`, LIMIT, async () => {
    const service = await Service.start(status);
    const hasArrived = service.request();
    const program = new Program(['--input-type=module', '--eval', REPORTER], { TRACKER_URL: service.url });
    try {
      await hasArrived;
      program.terminate();
      assert.equal(await program.end(), 0, program.printed);
      assert.deepEqual(program.printed.trim().split('\n'), ['sale QueueError undefined undefined', known]);
    } finally {
      program.kill();
      service.stop();
    }
  });

  test(`the example for Express ends while the service ${name}`, LIMIT, async () => {
    // At once, in place of within the seconds that a container has.
    const limits = [...example().matchAll(/timeoutMs: (\d+)/g)].map(([, ms]) => Number(ms));
    assert(limits.length === 1 && limits.every((ms) => ms < 10_000));
    const code = example().replace(/timeoutMs: \d+/, 'timeoutMs: 1');
    const [port, service] = [await freePort(), await Service.start(status)];
    const env = { TRACKER_URL: service.url, TRACKER_API_KEY: 'aff_secret', WEBHOOK_SECRET };
    const program = await start(`ending-${status}.mjs`, code, port, env);
    try {
      const hasArrived = service.request();
      const order = { id: '1', cents: 4900, userId: 'a' };
      assert.equal((await fetch(`http://127.0.0.1:${port}/orders`, json(order))).status, 201);
      await hasArrived;
      program.terminate();
      assert.equal(await program.end(), 0, program.printed);
      assert.match(program.printed, /^not reported sale UnavailableError/);
    } finally {
      program.kill();
      service.stop();
    }
  });
}

test('the example for Express answers 400 to what is no webhook', LIMIT, async () => {
  const port = await freePort();
  const env = { TRACKER_URL: 'http://127.0.0.1:9', TRACKER_API_KEY: 'aff_secret', WEBHOOK_SECRET };
  const program = await start('webhooks.mjs', example(), port, env);
  const good = webhook(WEBHOOK_SECRET, 'cust_1_2');
  const { 'content-type': _, ...noType } = good.headers;
  const send = async (headers: Record<string, string>, body: Buffer): Promise<[number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks/referrals`, { method: 'POST', headers, body });
    return [answer.status, await answer.text()];
  };
  try {
    const refused = [400, "The webhook's body is no event"];
    assert.deepEqual(await send({ ...noType, 'content-type': 'text/plain' }, Buffer.from(good.body)), refused);
    assert.deepEqual(await send(noType, Buffer.from(good.body)), refused);
    assert.deepEqual(await send(good.headers, Buffer.from(good.body)), [204, '']);
  } finally {
    program.kill();
  }
});
