/** Flagged commissions are decided on by keyboard, one or many, and as they are shown. */
import { expect, test, type APIRequestContext, type Page } from '@playwright/test';
import { OWNER, apiKey, code, complaints, fits, judge, photograph, prepare, program, settled, signIn, tooWide } from './stage';

async function post(request: APIRequestContext, noun: string, data: object) {
  const answer = await request.post(`/api/v1/track/${noun}`, { data, headers: { Authorization: `Bearer ${apiKey()}` } });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as Record<string, string>;
}

/** A sale within seconds of the click. */
async function flaggedSale(request: APIRequestContext, name: string, cents: number) {
  const { click_id } = await post(request, 'click', { affiliate_url: `https://demo.example/?aff=${code()}` });
  await post(request, 'sale', { transaction_id: name, amount_cents: cents, currency: 'USD', click_id, customer_key: `customer-${name}` });
}

const box = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select the commission of ${name}` });
const selected = (page: Page) => page.locator('.bar p');

for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
  test(`the queue is worked through by keyboard, ${viewport.width} px`, async ({ page, request }) => {
    await page.setViewportSize(viewport);
    await prepare(page.context());
    const heard = complaints(page);
    const names = ['a', 'b', 'c', 'd'].map((name) => `review-${viewport.width}-${Date.now()}-${name}`);
    const [first = '', second = '', third = '', fourth = ''] = names;
    for (const [place, name] of names.entries()) await flaggedSale(request, name, 10_000 * (place + 1));
    await signIn(page, OWNER);
    await page.goto(`/app/programs/${program()}`);
    await settled(page);
    const notice = page.getByRole('region', { name: 'To review' });
    await expect(notice).toContainText('your decision');
    await notice.getByRole('link', { name: 'Review' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Review' })).toBeFocused();
    await settled(page);
    for (const name of names) await expect(box(page, name)).toBeVisible();
    await expect(page.getByRole('row', { name: first })).toContainText('Fast sale');
    await judge(page, 'the review queue');
    await fits(page, 'the review queue');
    if (viewport.width < 500) expect(await tooWide(page), 'the review queue').toEqual([]);
    await photograph(page, `review-${viewport.width}`, { fullPage: true });

    const payable = page.getByRole('columnheader', { name: 'Payable' });
    await payable.getByRole('button').click();
    await expect(page).toHaveURL(/[?]sort=payable&order=desc$/);
    await expect(payable).toHaveAttribute('aria-sort', 'descending');
    await settled(page);
    const listed = await page.getByRole('rowheader').allInnerTexts();
    expect(listed.flatMap((text) => names.filter((name) => text.includes(name)))).toEqual([...names].reverse());
    await page.goBack();
    await settled(page);

    // One is refunded in part, after it was shown.
    await post(request, 'refund', { transaction_id: third, refund_amount_cents: 15_000 });
    await box(page, third).focus();
    await page.keyboard.press('Space');
    await expect(selected(page)).toContainText('1 commission selected: $');
    await page.keyboard.press('Shift+ArrowDown');
    await expect(box(page, fourth)).toBeFocused();
    await expect(selected(page)).toContainText('2 commissions selected');
    await page.keyboard.press('a');
    const question = page.getByRole('dialog', { name: 'Approve 2 commissions?' });
    await question.getByRole('button', { name: 'Approve' }).focus();
    await page.keyboard.press('Enter');
    await expect(page.getByText(`${third} is worth`)).toContainText('Some commissions cannot be approved; none was.');
    await judge(page, 'a stale selection');
    await page.getByRole('button', { name: 'Dismiss' }).first().click();
    await page.reload();
    await settled(page);
    await box(page, third).focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('a');
    await question.getByRole('button', { name: 'Approve' }).focus();
    await page.keyboard.press('Enter');
    await expect(page.getByText('2 commissions approved.')).toBeVisible();
    await expect(selected(page)).toBeFocused();
    await expect(box(page, third)).toHaveCount(0);

    await box(page, first).focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('h');
    const hold = page.getByRole('dialog', { name: 'Hold commissions' });
    await expect(hold.getByLabel('Days from today')).toBeFocused();
    await judge(page, 'holding commissions');
    await page.keyboard.press('Enter');
    await expect(page.getByText('1 commission held.')).toBeVisible();
    await settled(page);

    await box(page, second).focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('r');
    const reject = page.getByRole('dialog', { name: 'Reject commissions' });
    await reject.getByLabel('Reason').fill('The same person');
    // It destroys something: Enter in the field does nothing.
    await page.keyboard.press('Enter');
    await expect(reject).toBeVisible();
    await reject.getByRole('button', { name: 'Reject' }).focus();
    await page.keyboard.press('Enter');
    const password = page.getByRole('dialog').getByLabel('Password');
    if (await password.isVisible()) {
      await password.fill(process.env.DEMO_PASSWORD ?? '');
      await page.keyboard.press('Enter');
    }
    await expect(page.getByText('1 commission rejected.')).toBeVisible();
    await expect(box(page, second)).toHaveCount(0);
    await expect(box(page, first)).toBeVisible();
    expect(heard).toEqual([]);
    // The other walks begin without it.
    await box(page, first).check();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await expect(page.getByText('1 commission approved.')).toBeVisible();
  });
}
