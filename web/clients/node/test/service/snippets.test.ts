import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import test from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Tracker } from '../../src/index.js';
import { blocks, page, section } from '../page.js';
import { setting } from './owner.js';
import { freePort, webhook } from './servers.js';

const integrate = page('docs/integrate.md');
const tracker = new Tracker({ url: setting('BASE_URL'), key: setting('DEMO_API_KEY') });
const [WEBHOOK_SECRET = '', OTHER_SECRET = ''] = [randomBytes(32), randomBytes(32)].map((key) => `whsec_${key.toString('base64')}`);
const settings = { TRACKER_URL: setting('BASE_URL'), TRACKER_API_KEY: setting('DEMO_API_KEY'), WEBHOOK_SECRET };

/** What the page leaves to its reader. */
const YOURS = `
const createUser = async ({ id, email }) => ({ id, email })
const pay = async (order) => order
const remember = async (id, event) => console.log('remembered', id, event.type)
`;

/** Below `build`, from where the package finds itself and its neighbours. */
function write(path: string, code: string): URL {
  const file = new URL(`../../snippets/${path}`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, code);
  return file;
}

async function clickId(): Promise<string> {
  const click = await tracker.click({ affiliate_url: `https://shop.example/?aff=${setting('DEMO_AFF_A')}` });
  assert(click.kind === 'recorded');
  return click.click_id;
}

const json = (body: object, cookie = ''): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', cookie },
  body: JSON.stringify(body),
});

test('Express', async () => {
  const [code = ''] = blocks(section(integrate, 'Express'));
  const file = write('express.mjs', YOURS + code);
  const port = await freePort();
  const env = { ...process.env, ...settings, PORT: String(port) };
  const server = spawn(process.execPath, [file.pathname], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const hasEnded = once(server, 'exit');
  let printed = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (text) => (printed += text));
  try {
    const url = `http://127.0.0.1:${port}`;
    for (let tries = 0; tries < 200 && !(await fetch(url).catch(() => null)); tries += 1) await pause(50);
    const [userId, orderId] = [`express ${randomUUID()}`, `express ${randomUUID()}`];
    const user = { id: userId, email: 'jane@shop.example' };
    const signup = await fetch(`${url}/signup`, json(user, `tracker_click_id=${await clickId()}`));
    assert.equal(signup.status, 201, printed);
    const order = { id: orderId, cents: 4900, userId };
    assert.equal((await fetch(`${url}/orders`, json(order))).status, 201, printed);
    // Somebody who came without a link.
    assert.equal((await fetch(`${url}/signup`, json({ id: randomUUID() }))).status, 201, printed);
    assert.equal((await fetch(`${url}/webhooks/referrals`, webhook(WEBHOOK_SECRET, 'cust_1_2'))).status, 204, printed);
    assert.equal((await fetch(`${url}/webhooks/referrals`, webhook(OTHER_SECRET, 'cust_1_2'))).status, 400, printed);
    server.kill('SIGTERM');
    const [exitCode] = await hasEnded;
    assert.equal(exitCode, 0, printed);
    assert.match(printed, /^remembered evt_\S+ sale.recorded\n$/);
    const again = { transaction_id: orderId, amount_cents: 4900, customer_key: userId };
    assert.equal((await tracker.sale(again)).kind, 'already_done');
  } finally {
    server.kill('SIGKILL');
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
