/** What pages do when things go wrong, and for whom they are. */
import { expect, test } from '@playwright/test';
import { OWNER, PARTNER, code, photograph, program, settled, signIn } from './stage';

test('who is not signed in is asked to, and gets where they wanted to go', async ({ page }) => {
  const wanted = `/app/programs/${program()}/commissions?status=pending`;
  await page.goto(wanted);
  await expect(page).toHaveURL(/\/app\/sign-in\?next=/);
  await page.getByLabel('E-mail address').fill(process.env[OWNER] ?? '');
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toHaveText('Invalid identifier or password');
  await page.getByLabel('Password').fill(process.env.DEMO_PASSWORD ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Commissions');
  await expect(page).toHaveURL(wanted);
  await expect(page.getByLabel('Status')).toHaveValue('pending');
});

test('a service that is gone is told, and asked again', async ({ page }) => {
  const events = '**/api/advertiser/affiliate-programs/*/events*';
  await signIn(page, OWNER);
  await page.route(events, (route) => route.abort());
  await page.getByRole('link', { name: 'Events' }).first().click();
  await expect(page.getByRole('alert')).toContainText('cannot be reached');
  await photograph(page, 'unreachable');
  await page.unroute(events);
  await page.getByRole('button', { name: 'Try again' }).click();
  await settled(page);
  await expect(page.getByRole('table')).toBeVisible();
});

test('the keyboard gets everywhere, and pages say that they have changed', async ({ page }) => {
  await signIn(page, OWNER);
  await settled(page);
  await page.reload();
  await settled(page);
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to the content' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('main')).toBeFocused();
  await page.getByRole('link', { name: 'Commissions' }).first().focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Commissions' })).toBeFocused();
  await expect(page).toHaveTitle(/^Commissions/);
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Overview');
});

test('a partner has pages of their own, and no others', async ({ page }) => {
  await signIn(page, PARTNER);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Home');
  await page.goto(`/app/programs/${program()}/commissions`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Page not found');
});

test('events appear while one looks', async ({ page }) => {
  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}/live`);
  await expect(page.getByText('Listening')).toBeVisible();
  await expect(page.getByText('Waiting for the next event')).toBeVisible();
  const click = { affiliate_url: `https://shop.example/?aff=${code()}` };
  const { click_id } = await (await page.request.post('/api/v1/track/click', { data: click })).json();
  await expect(page.getByRole('row').filter({ hasText: click_id })).toBeVisible();
  await photograph(page, 'live-click');
});

test('events are saved as a file', async ({ page }) => {
  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}/events?type=sale`);
  await settled(page);
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV', exact: true }).click();
  expect((await saved).suggestedFilename()).toBe(`events-${program()}.csv`);
});

test('a key is made, shown once, and revoked', async ({ page }) => {
  await signIn(page, OWNER);
  await page.goto('/app/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('Deploy script');
  await page.getByRole('button', { name: 'Create key' }).click();
  await expect(page.getByRole('dialog')).toContainText('affk_');
  // Shown once: Escape does not take it away.
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('button', { name: 'Revoke Deploy script' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByRole('row', { name: /Deploy script/ }).first()).toContainText('Revoked');
});

test('a colour scheme of one’s own stays', async ({ page }) => {
  await page.emulateMedia({ colorScheme: 'light' });
  await signIn(page, OWNER);
  await page.getByRole('radio', { name: 'Dark' }).check({ force: true });
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
});

test('a command line is connected by its code, after one sign-in', async ({ page, request }) => {
  const begun = (await (await request.post('/api/v1/cli/auth/start')).json()) as { state: string; user_code: string; auth_url: string };
  const { pathname, hash } = new URL(begun.auth_url);
  await page.goto(pathname + hash);
  await page.getByLabel('E-mail address').fill(process.env[OWNER] ?? '');
  await page.getByLabel('Password').fill(process.env.DEMO_PASSWORD ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByLabel('Code')).toHaveValue(begun.user_code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByText(begun.user_code)).toBeVisible();
  await photograph(page, 'connect');
  await page.getByRole('button', { name: 'Connect' }).click();
  await expect(page.getByText('Connected to')).toBeVisible();
  const polled = await request.post('/api/v1/cli/auth/poll', { data: { state: begun.state } });
  expect(await polled.json()).toMatchObject({ status: 'complete' });
});

test('a program that is archived or unknown is called so, and never another', async ({ page }) => {
  await signIn(page, OWNER);
  const archived = await page.evaluate(async () => {
    const call = async (method: string, path: string, body?: object) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}`, 'Content-Type': 'application/json' };
      const answer = await fetch(path, { method, headers, body: body ? JSON.stringify(body) : null });
      return (await answer.json()).data;
    };
    const programs = '/api/advertiser/affiliate-programs';
    const { id } = await call('POST', programs, { name: 'Tokyo', currency: 'JPY' });
    await call('DELETE', `${programs}/${id}`);
    return id;
  });
  await page.goto(`/app/programs/${archived}`);
  await settled(page);
  await expect(page.getByText('This program is archived')).toBeVisible();
  await expect(page.locator('main')).toContainText('¥0');
  await expect(page.locator('main')).not.toContainText('$');
  await expect(page.locator('main')).toContainText('Tokyo');
  await page.goto('/app/programs/999999999/payouts');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Program not found');
  await expect(page.locator('main')).not.toContainText('$');
});

test('a program is made and archived, and the choice of programs follows', async ({ page }) => {
  await signIn(page, OWNER);
  await page.goto('/app/programs');
  await page.getByRole('button', { name: 'New program' }).click();
  const name = `Short-lived ${Date.now()}`;
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Create program' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await expect(page).toHaveURL(/\/integration$/);
  const choice = page.getByRole('combobox', { name: 'Program', exact: true });
  await expect(choice.locator('option:checked')).toHaveText(name);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Archive' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await expect(page).toHaveURL('/app/programs');
  await settled(page);
  await expect(choice.getByRole('option', { name })).toHaveCount(0);
  await expect(page.getByRole('region', { name: 'Archived programs', exact: true })).toContainText(name);
});
