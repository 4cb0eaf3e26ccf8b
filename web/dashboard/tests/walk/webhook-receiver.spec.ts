/** The demo's webhooks arrive at the receiver of this machine, signed; while it fails, the dashboard shows so, and a replay succeeds later. */
import { expect, test, type APIRequestContext, type Page } from '@playwright/test';
import { OWNER, apiKey, code, complaints, fits, judge, photograph, prepare, program, receiverUrl, settled, signIn } from './stage';

/** Tells the receiver what to answer, as a developer does. */
async function tell(receiver: Page, answer: string) {
  await receiver.goto(receiverUrl());
  const button = receiver.getByRole('button', { name: answer, exact: true });
  await button.click();
  await expect(button).toHaveAttribute('aria-pressed', 'true');
}

/** The receiver's rows of an event: one for each time it came, the newest first. */
async function received(receiver: Page, id: string, times: number) {
  const rows = receiver.getByRole('row').filter({ hasText: id });
  await receiver.goto(receiverUrl());
  // The page loads itself anew.
  await expect(rows).toHaveCount(times);
  return rows;
}

async function post(request: APIRequestContext, noun: string, data: object) {
  const answer = await request.post(`/api/v1/track/${noun}`, { data, headers: { Authorization: `Bearer ${apiKey()}` } });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as Record<string, string>;
}

/** The `webhook-id` of a delivery, as its dialog shows it. */
async function idOf(page: Page, row: ReturnType<Page['getByRole']>) {
  await row.getByRole('button', { name: /^Show/ }).click();
  const dialog = page.getByRole('dialog');
  const id = await dialog.getByText(/^evt_/).textContent();
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
  return id ?? '';
}

test.afterEach(async ({ request }) => {
  await request.post(`${receiverUrl()}/behaviour`, { form: { answer: '200' } });
});

test('webhooks arrive with a good signature, fail while the receiver does, and are replayed', async ({ browser, request }) => {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  await prepare(context);
  const page = await context.newPage();
  const receiver = await context.newPage();
  const heard = complaints(page);

  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}/webhooks`);
  await settled(page);
  const endpoint = page.getByRole('row').filter({ hasText: `${receiverUrl()}/webhooks/demo` });
  await expect(endpoint).toContainText('17 types');
  await endpoint.getByRole('link').click();
  await settled(page);
  await judge(page, 'an endpoint that works');
  await fits(page, 'an endpoint that works');
  await photograph(page, 'webhooks-of-the-demo', { fullPage: true });

  await page.getByLabel('Example of').selectOption('payout.created');
  await page.getByRole('button', { name: 'Send test event' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'It answered 200' })).toBeVisible();
  await expect(page.getByLabel('The answer to the test event')).toHaveText('the signature is good\n');
  const test = page.getByRole('row').filter({ hasText: 'payout.created' }).filter({ hasText: 'Test' }).first();
  await expect(test).toContainText('Delivered');
  const [came] = await (await received(receiver, await idOf(page, test), 1)).all();
  await expect(came!).toContainText('payout.created (test)');
  await expect(came!.getByRole('cell', { name: 'good' })).toBeVisible();
  await came!.getByRole('link').click();
  await expect(receiver.locator('pre')).toContainText('"is_test": true');
  await expect(receiver.getByRole('rowheader', { name: 'webhook-signature' })).toBeVisible();
  await judge(receiver, 'a webhook that arrived');
  await photograph(receiver, 'receiver-webhook', { fullPage: true });

  await tell(receiver, '500');
  const customer = `receiver-${Date.now()}`;
  const { click_id } = await post(request, 'click', { affiliate_url: `https://shop.example/?aff=${code()}` });
  await post(request, 'lead', { click_id, customer_key: customer });
  await page.getByLabel('State', { exact: true }).selectOption('waiting');
  const failed = page.getByRole('row').filter({ hasText: 'lead.created' }).filter({ hasText: '500 in' });
  await expect(async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect(failed).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await photograph(page, 'webhooks-failed-attempt', { fullPage: true });
  const id = await idOf(page, failed);

  await tell(receiver, '200');
  await photograph(receiver, 'receiver-webhooks');
  await failed.getByRole('button', { name: /^Replay/ }).click();
  await page.getByLabel('State', { exact: true }).selectOption('delivered');
  await page.getByLabel('Type', { exact: true }).selectOption('lead.created');
  const replays = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'lead.created Replay' }) });
  await expect(async () => {
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect(replays.first()).toContainText('Delivered', { timeout: 1_000 });
    expect(await idOf(page, replays.first())).toBe(id);
  }).toPass();
  await receiver.goto(receiverUrl());
  const again = receiver.getByRole('row').filter({ hasText: id }).filter({ hasText: 'again' }).first();
  await expect(again).toContainText('good');
  await expect(again.getByRole('cell').last()).toHaveText('200');
  await expect(receiver.getByRole('row').filter({ hasText: id }).last().getByRole('cell').last()).toHaveText('500');
  expect(heard).toEqual([]);
  await context.close();
});
