import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'node:test';
import { Tracker } from '../../src/index.js';
import { example, json, start, write } from '../express.js';
import { blocks, page } from '../page.js';
import { freePort, webhook } from '../servers.js';
import { setting } from './owner.js';

const tracker = new Tracker({ url: setting('BASE_URL'), key: setting('DEMO_API_KEY') });
const [WEBHOOK_SECRET = '', OTHER_SECRET = ''] = [randomBytes(32), randomBytes(32)].map((key) => `whsec_${key.toString('base64')}`);
const settings = { TRACKER_URL: setting('BASE_URL'), TRACKER_API_KEY: setting('DEMO_API_KEY'), WEBHOOK_SECRET };

async function clickId(): Promise<string> {
  const click = await tracker.click({ affiliate_url: `https://shop.example/?aff=${setting('DEMO_AFF_A')}` });
  assert(click.kind === 'recorded');
  return click.click_id;
}

test('Express', async () => {
  const port = await freePort();
  const server = await start('express.mjs', example(), port, settings);
  try {
    const url = `http://127.0.0.1:${port}`;
    const [userId, orderId] = [`express ${randomUUID()}`, `express ${randomUUID()}`];
    const user = { id: userId, email: 'jane@shop.example' };
    const signup = await fetch(`${url}/signup`, json(user, `tracker_click_id=${await clickId()}`));
    assert.equal(signup.status, 201, server.printed);
    const order = { id: orderId, cents: 4900, userId };
    assert.equal((await fetch(`${url}/orders`, json(order))).status, 201, server.printed);
    // Somebody who came without a link.
    assert.equal((await fetch(`${url}/signup`, json({ id: randomUUID() }))).status, 201, server.printed);
    assert.equal((await fetch(`${url}/webhooks/referrals`, webhook(WEBHOOK_SECRET, 'cust_1_2'))).status, 204, server.printed);
    assert.equal((await fetch(`${url}/webhooks/referrals`, webhook(OTHER_SECRET, 'cust_1_2'))).status, 400, server.printed);
    server.terminate();
    assert.equal(await server.end(), 0, server.printed);
    assert.match(server.printed, /^remembered evt_\S+ sale.recorded\n$/);
    const again = { transaction_id: orderId, amount_cents: 4900, customer_key: userId };
    assert.equal((await tracker.sale(again)).kind, 'already_done');
  } finally {
    server.kill();
  }
});

test('the readme: ten lines to the first sale', async () => {
  const [code = ''] = blocks(page('web/clients/node/README.md'));
  const id = `readme ${randomUUID()}`;
  const yours = `
const request = { headers: { cookie: 'tracker_click_id=${await clickId()}' } }
const [user, order] = [{ id: '${id}', email: 'jane@shop.example' }, { id: '${id}' }]
`;
  Object.assign(process.env, settings);
  await import(write('readme.mjs', yours + code).href);
  assert.equal((await tracker.refund({ transaction_id: id })).kind, 'already_done');
});
