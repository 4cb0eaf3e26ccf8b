/** An owner adds a passkey, signs in with it, confirms with it where the password is asked again, and removes it. */
import { expect, test } from '@playwright/test';
import { OWNER, complaints, judge, photograph, prepare, settled, signIn } from './stage';

test('a passkey signs in, confirms and is removed', async ({ browser, baseURL }) => {
  // Browsers offer passkeys for host names only, not for IP addresses.
  const context = await browser.newContext({ baseURL: baseURL?.replace('127.0.0.1', 'localhost') });
  await prepare(context);
  const page = await context.newPage();
  const heard = complaints(page);
  const devices = await context.newCDPSession(page);
  await devices.send('WebAuthn.enable');
  await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await signIn(page, OWNER);
  await page.goto('/app/account');
  await settled(page);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a passkey' });
  await dialog.getByLabel('Name').fill('Phone');
  await judge(page, 'adding a passkey');
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByText('never used')).toBeVisible();
  await photograph(page, 'account-passkeys', { fullPage: true });

  // This session was opened with the password, which is not enough to change what the account has beside it.
  await page.getByRole('button', { name: 'Set up a second factor' }).click();
  const needed = page.getByRole('dialog', { name: 'Use one of your passkeys' });
  await expect(needed).toBeVisible();
  await judge(page, 'a passkey asked for');
  await needed.getByRole('button', { name: 'Use a passkey' }).click();
  const app = page.getByRole('dialog', { name: 'Set up a second factor' });
  await app.getByRole('button', { name: 'Cancel' }).click();

  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await judge(page, 'the sign-in with passkeys');
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page.getByRole('button', { name: 'Sign out', exact: true })).toBeVisible();

  // As after half an hour: the service asks for the password again, and accepts a passkey instead.
  let refusals = 0;
  await page.route('**/api/users/me/sessions', async (route) => {
    refusals += 1;
    if (refusals > 1) return route.continue();
    const error = { status: 403, name: 'ForbiddenError', message: '', details: { code: 'PASSWORD_REQUIRED' } };
    return route.fulfill({ status: 403, json: { data: null, error } });
  });
  await page.goto('/app/account');
  const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await expect(asked.getByLabel('Password')).toBeFocused();
  await judge(page, 'the password asked again, with passkeys');
  await asked.getByRole('button', { name: 'Use a passkey instead' }).click();
  await expect(page.getByRole('row', { name: /this one/i })).toBeVisible();

  await page.getByRole('button', { name: 'Remove Phone' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(page.getByRole('button', { name: 'Remove Phone' })).toHaveCount(0);
  expect(heard).toEqual([]);
  await context.close();
});
