/** On a phone tables are cards, and no long word makes the page scroll sideways. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, answerOf, brokenNumbers, judge, photograph, prepare, program, settled, signIn, tooWide } from './stage';

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

async function fits(page: Page, path: string) {
  await page.goto(path);
  await settled(page);
  expect(await tooWide(page), `too wide on ${path}`).toEqual([]);
  expect(await brokenNumbers(page), `numbers of ${path}`).toEqual([]);
}

test('long words and large amounts fit', async ({ page }) => {
  await prepare(page.context());
  await signIn(page, OWNER);
  const long = `order-${'0123456789abcdef'.repeat(8)}`;
  await page.route('**/notifications?**', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    const deduction = { deducted_cents: 987_654_321_012, currency: 'JPY', refund_reason: long };
    const one = { kind: 'commission_reversed', message: `The processor's event ${long} needs review`, read_at: null, deduction };
    answer.data = [1, 2].map((id) => ({ ...one, id, createdAt: '2026-11-26T08:00:00Z' }));
    await route.fulfill({ json: answer });
  });
  await page.route('**/commissions?**', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    for (const one of answer.data) {
      Object.assign(one, { transaction_id: long, currency: 'JPY', payable_cents: 987_654_321_012, amount_cents: 987_654_321_012 });
    }
    await route.fulfill({ json: answer });
  });
  for (const path of ['notifications', 'commissions']) {
    await fits(page, `/app/programs/${program()}/${path}`);
    await photograph(page, `phone-long-${path}`);
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
  const [amount, status, title, partner] = [await top('td strong'), await top('.badge'), await top('th'), await top('td[data-label="Partner"]')];
  expect(Math.abs(amount - status)).toBeLessThan(12);
  expect(title).toBeGreaterThan(amount);
  expect(partner).toBeGreaterThan(title);
  await expect(row.getByRole('cell').nth(1)).toHaveAttribute('data-label', 'Partner');
  // It stays a table for whoever listens.
  await expect(page.getByRole('columnheader', { name: 'Payable' })).toHaveCount(1);
  await expect(row.getByRole('rowheader')).toHaveCount(1);
  await judge(page, 'cards');
});
