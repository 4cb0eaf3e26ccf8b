/** On a phone nothing scrolls sideways, tables are cards, and no number is cut or broken. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, PARTNER, judge, pictures, prepare, program, settled, signIn, tooWide } from './stage';

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

const OF_PROGRAM = ['', '/events', '/live', '/integration', '/partners', '/links', '/commissions', '/review', '/customers', '/payouts', '/notifications', '/processor', '/webhooks', '/settings'];
const OF_WORKSPACE = ['/app/programs', '/app/members', '/app/keys', '/app/audit-log', '/app/workspace', '/app/account', '/app/nope'];
const OF_PARTNER = ['', '/programs', '/links', '/clicks', '/commissions', '/payouts', '/notifications'];

async function fits(page: Page, path: string) {
  await page.goto(path);
  await settled(page);
  expect(await tooWide(page), `too wide on ${path}`).toEqual([]);
  const broken = await page.evaluate(() =>
    [...document.querySelectorAll('.number, td.right')]
      .filter((element) => element.checkVisibility() && element.children.length === 0)
      .filter((element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        return lines.size > 1 || element.scrollWidth > element.clientWidth + 1;
      })
      .map((element) => element.textContent),
  );
  expect(broken, `numbers of ${path}`).toEqual([]);
}

test('no page of the owner scrolls sideways', async ({ page }) => {
  test.slow();
  await signIn(page, OWNER);
  for (const path of OF_PROGRAM) await fits(page, `/app/programs/${program()}${path}`);
  for (const path of OF_WORKSPACE) await fits(page, path);
  await page.goto(`/app/programs/${program()}/payouts`);
  await page.getByRole('table').getByRole('link').first().click();
  await settled(page);
  expect(await tooWide(page), 'a payout').toEqual([]);
  await page.goto(`/app/programs/${program()}/partners`);
  await page.getByRole('table').getByRole('link').first().click();
  await settled(page);
  expect(await tooWide(page), 'a partner').toEqual([]);
});

test('no page of a partner scrolls sideways', async ({ page }) => {
  await signIn(page, PARTNER);
  for (const path of OF_PARTNER) await fits(page, `/app/partner${path}`);
});

test('long words and large amounts fit', async ({ page }) => {
  await prepare(page.context());
  await signIn(page, OWNER);
  const long = `order-${'0123456789abcdef'.repeat(8)}`;
  await page.route('**/notifications?**', async (route) => {
    const answer = await (await route.fetch()).json();
    const deduction = { deducted_cents: 987_654_321_012, currency: 'JPY', refund_reason: long };
    const one = { kind: 'commission_reversed', message: `The processor's event ${long} needs review`, read_at: null, deduction };
    answer.data = [1, 2].map((id) => ({ ...one, id, createdAt: '2026-11-26T08:00:00Z' }));
    await route.fulfill({ json: answer });
  });
  await page.route('**/commissions?**', async (route) => {
    const answer = await (await route.fetch()).json();
    for (const one of answer.data) {
      Object.assign(one, { transaction_id: long, currency: 'JPY', payable_cents: 987_654_321_012, amount_cents: 987_654_321_012 });
    }
    await route.fulfill({ json: answer });
  });
  for (const path of ['notifications', 'commissions']) {
    await fits(page, `/app/programs/${program()}/${path}`);
    await page.screenshot({ path: `${pictures}/phone-long-${path}.png` });
  }
  await expect(page.getByText('¥987,654,321,012').first()).toBeVisible();
  await expect(page.getByRole('rowheader').first()).toContainText(long);
});

test('a row is a card: amount and status first, then cells with their names', async ({ page }) => {
  await prepare(page.context());
  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}/commissions`);
  await settled(page);
  const row = page.locator('tbody tr').first();
  const top = async (selector: string) => (await row.locator(selector).first().boundingBox())?.y ?? NaN;
  const [amount, status, title, date] = [await top('td strong'), await top('.badge'), await top('th'), await top('td:nth-of-type(3)')];
  expect(Math.abs(amount - status)).toBeLessThan(12);
  expect(title).toBeGreaterThan(amount);
  expect(date).toBeGreaterThan(title);
  await expect(row.getByRole('cell').nth(2)).toHaveAttribute('data-label', 'Date');
  // It stays a table for whoever listens.
  await expect(page.getByRole('columnheader', { name: 'Payable' })).toHaveCount(1);
  await expect(row.getByRole('rowheader')).toHaveCount(1);
  await judge(page, 'cards');
});
