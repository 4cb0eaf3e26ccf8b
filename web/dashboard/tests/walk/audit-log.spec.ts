/** An owner reads the audit log, of the workspace and of one program, and saves the whole of it. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { OWNER, PARTNER, complaints, judge, prepare, program, settled, signIn } from './stage';

test('an owner reads the audit log and saves it', async ({ browser }) => {
  const context = await browser.newContext();
  await prepare(context);
  const page = await context.newPage();
  const heard = complaints(page);
  await signIn(page, OWNER);
  await page.getByRole('link', { name: 'Audit log' }).click();
  await settled(page);
  await expect(page.getByRole('row', { name: /User signed in/ }).first()).toBeVisible();

  // However many programs there are, the service finds the one.
  const name = await page.evaluate(async (id) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}` };
    return (await (await fetch(`/api/advertiser/affiliate-programs/${id}`, { headers })).json()).data.name as string;
  }, program());
  const answer = page.waitForResponse((response) => response.url().includes(`program_id=${program()}`));
  const about = page.getByRole('main').getByRole('combobox', { name: 'Program' });
  await about.fill(name);
  await page.getByRole('listbox', { name: 'Results' }).getByRole('option').filter({ hasText: name }).click();
  expect((await answer).status()).toBe(200);
  await settled(page);
  await expect(page.getByRole('row', { name: /User signed in/ })).toHaveCount(0);
  await judge(page, 'the audit log of a program');
  await page.reload();
  await settled(page);
  const other = page.getByRole('button', { name: `Remove ${name} and choose another` });
  await other.click();
  await expect(about).toBeFocused();
  await expect(page).toHaveURL(/audit-log$/);

  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).click();
  expect(readFileSync(await (await saved).path(), 'utf8')).toContain('user.signed_in');

  // The column of buttons of the sessions has a head like the others.
  await page.goto('/app/account');
  await settled(page);
  await expect(page.getByRole('columnheader', { name: 'Actions' })).toHaveCount(1);
  expect(heard).toEqual([]);
  await context.close();
});

test('a partner finds no audit log', async ({ browser }) => {
  const context = await browser.newContext();
  await prepare(context);
  const page = await context.newPage();
  await signIn(page, PARTNER);
  await expect(page.getByRole('link', { name: 'Audit log' })).toHaveCount(0);
  await context.close();
});
