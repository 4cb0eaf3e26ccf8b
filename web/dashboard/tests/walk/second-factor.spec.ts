/** Somebody new sets up a second factor, signs in with it, and is asked for the password again. */
import { createHmac } from 'node:crypto';
import { expect, test } from '@playwright/test';
import { OWNER, complaints, emailed, judge, photograph, prepare, settled, signIn } from './stage';

const PASSWORD = 'kettle ambush violin';
const STEP_MS = 30_000;

/** What an authenticator app shows (RFC 6238) at a step of half a minute. */
function codeOf(secret: string, step: number): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((digit) => digits.indexOf(digit).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac('sha1', key).update(counter).digest();
  const number = hash.readUInt32BE((hash.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

test('somebody new sets up a second factor and signs in with it', async ({ browser }) => {
  const context = await browser.newContext();
  await prepare(context);
  const page = await context.newPage();
  const heard = complaints(page);
  await signIn(page, OWNER);
  await page.goto('/app/members');
  await settled(page);
  await page.getByRole('button', { name: 'Invite a member', exact: true }).click();
  const email = `sam-${Date.now()}@shop.example`;
  await page.getByRole('dialog').getByLabel('E-mail address').fill(email);
  await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
  await expect(page.getByText(`An invitation is on its way to ${email}.`)).toBeVisible();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');

  await page.goto(await emailed(await context.newPage(), email, 'You are invited', 'email-member-invitation'));
  await page.getByLabel('Your name').fill('Sam');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Accept' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
  await page.goto('/app/account');
  await settled(page);
  await page.getByRole('button', { name: 'Set up a second factor' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('img', { name: /QR code/ })).toBeVisible();
  await judge(page, 'setting up a second factor');
  await photograph(page, 'dialog-second-factor');
  const secret = await dialog.locator('code').innerText();
  const step = Math.floor(Date.now() / STEP_MS);
  await dialog.getByLabel('Code', { exact: true }).fill(codeOf(secret, step));
  await dialog.getByRole('button', { name: 'Turn on' }).click();
  const codes = (await page.getByRole('dialog', { name: 'Your recovery codes' }).locator('code').innerText()).split('\n');
  expect(codes).toHaveLength(10);
  await judge(page, 'recovery codes');
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await expect(page.getByText('10 recovery codes left')).toBeVisible();
  await photograph(page, 'account-second-factor', { fullPage: true });

  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Code', { exact: true }).fill(codes[0] ?? '');
  await judge(page, 'the sign-in with a code');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();

  // The service is as if half an hour had passed: it wants the password once more, and is then asked again.
  let refusals = 0;
  await page.route('**/api/users/me/sessions', async (route) => {
    refusals += 1;
    if (refusals > 1) return route.continue();
    const error = { status: 403, name: 'ForbiddenError', message: '', details: { code: 'PASSWORD_REQUIRED' } };
    return route.fulfill({ status: 403, json: { data: null, error } });
  });
  await page.goto('/app/account');
  const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await asked.getByLabel('Password').fill(PASSWORD);
  await asked.getByLabel('Code', { exact: true }).fill(codes[1] ?? '');
  await judge(page, 'the password asked again');
  await asked.getByRole('button', { name: 'Confirm' }).click();
  await expect(page.getByRole('row', { name: /this one/i })).toBeVisible();

  await page.getByRole('button', { name: 'Remove' }).click();
  const removal = page.getByRole('dialog', { name: 'Remove the second factor' });
  await removal.getByLabel('Password').fill(PASSWORD);
  await removal.getByLabel('Code', { exact: true }).fill(codes[2] ?? '');
  await removal.getByRole('button', { name: 'Remove' }).click();
  await expect(page.getByRole('button', { name: 'Set up a second factor' })).toBeVisible();
  expect(heard).toEqual([]);
  await context.close();
});
