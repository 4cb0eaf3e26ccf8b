/** At no width does a page scroll sideways, and no cell of a table is out of sight: money least of all. */
import { expect, test, type Browser, type Page } from '@playwright/test';
import { OF_PARTNER, OF_PROGRAM, OF_WORKSPACE, OWNER, PARTNER, answerOf, brokenNumbers, code, hiddenCells, program, settled, signIn, tooWide } from './stage';

const WIDTHS = [1280, 1024, 768, 390];
const LANGUAGES = ['en', 'de'] as const;

async function open(browser: Browser, who: typeof OWNER | typeof PARTNER, language: (typeof LANGUAGES)[number]) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await signIn(page, who);
  await settled(page);
  await page.evaluate((chosen) => localStorage.setItem('language', chosen), language);
  return page;
}

/** All pages are looked at, also after one that does not fit. */
const soft = expect.configure({ soft: true });

/** What is out of sight. Code may scroll in its box. */
async function hidden(page: Page): Promise<string[]> {
  const wide = (await tooWide(page)).filter((element) => !/^(PRE|CODE)\b/.test(element));
  return [...(await hiddenCells(page)), ...wide, ...(await brokenNumbers(page))];
}

/** Looks at the page as it is at each width. */
async function fits(page: Page, where: string) {
  await settled(page);
  // What is folded away has tables, too.
  const folded = page.locator('details:not([open]) > summary');
  while ((await folded.count()) > 0) await folded.first().click();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 860 });
    await soft.poll(() => hidden(page), { message: `${where}, ${width} px`, timeout: 3_000 }).toEqual([]);
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

/** The first link of a table, which opens a page of one thing. */
async function first(page: Page, path: string, named?: string) {
  await page.goto(path);
  await settled(page);
  const link = page.getByRole('table').getByRole('link', named ? { name: named } : {}).first();
  const address = await link.getAttribute('href');
  await page.goto(address ?? '');
  await settled(page);
}

for (const language of LANGUAGES) {
  test(`the owner's pages, ${language}`, async ({ browser }) => {
    test.slow();
    const page = await open(browser, OWNER, language);
    const of = `/app/programs/${program()}`;
    for (const path of [...OF_PROGRAM.map((path) => of + path), ...OF_WORKSPACE]) {
      await page.goto(path);
      await fits(page, `${language} ${path.replace(of, '') || 'overview'}`);
    }
    await first(page, `${of}/partners`, code());
    const partner = new URL(page.url()).pathname;
    for (const tab of ['overview', 'links', 'customers', 'commissions', 'payouts', 'notes']) {
      await page.goto(`${partner}?tab=${tab}`);
      await fits(page, `${language} partner ${tab}`);
    }
    for (const [path, where] of [[`${of}/events?type=sale`, 'customer'], [`${of}/commissions`, 'sale'], [`${of}/payouts`, 'payout'], [`${of}/webhooks`, 'endpoint']] as const) {
      await first(page, path);
      await fits(page, `${language} ${where}`);
    }
    await page.context().close();
  });

  test(`a partner's pages, ${language}`, async ({ browser }) => {
    const page = await open(browser, PARTNER, language);
    for (const path of OF_PARTNER) {
      await page.goto(`/app/partner${path}`);
      await fits(page, `${language} partner's ${path || 'home'}`);
    }
    await first(page, '/app/partner/payouts');
    await fits(page, `${language} partner's payout`);
    await page.context().close();
  });
}

test('on a desktop what is sold is a table, with its amount in sight', async ({ browser }) => {
  const page = await open(browser, OWNER, 'en');
  const long = 'a-very-long-name-that-nobody-would-give '.repeat(4);
  await page.route('**/api/**/events?**', async (route) => {
    // The overview's latest events are not always sales.
    const url = new URL(route.request().url());
    url.searchParams.set('type', 'sale');
    const answer = await answerOf(route, { url: url.href });
    if (!answer) return;
    for (const event of answer.data) {
      if ('customer_key' in event) event.customer_key = long;
      if (event.partner) event.partner.name = long;
      if ('referrer_url' in event) event.referrer_url = `https://blog.example/${long.replaceAll(' ', '-')}`;
      if ('amount_cents' in event) Object.assign(event, { amount_cents: 987_654_321_012, currency: 'JPY' });
    }
    await route.fulfill({ json: answer });
  });
  for (const width of WIDTHS.slice(0, 3)) {
    await page.setViewportSize({ width, height: 860 });
    for (const path of ['', '/events?type=sale']) {
      await page.goto(`/app/programs/${program()}${path}`);
      await settled(page);
      expect(await hiddenCells(page)).toEqual([]);
      const amount = page.getByText('¥987,654,321,012').first();
      await amount.scrollIntoViewIfNeeded();
      await expect(amount).toBeInViewport({ ratio: 1 });
      await expect(page.locator('.scroll', { has: amount })).not.toHaveClass(/cards/);
    }
  }
  await page.context().close();
});

test('events that arrive live fit', async ({ browser }) => {
  const page = await open(browser, OWNER, 'en');
  const of = { id: 1, program_id: program(), timestamp: '2026-03-01T12:00:00.000Z', click_id: `cust_${'0'.repeat(26)}`, is_test: false };
  const sale = { ...of, event_type: 'sale', amount_cents: 987_654_321_012, currency: 'JPY', is_recurring: false, sale_type: 'payment', processor_event_id: `evt_${'0'.repeat(60)}` };
  const lead = { ...of, event_type: 'lead', customer_key: 'x'.repeat(120), page_url: `https://shop.example/${'long/'.repeat(40)}` };
  const body = [': open', ...[sale, lead].map((event) => `data: ${JSON.stringify(event)}`), ''].join('\n\n');
  await page.route('**/api/tracking/live/**', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
  await page.goto(`/app/programs/${program()}/live`);
  await expect(page.getByText('¥987,654,321,012')).toBeVisible();
  await fits(page, 'live events');
  await page.context().close();
});

/** Without a place to break: an address as a customer's key, a hash, and a name of one word. */
const WORDS = ['customer.with.a.rather.long.name@department.shop.example', 'a'.repeat(64), 'W'.repeat(120)];

for (const word of WORDS) {
  test(`a name of ${word.length} letters fits, ${word.slice(0, 8)}`, async ({ browser }) => {
    const page = await open(browser, OWNER, 'en');
    const of = `/app/programs/${program()}`;
    await first(page, `${of}/partners`, code());
    const partner = new URL(page.url()).pathname;
    await first(page, `${of}/events?type=sale`);
    const customer = new URL(page.url()).pathname;
    await first(page, `${of}/commissions`);
    const sale = new URL(page.url()).pathname;
    await page.route(/\/api\/.*\/(partners|customers|sales)\/\d+$/, async (route) => {
      const answer = await answerOf(route);
      if (!answer) return;
      for (const name of ['name', 'email', 'customer_key']) if (name in answer.data) answer.data[name] = word;
      for (const { event } of answer.data.timeline ?? []) if (event?.transaction_id) event.transaction_id = word;
      await route.fulfill({ json: answer });
    });
    await page.route('**/api/**/customers?*', async (route) => {
      const answer = await answerOf(route);
      if (!answer) return;
      for (const one of answer.data) one.customer_key = word;
      await route.fulfill({ json: answer });
    });
    await page.route('**/api/advertiser/{dashboard/summary,members?*}', async (route) => {
      const answer = await answerOf(route);
      if (!answer) return;
      for (const one of answer.data.programs ?? answer.data) Object.assign(one, { name: word, email: word });
      await route.fulfill({ json: answer });
    });
    for (const path of [partner, `${partner}?tab=links`, `${partner}?tab=notes`, customer, sale, `${of}/customers`, '/app/programs', '/app/members']) {
      await page.goto(path);
      await fits(page, path);
    }
    // What is long takes more lines, and leaves the table one.
    await page.goto('/app/programs');
    await settled(page);
    await expect(page.locator('.scroll').first()).not.toHaveClass(/cards/);
    await page.context().close();
  });
}
