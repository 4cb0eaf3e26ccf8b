/** The customers of a program, with what they bought; and the page of one sale, to which every event leads. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test, type APIRequestContext, type Locator, type Page } from '@playwright/test';
import { OWNER, answerOf, apiKey, brokenNumbers, code, complaints, fits, judge, photograph, prepare, program, settled, signIn, tooWide } from './stage';

const run = promisify(execFile);
const VIEWPORTS = [{ width: 1280, height: 860 }, { width: 390, height: 844 }];
const rows = (page: Page) => page.locator('tbody tr');
const cell = (row: Locator, name: string) => row.locator(`td[data-label="${name}"]`);

/** What the raw rows say. */
async function query(sql: string): Promise<string[][]> {
  const { stdout } = await run('psql', [process.env.DATABASE_URL ?? '', '-AtF', '\t', '-c', sql]);
  return stdout.split('\n').filter(Boolean).map((line) => line.split('\t'));
}

async function open(page: Page, path: string) {
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}${path}`);
  await settled(page);
  return heard;
}

async function post(request: APIRequestContext, noun: string, data: object) {
  const answer = await request.post(`/api/v1/track/${noun}`, { data, headers: { Authorization: `Bearer ${apiKey()}` } });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as Record<string, string>;
}

/** `$1,234.50` of 123450. */
const money = (cents: string, currency: string) => new Intl.NumberFormat('en', { style: 'currency', currency }).format(Number(cents) / 100);

for (const viewport of VIEWPORTS) {
  test(`each customer with what the raw rows come to, ${viewport.width} px`, async ({ page }) => {
    await page.setViewportSize(viewport);
    const heard = await open(page, '');
    if (viewport.width < 500) await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Customers', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Customers' })).toBeFocused();
    await settled(page);
    const expected = await query(`
      SELECT coalesce(k.customer_key, k.click_id), CASE k.status WHEN 'lead' THEN 'Lead' ELSE 'Customer' END, coalesce(l.partner, ''),
             count(s.id), coalesce(min(s.currency), ''), coalesce(sum(s.amount_cents - r.back), 0)
      FROM (SELECT * FROM customers WHERE program_id = ${program()} AND status <> 'click' ORDER BY least(signup_date, first_purchase_date) DESC, id DESC LIMIT 25) k
      CROSS JOIN LATERAL (SELECT p.name AS partner FROM referral_links l JOIN partners p ON p.id = l.partner_id
                          WHERE l.id = k.touched_link_ids[cardinality(k.touched_link_ids)]) l
      LEFT JOIN sale_events s ON s.customer_id = k.id AND NOT s.is_test AND s.duplicate_of IS NULL
      LEFT JOIN LATERAL (SELECT coalesce(sum(effective_cents), 0) AS back FROM refunds WHERE sale_id = s.id) r ON true
      GROUP BY k.id, k.customer_key, k.click_id, k.status, l.partner, k.signup_date, k.first_purchase_date
      ORDER BY least(k.signup_date, k.first_purchase_date) DESC, k.id DESC`);
    expect(expected.length).toBeGreaterThan(3);
    expect(expected.some(([, status]) => status === 'Customer')).toBe(true);
    await expect(rows(page)).toHaveCount(expected.length);
    for (const [place, [name = '', status = '', partner = '', sales = '', currency = '', net = '']] of expected.entries()) {
      const row = rows(page).nth(place);
      await expect(row.getByRole('rowheader')).toContainText(name);
      await expect(cell(row, 'Status')).toHaveText(status);
      await expect(cell(row, 'Partner')).toContainText(partner);
      await expect(cell(row, 'Sales')).toHaveText(sales);
      await expect(cell(row, 'Net revenue')).toHaveText(currency ? money(net, currency) : '–');
    }
    await judge(page, 'customers');
    await fits(page, 'customers');
    expect(await tooWide(page), 'customers').toEqual([]);
    expect(await brokenNumbers(page), 'customers').toEqual([]);
    await photograph(page, `customers-${viewport.width}`, { fullPage: true });

    // Back to what was seen, after a look at one.
    const [[name = ''] = []] = expected;
    await rows(page).first().getByRole('link').first().click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText(/\S/);
    await settled(page);
    await expect(page.getByRole('region', { name: 'Customer', exact: true })).toBeVisible();
    await page.goBack();
    await settled(page);
    await expect(rows(page).first().getByRole('rowheader')).toContainText(name);
    expect(heard).toEqual([]);
  });
}

test('customers are narrowed down, sorted and found by what a shop knows', async ({ page }) => {
  const heard = await open(page, '/customers');
  await page.getByLabel('Status').selectOption('lead');
  await expect(page).toHaveURL(/\?status=lead$/);
  await settled(page);
  await expect(rows(page).filter({ has: page.locator('td strong') })).toHaveCount(0);
  await page.getByLabel('Status').selectOption('conversion');
  await settled(page);
  await expect(rows(page).filter({ hasText: 'Lead' })).toHaveCount(0);
  const head = page.getByRole('columnheader', { name: 'First purchase' });
  await head.getByRole('button').click();
  await expect(page).toHaveURL(/\?status=conversion&sort=first_purchase_date&order=desc$/);
  await settled(page);
  await expect(head).toHaveAttribute('aria-sort', 'descending');
  const [[id = ''] = []] = await query(
    `SELECT id FROM customers WHERE program_id = ${program()} AND status = 'conversion' ORDER BY first_purchase_date DESC NULLS LAST, id DESC LIMIT 1`,
  );
  await expect(rows(page).first().getByRole('link').first()).toHaveAttribute('href', `/app/programs/${program()}/customers/${id}`);
  await page.getByRole('columnheader', { name: 'Net revenue' }).getByRole('button').click();
  await expect(page).toHaveURL(/\?status=conversion&sort=net_revenue&order=desc$/);
  await settled(page);
  const best = await query(
    `SELECT k.customer_key, sum(s.amount_cents - coalesce(r.back, 0)) AS net, least(k.signup_date, k.first_purchase_date) AS since
     FROM customers k JOIN sale_events s ON s.customer_id = k.id
     LEFT JOIN LATERAL (SELECT sum(effective_cents) AS back FROM refunds WHERE sale_id = s.id) r ON true
     WHERE k.program_id = ${program()} AND NOT s.is_test AND s.duplicate_of IS NULL AND s.currency = (SELECT currency FROM programs WHERE id = ${program()})
     GROUP BY k.id ORDER BY net DESC, since DESC, k.id DESC LIMIT 5`,
  );
  expect((await rows(page).getByRole('rowheader').allInnerTexts()).slice(0, 5)).toEqual(best.map(([key]) => key));
  await page.goBack();
  await page.goBack();
  await page.goBack();
  await settled(page);
  await expect(page.getByLabel('Status')).toHaveValue('lead');

  await page.goto(`/app/programs/${program()}/customers`);
  const [[transaction = '', customer = ''] = []] = await query(
    `SELECT processor_event_id, customer_id FROM sale_events WHERE program_id = ${program()} AND NOT is_test AND duplicate_of IS NULL ORDER BY id DESC LIMIT 1`,
  );
  const box = page.getByLabel('Search', { exact: true });
  await box.fill(` ${transaction} `);
  await box.press('Enter');
  await expect(page).toHaveURL(`/app/programs/${program()}/customers?search=${encodeURIComponent(transaction)}`);
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page).getByRole('link').first()).toHaveAttribute('href', `/app/programs/${program()}/customers/${customer}`);
  await box.fill('nobody has this key');
  await box.press('Enter');
  await expect(page.getByText('No customer matches these filters')).toBeVisible();
  await judge(page, 'no customers');
  expect(heard).toEqual([]);
});

test('who is in no list yet, and whose data is gone, is said', async ({ page }) => {
  await page.route('**/api/**/customers?*', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    const [first] = answer.data;
    Object.assign(first, { customer_key: null, erased_at: '2026-03-01T12:00:00.000Z', partner: null, partner_program_id: null });
    first.purchases = [
      { currency: 'EUR', sales: 2, revenue_cents: 9_800, refunded_cents: 900 },
      { currency: 'JPY', sales: 1, revenue_cents: 5_000, refunded_cents: 5_000 },
    ];
    await route.fulfill({ json: { ...answer, data: [first] } });
  });
  await open(page, '/customers');
  const row = rows(page).first();
  await expect(row.getByRole('rowheader')).toContainText('Data erased');
  await expect(cell(row, 'Sales')).toHaveText('3');
  await expect(cell(row, 'Net revenue').locator('strong')).toHaveText(['€89.00', '¥0']);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => tooWide(page), { message: 'a customer with two currencies' }).toEqual([]);
  await judge(page, 'a customer with two currencies');
  await photograph(page, 'customers-currencies-390');
  await page.unroute('**/api/**/customers?*');
  await page.route('**/api/**/customers?*', (route) =>
    route.fulfill({ json: { data: [], meta: { pagination: { page: 1, pageSize: 25, pageCount: 0, total: 0 } } } }),
  );
  await page.reload();
  await expect(page.getByText('No customers yet')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Set up the integration' })).toBeVisible();
});

/** Its facts, and what led to it and came of it. */
async function isSale(page: Page, transaction: string) {
  await expect(page).toHaveURL(/\/sales\/\d+$/);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Sale ${transaction}`);
  await settled(page);
}

for (const viewport of VIEWPORTS) {
  test(`one sale, from the click to the balance, and nothing of others, ${viewport.width} px`, async ({ page, request }) => {
    await page.setViewportSize(viewport);
    const now = Date.now();
    const transaction = `walk-sale-${viewport.width}-${now}`;
    const key = `buyer-${viewport.width}-${now}`;
    const { click_id } = await post(request, 'click', { affiliate_url: `https://demo.example/?aff=${code()}` });
    await post(request, 'lead', { click_id, customer_key: key });
    await post(request, 'sale', { transaction_id: transaction, amount_cents: 10_000, currency: 'USD', customer_key: key });
    await post(request, 'sale', { transaction_id: `${transaction}-other`, amount_cents: 700, currency: 'USD', customer_key: key });
    await post(request, 'refund', { transaction_id: transaction, refund_amount_cents: 2_500 });

    const heard = await open(page, `/events?search=${transaction}`);
    const sold = rows(page).filter({ hasText: '$100.00' });
    await expect(sold.getByRole('link', { name: key })).toBeVisible();
    await sold.getByRole('link', { name: transaction }).click();
    await isSale(page, transaction);
    const facts = page.getByRole('region', { name: 'Sale', exact: true });
    await expect(facts).toContainText('$100.00');
    await expect(facts).toContainText('Refunded$25.00');
    await expect(facts.getByRole('link', { name: 'Ada' })).toBeVisible();
    const timeline = page.getByRole('region', { name: 'What happened' });
    for (const kind of ['Click', 'Lead', 'Sale', 'Commission', 'Refund', 'Balance']) {
      await expect(timeline.locator('.badge').getByText(kind, { exact: true }).first()).toBeVisible();
    }
    for (const why of ['Why this partner', 'Why this amount', 'Fast sale']) await expect(timeline.getByText(why)).toHaveCount(1);
    await expect(page.getByText(`${transaction}-other`)).toHaveCount(0);
    await judge(page, 'a sale');
    await fits(page, 'a sale');
    expect(await tooWide(page), 'a sale').toEqual([]);
    await photograph(page, `sale-${viewport.width}`, { fullPage: true });

    await facts.getByRole('link', { name: key }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(key);
    await settled(page);
    await page.getByRole('region', { name: 'What happened' }).getByRole('link', { name: `${transaction}-other` }).first().click();
    await isSale(page, `${transaction}-other`);
    await expect(facts).toContainText('$7.00');
    await expect(facts).not.toContainText('Refunded');

    // From its commission, which is found by the transaction; the file has no others either.
    await page.goto(`/app/programs/${program()}/commissions`);
    await settled(page);
    await page.getByLabel('Transaction', { exact: true }).fill(transaction);
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(new RegExp(`\\?transaction=${transaction}$`));
    await settled(page);
    await expect(rows(page)).toHaveCount(1);
    const file = page.waitForRequest(/\/commissions\/export\.csv/);
    await page.getByRole('button', { name: 'CSV' }).click();
    expect(new URL((await file).url()).searchParams.get('transaction_id')).toBe(transaction);
    await judge(page, 'commissions of a transaction');
    expect(await tooWide(page), 'commissions of a transaction').toEqual([]);
    await rows(page).getByRole('link', { name: transaction }).click();
    await isSale(page, transaction);

    await page.goto(`/app/programs/${program()}/review`);
    await settled(page);
    await page.getByRole('table').getByRole('link', { name: transaction, exact: true }).click();
    await isSale(page, transaction);
    expect(heard).toEqual([]);

    // The other walks begin without them.
    await page.goto(`/app/programs/${program()}/review`);
    await settled(page);
    for (const name of [transaction, `${transaction}-other`]) await page.getByRole('checkbox', { name: `Select the commission of ${name}`, exact: true }).check();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await expect(page.getByText('2 commissions approved.')).toBeVisible();
  });
}

test('of a shared sale each movement says whose it is, and of several sales of which', async ({ page }) => {
  const at = { timestamp: '2026-03-01T12:00:00.000Z', currency: 'USD' };
  const why_rate = { policy_id: 2, commission_type: 'cps_lifetime', rate_bps: 2_000, commissionable_cents: 10_001, sale_currency: 'USD' };
  const commission = (id: number, sale_id: number, partner: number, name: string) => ({
    ...at, kind: 'commission', commission_id: id, sale_id, amount_cents: 1_000,
    commission: {
      transaction_id: `order-${sale_id}`, partner_program_id: partner, partner: { id: partner, name }, status: 'approved', payable_cents: 1_000,
      signals: [], why_partner: { attribution_model: 'linear', referral_link_code: name.toLowerCase() }, why_rate,
    },
  });
  const moved = (commission_id: number, kind: string, amount_cents: number, shortfall_cents = 0) => ({
    ...at, kind: 'ledger', commission_id, sale_id: null, amount_cents,
    ledger: { id: commission_id, kind, partner_program_id: 1, amount_cents, requested_cents: Math.abs(amount_cents) + shortfall_cents, shortfall_cents },
  });
  const timeline = [
    commission(1, 71, 1, 'Ada'), commission(2, 71, 2, 'Grace'), moved(1, 'accrual', 1_000), moved(2, 'accrual', 1_000), moved(2, 'reversal', 0, 77),
  ];
  const customer = { id: 5, click_id: 'cust_5', customer_key: 'user-5', status: 'conversion', first_click_at: at.timestamp, shows_earnings: true, has_older_events: false };
  const later = [commission(3, 72, 1, 'Ada'), moved(3, 'settlement', -77)];
  await page.route('**/api/**/sales/71', (route) => route.fulfill({ json: { data: { ...customer, timeline } } }));
  await page.route('**/api/**/customers/5', (route) => route.fulfill({ json: { data: { ...customer, timeline: [...timeline, ...later] } } }));
  await open(page, '/sales/71');
  const lines = page.getByRole('region', { name: 'What happened' }).getByRole('listitem');
  const partners = `/app/programs/${program()}/partners`;
  await expect(lines.nth(0)).toContainText('20% of $100.01, shared by 2 partners, on every payment');
  await expect(lines.nth(2).getByRole('link')).toHaveText(['Ada']);
  await expect(lines.nth(3).getByRole('link', { name: 'Grace' })).toHaveAttribute('href', `${partners}/2`);
  await expect(lines.nth(4)).toContainText('the remaining $0.77 is taken from later earnings');
  await judge(page, 'a shared sale');

  await page.goto(`/app/programs/${program()}/customers/5`);
  await settled(page);
  await expect(lines.nth(2).getByRole('link', { name: 'order-71' })).toHaveAttribute('href', `/app/programs/${program()}/sales/71`);
  await expect(lines.nth(5)).not.toContainText('shared');
  await expect(lines.nth(6).getByRole('link')).toHaveText(['order-72', 'Ada']);
  await expect(lines.nth(6)).toContainText('An earlier refund or manual change, perhaps of another sale');
  await judge(page, 'a customer of several partners');
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => tooWide(page), { message: 'a customer of several partners' }).toEqual([]);
  await photograph(page, 'shared-390', { fullPage: true });
  await page.setViewportSize({ width: 1280, height: 860 });
  await photograph(page, 'shared-1280', { fullPage: true });
});

test('what arrives live leads to its customer and its sale; a test leads nowhere', async ({ page }) => {
  const of = { timestamp: '2026-03-01T12:00:00.000Z', createdAt: '2026-03-01T12:00:00.000Z', click_id: 'cust_1' };
  const sale = { amount_cents: 4_900, currency: 'USD', is_recurring: false, sale_type: 'payment', payment_status: 'paid' };
  const events = [
    { ...of, ...sale, id: 7, event_type: 'conversion', is_test: false, customer_id: 5, processor_event_id: 'order-live' },
    { ...of, ...sale, id: 8, event_type: 'conversion', is_test: true, customer_id: null, processor_event_id: 'order-test', click_id: 'cust_test' },
    { ...of, id: 9, event_type: 'lead', is_test: false, customer_id: 6, customer_key: 'user-6', click_id: 'cust_6' },
  ];
  const body = [': open', ...events.map((event) => `data: ${JSON.stringify(event)}`), ''].join('\n\n');
  await page.route('**/api/tracking/live/**', (route) => route.fulfill({ contentType: 'text/event-stream', body }));
  await open(page, '/live');
  const table = page.getByRole('table');
  const at = `/app/programs/${program()}`;
  await expect(table.getByRole('link', { name: 'order-live' })).toHaveAttribute('href', `${at}/sales/7`);
  await expect(table.getByRole('link', { name: 'cust_1' })).toHaveAttribute('href', `${at}/customers/5`);
  await expect(table.getByRole('link', { name: 'cust_6' })).toHaveAttribute('href', `${at}/customers/6`);
  await expect(table.getByText('order-test')).toBeVisible();
  await expect(table.getByRole('link')).toHaveCount(3);
});

test('an archived program says what it owes, and a processor what it does not send', async ({ page }) => {
  await page.route(/\/affiliate-programs\?.*archived=true/, async (route) => {
    const unpaid = [{ currency: 'USD', amount_cents: 12_345 }, { currency: 'JPY', amount_cents: 500 }];
    const program = { id: 77, name: 'Closed', currency: 'USD', status: 'archived', updatedAt: '2026-03-01T12:00:00.000Z' };
    const data = [{ ...program, unpaid }, { ...program, id: 78, name: 'Settled', unpaid: [] }];
    await route.fulfill({ json: { data, meta: { pagination: { page: 1, pageSize: 25, pageCount: 1, total: 2 } } } });
  });
  const missing_event_types = [
    { kind: 'charge.refunded', message: 'Refunds were seen, but no charge.refunded.' },
    { kind: 'something.new', message: 'Something new was seen.' },
  ];
  await page.route('**/processor-connection/health', (route) => route.fulfill({ json: { data: { missing_event_types, unresolved_events: [] } } }));
  await open(page, '/processor');
  await expect(page.getByText('charge.refunded is missing among the events of the endpoint')).toContainText('refunds are not deducted');
  await expect(page.getByText('Something new was seen.')).toBeVisible();
  await judge(page, 'a processor that does not send all');
  await page.goto('/app/programs');
  await settled(page);
  const archived = page.getByRole('region', { name: 'Archived programs', exact: true });
  const row = archived.getByRole('row', { name: /Closed/ });
  await expect(row.locator('strong')).toHaveText(['$123.45', '¥500']);
  await expect(row.getByRole('link', { name: 'Payouts of Closed' })).toHaveAttribute('href', '/app/programs/77/payouts');
  await expect(archived.getByRole('row', { name: /Settled/ }).locator('strong')).toHaveCount(0);
  await judge(page, 'archived programs that owe');
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => tooWide(page), { message: 'archived programs' }).toEqual([]);
  await photograph(archived, 'archived-390');
  await page.evaluate(() => localStorage.setItem('language', 'de'));
  await page.goto(`/app/programs/${program()}/processor`);
  await expect(page.getByText('charge.refunded fehlt unter den Ereignissen')).toContainText('Erstattungen werden nicht abgezogen');
});
