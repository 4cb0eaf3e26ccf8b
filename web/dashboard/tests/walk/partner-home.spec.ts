/** A partner's first page: the link to share, what they are owed and when, the last 30 days, payouts. */
import { expect, test, type Page } from '@playwright/test';
import { PARTNER, complaints, judge, photograph, prepare, settled, signIn, tooWide } from './stage';

const DAY_MS = 86_400_000;
const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
const dateOf = (days: number) =>
  new Intl.DateTimeFormat('en', { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' }).format(new Date(at(days)));

async function open(page: Page) {
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, PARTNER);
  await settled(page);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Home');
  return heard;
}

/** Answers of the service, with other rows in them. */
async function stub(page: Page, list: string, rows: object[]) {
  await page.route(`**/api/partner/${list}?**`, (route) =>
    route.fulfill({ json: { data: rows, meta: { pagination: { page: 1, pageSize: 100, pageCount: 1, total: rows.length } } } }),
  );
}

test('the whole link is copied and shared, by keyboard alone', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await context.addInitScript(() => {
    Object.assign(navigator, { share: async (given: object) => Object.assign(window, { shared: given }) });
  });
  const heard = await open(page);
  const box = page.getByLabel('Page to link to');
  // Whole at once: the program names its website.
  const site = await box.inputValue();
  expect(site).toMatch(/^https:\/\/\S+$/);
  const whole = await page.locator('code').innerText();
  expect(whole.startsWith(site) && /[?&]aff=[\w-]+$/.test(whole), whole).toBe(true);
  await box.focus();
  await box.selectText();
  await page.keyboard.type('not a website');
  await expect(page.getByText('This is not a website address.')).toBeVisible();
  await box.fill('https://shop.example/shoes?size=9');
  await page.keyboard.press('Tab');
  const link = await page.locator('code').innerText();
  expect(link).toMatch(/^https:\/\/shop\.example\/shoes\?size=9&aff=[\w-]+$/);
  await page.getByRole('button', { name: 'Copy your link' }).focus();
  await page.keyboard.press('Enter');
  await expect(page.getByText('Your link copied.')).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => (window as unknown as { shared: { url: string } }).shared.url)).toBe(link);
  await page.getByText('QR code').focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('img', { name: 'QR code of your link' })).toBeVisible();
  await judge(page, 'a partner’s link');
  await photograph(page, 'partner-home-link', { fullPage: true });
  await page.reload();
  await settled(page);
  await expect(box).toHaveValue(site);
  // The list of links has the same one.
  await page.getByRole('link', { name: 'All links' }).click();
  await settled(page);
  await expect(page.getByText(whole.replace('https://', ''))).toBeVisible();
  expect(heard).toEqual([]);
});

test('what was earned in 30 days, and the clicks, are those of the report', async ({ page }) => {
  await open(page);
  const figures = page.getByRole('region', { name: 'The last 30 days' });
  await expect(figures.getByRole('img', { name: /Earned/ })).toBeVisible();
  const report = await page.evaluate(async () => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}` };
    return (await (await fetch('/api/partner/report?period=30d', { headers })).json()).data;
  });
  const inDollars = (of: { currencies: { currency: string; net_commission_cents: number }[] }) =>
    of.currencies.find(({ currency }) => currency === 'USD')?.net_commission_cents ?? 0;
  expect(inDollars(report.total)).toBeGreaterThan(0);
  const dollars = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' });
  await expect(figures.getByText(`: ${dollars.format(inDollars(report.total) / 100)}`)).toBeVisible();
  await figures.getByText('Show as a table').click();
  for (const day of [report.days.at(-2), report.days.at(-9)]) {
    await expect(figures.getByRole('row', { name: day.date })).toContainText(dollars.format(inDollars(day) / 100));
  }
  await figures.getByRole('button', { name: 'Clicks' }).click();
  await expect(page).toHaveURL(/show=Clicks$/);
  await settled(page);
  await expect(figures.getByRole('img', { name: /^Clicks/ })).toBeVisible();
  await expect(figures.getByText(`: ${report.total.clicks.toLocaleString('en')}`)).toBeVisible();
  await judge(page, 'a partner’s clicks by day');
});

test('a payout opens with what it paid', async ({ page }) => {
  const heard = await open(page);
  const latest = page.getByRole('region', { name: 'Latest payouts' });
  const received = await latest.locator('tbody tr').first().locator('strong').innerText();
  await latest.getByRole('link', { name: 'All payouts' }).click();
  await settled(page);
  const first = page.getByRole('table').locator('tbody tr').first();
  await expect(first.locator('strong')).toHaveText(received);
  await first.getByRole('link').click();
  await settled(page);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Payout \d+$/);
  await expect(page.locator('dl strong')).toHaveText(received);
  await judge(page, 'a partner’s payout');
  await photograph(page, 'partner-payout', { fullPage: true });
  expect(heard).toEqual([]);
});

for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
  test(`what is owed, when it becomes payable, and what was paid, ${viewport.width} px`, async ({ page }) => {
    await page.setViewportSize(viewport);
    const payout = { program_id: 1, program_name: 'Shop', commission_count: 2, createdAt: '2026-01-04T10:00:00Z' };
    await stub(page, 'payouts', [
      { ...payout, id: 9, currency: 'JPY', requested_cents: 987_654_321, shortfall_cents: 0, amount_cents: 987_654_321 },
      { ...payout, id: 8, currency: 'USD', requested_cents: 2_000, shortfall_cents: 450, amount_cents: 1_550 },
    ]);
    const balance = { partner_program_id: 1, program_id: 1, program_name: 'Shop', program_status: 'live', balance_cents: 0 };
    const due = (days: number | null, amount_cents: number) => ({ day: days === null ? null : at(days).slice(0, 10), amount_cents });
    await stub(page, 'balances', [
      { ...balance, currency: 'USD', pending_cents: 1_950, approved_cents: 0, paid_cents: 2_000, debt_cents: 500, dues: [due(10, 1_250), due(null, 700)] },
      { ...balance, partner_program_id: 2, program_id: 2, program_name: 'Other shop', currency: 'USD', pending_cents: 50, approved_cents: 300, paid_cents: 0, debt_cents: 0, dues: [] },
      { ...balance, currency: 'JPY', pending_cents: 987_654_321, approved_cents: 987_654_321, paid_cents: 0, debt_cents: 0, dues: [due(40, 987_654_321)] },
    ]);
    const heard = await open(page);
    const owed = page.getByRole('region', { name: 'What you are owed' });
    await expect(owed).toContainText('$19.50');
    const first = owed.getByRole('listitem');
    await expect(first.nth(0)).toHaveText(/In all programs\s*Ready to be paid\s*\$3\.00\s*Pending\s*\$20\.00\s*Paid to you\s*\$20\.00/);
    await expect(first.nth(1)).toHaveText(/^\s*Ready to be paid\s*¥987,654,321\s*Pending\s*¥987,654,321/);
    await expect(owed).toContainText('¥987,654,321');
    await expect(owed).toContainText('$5.00 will be held back from your next payouts');
    await expect(owed.getByRole('list', { name: 'Becomes payable' }).getByRole('listitem')).toHaveText([
      new RegExp(`${dateOf(10)}\\s*\\$12\\.50`),
      /When the advertiser approves it\s*\$7\.00/,
      new RegExp(`${dateOf(40)}\\s*¥987,654,321`),
    ]);
    const paid = page.getByRole('region', { name: 'Latest payouts' });
    await expect(paid.getByRole('row')).toHaveCount(3);
    for (const text of ['Payout 8', '$20.00', '-$4.50', '$15.50']) await expect(paid.getByRole('row').last()).toContainText(text);
    await judge(page, 'a partner’s home');
    expect(await tooWide(page), 'a partner’s home').toEqual([]);
    await photograph(page, `partner-home-${viewport.width}`, { fullPage: true });
    expect(heard).toEqual([]);
  });
}

test('a partner who has nothing yet is told what comes', async ({ page }) => {
  for (const list of ['commissions', 'balances', 'referral-links', 'payouts']) await stub(page, list, []);
  await open(page);
  await expect(page.getByText('No links yet')).toBeVisible();
  await expect(page.getByText('Nothing earned yet')).toBeVisible();
  await expect(page.getByText('No payouts yet')).toBeVisible();
  await judge(page, 'an empty home');
});
