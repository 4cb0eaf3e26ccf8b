import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { chromium, type Browser } from 'playwright-core';
import { page, section } from '../page.js';
import { freePort, webhook } from '../servers.js';
import { App } from './app.js';
import { Owner, setting } from './owner.js';
import { Shopper, newEndpoint } from './shopper.js';

const PATIENCE_MS = 60_000;
const TYPES = ['lead.created', 'sale.recorded', 'sale.refunded'];
const RECEIVER = '/webhooks/referrals';

interface Event {
  type: string;
  data: { click_id?: string };
}

interface Recorded {
  event_type: string;
  amount_cents?: number | undefined;
  refunded_cents?: number | undefined;
  commissions?: { amount_cents: number; payable_cents: number }[] | undefined;
}

let browser: Browser;
const apps: App[] = [];

before(async () => {
  const args = ['--no-sandbox'];
  browser = await chromium.launch({ executablePath: setting('CHROMIUM'), args });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      apps.forEach((app) => app.stopNow());
      process.exit(1);
    });
  }
});

after(() => browser?.close());

async function until<T>(what: string, read: () => Promise<T> | T, isThere: (value: T) => boolean): Promise<T> {
  for (const end = Date.now() + PATIENCE_MS; ; await pause(100)) {
    const value = await read();
    if (isThere(value)) return value;
    if (Date.now() > end) assert.fail(`${what}: ${JSON.stringify(value, null, 2)}`);
  }
}

/** Waits until the service has this of one visitor, and nothing else; by type. An answer reads sales before refunds. */
async function records(owner: Owner, clickId: string, expected: Recorded[]): Promise<void> {
  const events = `/api/advertiser/affiliate-programs/${setting('DEMO_PROGRAM_ID')}/events`;
  const read = async (): Promise<Recorded[]> => {
    const { data } = (await owner.ask('GET', `${events}?search=${encodeURIComponent(clickId)}`)) as { data: Recorded[] };
    return data.map(inCents).sort((one, other) => (one.event_type < other.event_type ? -1 : 1));
  };
  await until(`expected ${JSON.stringify(expected)}`, read, (found) => isDeepStrictEqual(found, expected));
}

function inCents({ event_type, amount_cents, refunded_cents, commissions }: Recorded): Recorded {
  if (event_type === 'refund') return { event_type, amount_cents };
  if (event_type !== 'sale') return { event_type };
  const earned = commissions?.map(({ amount_cents, payable_cents }) => ({ amount_cents, payable_cents }));
  return { event_type, amount_cents, refunded_cents, commissions: earned };
}

/** A partner's visitor, and somebody who came without a link. */
async function walk(app: App, owner: Owner): Promise<string> {
  const organic = await Shopper.visits(browser, app.url);
  await organic.signsUp(`${randomUUID()}@organic.example`);
  for (const button of ['Pay', 'Refund'] as const) await organic.presses(button);
  assert.equal(await organic.cookie(), undefined);
  await organic.leaves();

  const email = `${randomUUID()}@shop.example`;
  const shopper = await Shopper.visits(browser, `${app.url}/?aff=${setting('DEMO_AFF_A')}`);
  const clickId = await shopper.clickId();
  // At once and twice: the order of reports is the app's concern, and the second of each changes nothing.
  for (let times = 0; times < 2; times += 1) await shopper.signsUp(email);
  for (let times = 0; times < 2; times += 1) await shopper.presses('Pay');
  const sale = { event_type: 'sale', amount_cents: 4900 };
  const before = [{ event_type: 'click' }, { event_type: 'lead' }];
  const paid = { ...sale, refunded_cents: 0, commissions: [{ amount_cents: 980, payable_cents: 980 }] };
  await records(owner, clickId, [...before, paid]);

  // Behind the repeats: one customer's reports are sent in order.
  await shopper.presses('Refund');
  const refunded = { ...sale, refunded_cents: 4900, commissions: [{ amount_cents: 980, payable_cents: 0 }] };
  await records(owner, clickId, [...before, { event_type: 'refund', amount_cents: 4900 }, refunded]);
  await shopper.leaves();
  return clickId;
}

/** The receiver stores what the service signed, once, and nothing else. */
async function receives(app: App, clickId: string, secret: string, stored: (printed: string) => Event[]): Promise<void> {
  const about = (visitor: string): string[] => {
    const events = stored(app.look()).filter(({ data }) => data.click_id === visitor);
    return events.map(({ type }) => type).sort();
  };
  await until('the webhooks', () => about(clickId), ({ length }) => length >= TYPES.length);
  assert.deepEqual(about(clickId), TYPES);

  const visitor = randomUUID();
  const good = webhook(secret, visitor);
  const send = async (body: string): Promise<number> => (await fetch(app.url + RECEIVER, { ...good, body })).status;
  assert.equal(await send(good.body.replace('sale.recorded', 'sale.refunded')), 400);
  assert.deepEqual(about(visitor), []);
  assert.equal(await send(good.body), 204);
  assert.equal(await send(good.body), 204);
  assert.deepEqual(about(visitor), ['sale.recorded']);
}

/** @param stored reads what the section's last block prints */
function follows(heading: string, name: string, stored: (printed: string) => Event[]): void {
  test(heading, { timeout: 900_000 }, async () => {
    const owner = await Owner.signIn(setting('BASE_URL'));
    const port = await freePort();
    const receiver = `http://127.0.0.1:${port}${RECEIVER}`;
    const secret = await newEndpoint(browser, receiver, TYPES);
    const values = {
      'https://track.example': setting('BASE_URL'),
      'aff_…': setting('DEMO_API_KEY'),
      'whsec_…': secret,
    };
    const app = new App(name, section(page('docs/integrate.md'), heading), port, values);
    apps.push(app);
    try {
      await app.start();
      const clickId = await walk(app, owner);
      await receives(app, clickId, secret, stored);
      assert.doesNotMatch(app.printed, /not reported/);
    } catch (error) {
      console.error(app.printed);
      throw error;
    } finally {
      await app.stop();
      await owner.forget(receiver);
    }
  });
}

follows('A Next app', 'next', (printed) =>
  printed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Event),
);

follows('A Django app', 'django', (printed) =>
  (JSON.parse(printed || '[]') as { fields: { body: Event } }[]).map(({ fields }) => fields.body),
);
