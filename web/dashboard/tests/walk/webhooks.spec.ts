/** An endpoint is made, tried, changed, rotated, turned off and on, and deleted; axe finds nothing on the way. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, complaints, fits, judge, photograph, prepare, program, settled, signIn } from './stage';

async function seen(page: Page, what: string) {
  await judge(page, what);
  await fits(page, what);
  await photograph(page, `webhooks-${what.replaceAll(' ', '-')}`, { fullPage: true });
}

test('the owner of a program manages its webhook endpoints', async ({ browser }) => {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  await prepare(context);
  const page = await context.newPage();
  const heard = complaints(page);
  await signIn(page, OWNER);
  // The demo has an endpoint.
  await page.route('**/webhook-endpoints', (route) => route.fulfill({ json: { data: [] } }));
  await page.goto(`/app/programs/${program()}/webhooks`);
  await settled(page);
  await expect(page.getByText('No endpoints yet')).toBeVisible();
  await seen(page, 'none yet');
  await page.unroute('**/webhook-endpoints');
  await page.reload();
  await settled(page);

  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'New endpoint' }).click();
  await dialog.getByLabel('URL').fill('http://hooks.example/referrals');
  await dialog.getByRole('button', { name: 'Create endpoint' }).click();
  await expect(dialog.getByRole('alert')).toHaveText('URL must be an https URL');
  await dialog.getByLabel('URL').fill('https://hooks.example/referrals');
  await dialog.getByLabel('Description').fill('Billing');
  await dialog.getByLabel('lead.created').check();
  await seen(page, 'new endpoint');
  await dialog.getByRole('button', { name: 'Create endpoint' }).click();
  await expect(dialog).toContainText('whsec_');
  const secret = await dialog.locator('code').textContent();
  await seen(page, 'secret');
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await settled(page);
  await expect(page.getByText('Nothing sent yet')).toBeVisible();
  await seen(page, 'list');

  await page.getByRole('link', { name: 'https://hooks.example/referrals' }).click();
  await settled(page);
  await expect(page.getByText('No deliveries')).toBeVisible();
  await seen(page, 'endpoint');

  // There is no such host: an answer of its own is shown in place of the failure.
  await page.route('**/deliveries/*', async (route) => {
    const answer = await route.fetch();
    const { data } = (await answer.json()) as { data: object };
    const delivered = { ...data, state: 'delivered', attempts: 1, status: 200, duration_ms: 84, answer: 'thank you' };
    await route.fulfill({ response: answer, json: { data: delivered } });
  });
  await page.getByLabel('Example of').selectOption('sale.refunded');
  await page.getByRole('button', { name: 'Send test event' }).click();
  const status = page.getByRole('status').filter({ hasText: 'It answered 200 in 84 ms.' });
  await expect(status).toBeVisible();
  await expect(page.getByLabel('The answer to the test event')).toHaveText('thank you');
  await page.unroute('**/deliveries/*');

  const row = page.getByRole('row').filter({ hasText: 'sale.refunded' });
  await expect(row).toHaveCount(1);
  await row.getByRole('button', { name: /^Show/ }).click();
  await expect(dialog).toContainText('evt_');
  await seen(page, 'delivery');
  await page.keyboard.press('Escape');
  await row.getByRole('button', { name: /^Replay/ }).click();
  await expect(page.getByRole('row').filter({ hasText: 'sale.refunded' })).toHaveCount(2);
  await page.getByLabel('State', { exact: true }).selectOption('delivered');
  await expect(page.getByText('None match these filters.')).toBeVisible();
  await page.getByLabel('State', { exact: true }).selectOption('');

  await page.getByRole('button', { name: 'Replay since' }).click();
  await expect(dialog.getByLabel('Since, in UTC')).toBeVisible();
  await dialog.getByLabel('Events').selectOption('payout.failed');
  await seen(page, 'replay');
  await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
  await expect(page.getByText('There was nothing to send again.')).toBeVisible();

  await page.getByRole('button', { name: 'Replace the secret' }).click();
  await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
  await expect(dialog).toContainText('whsec_');
  expect(await dialog.locator('code').textContent()).not.toBe(secret);
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await expect(page.getByText('Old secret signs until')).toBeVisible();

  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await dialog.getByLabel('Description').fill('Books');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { name: 'Books' })).toBeVisible();

  await page.getByRole('button', { name: 'Turn off' }).click();
  await dialog.getByRole('button', { name: 'Turn off' }).click();
  await expect(page.getByText('It was turned off manually.')).toBeVisible();
  await seen(page, 'off');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await expect(page.getByText('Nothing sent yet')).toBeVisible();

  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await settled(page);
  await expect(page.getByRole('link', { name: 'https://hooks.example/referrals' })).toHaveCount(0);
  expect(heard).toEqual([]);
  await context.close();
});
