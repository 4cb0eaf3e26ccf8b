/** A partner is invited by e-mail, accepts, forgets the password and replaces it. The e-mails are those that the catcher shows. */
import { expect, test, type Page } from '@playwright/test';
import { COLLEAGUE, OWNER, complaints, emailed, fits, judge, photograph, prepare, program, settled, signIn } from './stage';

const PASSWORD = 'kettle ambush violin';
const NEW_PASSWORD = 'lantern oblique tractor';

async function signsInWith(page: Page, email: string, password: string) {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

test('a partner is invited by e-mail, accepts, and replaces a forgotten password', async ({ browser }) => {
  const context = await browser.newContext();
  await prepare(context);
  const page = await context.newPage();
  const mail = await context.newPage();
  const heard = complaints(page);
  const email = `ines-${Date.now()}@letters.example`;

  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}/partners`);
  await settled(page);
  await page.getByRole('button', { name: 'Add a partner' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Partner’s name').fill('Ines');
  await dialog.getByLabel('E-mail address').fill(email);
  await dialog.getByRole('button', { name: 'Add partner' }).click();
  await expect(page.getByText(`An invitation is on its way to ${email}.`)).toBeVisible();
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.getByRole('button', { name: 'Sign out' }).click();

  await page.goto(await emailed(mail, email, 'You are invited', 'email-invitation'));
  await page.getByLabel('Your name').fill('Ines');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Accept' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();

  await page.goto('/app/account');
  await settled(page);
  await expect(page.getByText('Your address is confirmed.')).toBeVisible();
  await page.getByLabel('A summary of each week').uncheck();
  await expect(page.getByText('You will no longer get these e-mails.')).toBeVisible();
  await page.reload();
  await expect(page.getByLabel('A summary of each week')).not.toBeChecked();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();

  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Forgot your password?');
  await page.getByLabel('E-mail address').fill(email);
  await judge(page, 'a forgotten password');
  await fits(page, 'a forgotten password');
  await photograph(page, 'password-forgotten');
  await page.getByRole('button', { name: 'Send a link' }).click();
  await expect(page.getByText('a link is on its way')).toBeVisible();

  const link = await emailed(mail, email, 'Choose a new password', 'email-password-reset');
  await page.goto(link);
  await expect(page.getByLabel('E-mail address')).toHaveValue(email);
  await judge(page, 'a new password');
  await photograph(page, 'password-reset');
  await page.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD);
  await page.getByLabel('Repeat the new password').fill('something else entirely');
  await page.getByRole('button', { name: 'Replace the password' }).click();
  await expect(page.getByRole('alert')).toHaveText('The passwords are not the same.');
  await page.getByLabel('Repeat the new password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Replace the password' }).click();
  await expect(page.getByText('Your password has been replaced')).toBeVisible();
  await judge(page, 'a replaced password');

  await page.getByRole('link', { name: 'Sign in' }).click();
  await signsInWith(page, email, PASSWORD);
  await expect(page.getByRole('alert')).toContainText('Invalid identifier or password');
  await signsInWith(page, email, NEW_PASSWORD);
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
  await page.goto(link);
  await expect(page.getByRole('alert')).toContainText('Link not found');
  await emailed(mail, email, 'Your password was changed', 'email-password-changed');
  expect(heard).toEqual([]);
  await context.close();
});

test('a colleague confirms an e-mail address', async ({ browser }) => {
  const context = await browser.newContext();
  await prepare(context);
  const page = await context.newPage();
  const mail = await context.newPage();
  const heard = complaints(page);

  await signIn(page, COLLEAGUE);
  await page.goto('/app/account');
  await settled(page);
  await expect(page.getByText('Your address is not confirmed yet.')).toBeVisible();
  await judge(page, 'an account whose address is not confirmed');
  await page.getByRole('button', { name: 'Send the link' }).click();
  await expect(page.getByText('A link is on its way to your e-mail address.')).toBeVisible();
  await page.goto(await emailed(mail, 'kim@demo.example', 'Confirm your e-mail address', 'email-address-verification'));
  await expect(page.getByText('kim@demo.example')).toBeVisible();
  await judge(page, 'an address to confirm');
  await photograph(page, 'address-verification');
  await page.getByRole('button', { name: 'Confirm the address' }).click();
  await expect(page.getByText('Your e-mail address is confirmed.')).toBeVisible();
  await page.getByRole('link', { name: 'Go to your account' }).click();
  await expect(page.getByText('Your address is confirmed.')).toBeVisible();
  expect(heard).toEqual([]);
  await context.close();
});
