import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { on } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import createClient from 'openapi-fetch';
import { Queue, Tracker, WebhookVerifier } from '../../src/index.js';
import type { paths } from '../generated/openapi.js';
import { Owner, setting } from './owner.js';

const url = setting('BASE_URL');
const key = setting('DEMO_API_KEY');
const affiliate_url = `https://shop.example/?aff=${setting('DEMO_AFF_A')}`;

test('click, lead, sale and refund, and each of them again', async () => {
  const tracker = new Tracker({ url, key });
  const [customer_key, transaction_id] = [`node ${randomUUID()}`, `node ${randomUUID()}`];
  const click = await tracker.click({ affiliate_url });
  assert(click.kind === 'recorded');
  const lead = { click_id: click.click_id, customer_key, email: 'jane@shop.example' };
  assert.deepEqual(await tracker.lead(lead), { kind: 'recorded', provisional: false });
  assert.equal((await tracker.lead(lead)).kind, 'already_done');
  const sale = { transaction_id, amount_cents: 4900, customer_key };
  const recorded = await tracker.sale(sale);
  assert(recorded.kind === 'recorded' && recorded.commission_id !== null);
  assert.equal((await tracker.sale(sale)).kind, 'already_done');
  const part = { transaction_id, refund_amount_cents: 900, refund_id: 'first' };
  const refunded = await tracker.refund(part);
  assert(refunded.kind === 'recorded');
  assert.equal(refunded.status, 'refunded');
  assert.equal((await tracker.refund(part)).kind, 'already_done');
  const rest = await tracker.refund({ transaction_id });
  assert(rest.kind === 'recorded' && rest.status === 'reversed');
  assert.equal((await tracker.refund({ transaction_id })).kind, 'already_done');
});

test('whoever came without a link is not ours', async () => {
  const tracker = new Tracker({ url, key });
  const [customer_key, transaction_id] = [`node ${randomUUID()}`, `node ${randomUUID()}`];
  const reasons = [
    await tracker.click({ affiliate_url: 'https://shop.example/' }),
    await tracker.click({ affiliate_url: 'https://shop.example/?aff=nobody-has-this' }),
    await tracker.lead({ click_id: undefined, customer_key }),
    await tracker.lead({ click_id: 'what a visitor wrote there', customer_key }),
    await tracker.sale({ transaction_id, amount_cents: 4900, customer_key }),
    await tracker.refund({ transaction_id }),
  ].map((outcome) => (outcome.kind === 'not_ours' ? outcome.reason : outcome.kind));
  const nobody = 'customer_not_found';
  assert.deepEqual(reasons, ['no_code', 'link_not_found', nobody, nobody, nobody, 'sale_not_found']);
});

test('mistakes are thrown', async () => {
  const tracker = new Tracker({ url, key });
  await assert.rejects(tracker.lead({}), { name: 'RefusedError', status: null });
  await assert.rejects(tracker.sale({ transaction_id: 'x', amount_cents: 0, customer_key: 'x' }), { status: 400 });
  await assert.rejects(new Tracker({ url, key: 'aff_wrong' }).refund({ transaction_id: 'x' }), { status: 401 });
  await assert.rejects(new Tracker({ url: `${url}/elsewhere`, key }).refund({ transaction_id: 'x' }), { name: 'RefusedError' });
});

test('test mode counts nothing', async () => {
  const tracker = new Tracker({ url, key, testMode: true });
  const sale = { transaction_id: `node ${randomUUID()}`, amount_cents: 4900 };
  assert.equal((await tracker.sale(sale)).kind, 'test');
  assert.equal((await tracker.refund(sale)).kind, 'test');
});

test('a queue sends a customer in order', async () => {
  const tracker = new Tracker({ url, key });
  const kinds: string[] = [];
  const queue = new Queue(tracker, {
    onOutcome: ({ noun }, { kind }) => kinds.push(`${noun} ${kind}`),
    onError: (_, error) => assert.fail(error as Error),
  });
  const [customer_key, transaction_id] = [`node ${randomUUID()}`, `node ${randomUUID()}`];
  const click = await tracker.click({ affiliate_url });
  assert(click.kind === 'recorded');
  queue.lead({ click_id: click.click_id, customer_key });
  queue.sale({ transaction_id, amount_cents: 100, customer_key });
  queue.refund({ transaction_id });
  await queue.close();
  assert.deepEqual(kinds, ['lead recorded', 'sale recorded', 'refund recorded']);
});

test('a webhook of the service is verified', async () => {
  const owner = await Owner.signIn(url);
  const server = createServer();
  const deliveries = on(server, 'request') as AsyncIterable<unknown> as AsyncIterable<[IncomingMessage, ServerResponse]>;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endpoint = await owner.endpoint(`http://127.0.0.1:${port}/`, 'sale.recorded');
  try {
    await owner.ask('POST', `${endpoint.path}/test`, { type: 'sale.recorded' });
    for await (const [request, response] of deliveries) {
      const body = Buffer.concat(await request.toArray());
      response.writeHead(204).end();
      const { event } = new WebhookVerifier(endpoint.secret).verify(body, request.headers);
      assert(event.type === 'sale.recorded');
      assert.equal(typeof event.data.amount_cents, 'number');
      // A sale of a test before this one may arrive first.
      if (!event.is_test) continue;
      const other = new WebhookVerifier(`whsec_${Buffer.alloc(32).toString('base64')}`);
      assert.throws(() => other.verify(body, request.headers), { reason: 'signature' });
      break;
    }
  } finally {
    await owner.ask('DELETE', endpoint.path);
    server.close();
    server.closeAllConnections();
  }
});

test('a client that openapi-typescript makes of the whole description', async () => {
  const api = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${key}` } });
  const [customer_key, transaction_id] = [`node ${randomUUID()}`, `node ${randomUUID()}`];
  const click = await api.POST('/api/v1/track/click', { body: { affiliate_url } });
  assert(click.data && 'click_id' in click.data);
  const { click_id } = click.data;
  const lead = await api.POST('/api/v1/track/lead', { body: { click_id, customer_key } });
  assert.equal(lead.data?.success, true);
  const line_items = [{ sku: 'starter-kit', quantity: 1 }];
  const sale = { transaction_id, amount_cents: 4900, customer_key, line_items };
  const recorded = await api.POST('/api/v1/track/sale', { body: sale });
  assert(recorded.data && 'sale_id' in recorded.data);
  assert.equal(typeof recorded.data.sale_id, 'number');
  const again = await api.POST('/api/v1/track/sale', { body: sale });
  assert.equal(again.response.status, 409);
  const refund = await api.POST('/api/v1/track/refund', { body: { transaction_id } });
  assert(refund.data && 'status' in refund.data);
  assert.equal(refund.data.status, 'reversed');
});
