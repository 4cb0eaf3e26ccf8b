/** What is stored about a customer is looked up, saved and erased; the audit log is narrowed down; a workspace is renamed. */
import { readFileSync } from 'node:fs';
import { expect, test, type APIRequestContext } from '@playwright/test';
import { OWNER, apiKey, code, complaints, judge, photograph, prepare, program, settled, signIn, tooWide } from './stage';

async function post(request: APIRequestContext, noun: string, data: object) {
  const answer = await request.post(`/api/v1/track/${noun}`, { data, headers: { Authorization: `Bearer ${apiKey()}` } });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as Record<string, string>;
}

for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
  test(`a customer's data is saved, and erased after it was said what, ${viewport.width} px`, async ({ page, request }) => {
    await page.setViewportSize(viewport);
    await prepare(page.context());
    const heard = complaints(page);
    const customer = `erased-${viewport.width}-${Date.now()}`;
    const { click_id } = await post(request, 'click', { affiliate_url: `https://demo.example/?aff=${code()}` });
    await post(request, 'lead', { click_id, customer_key: customer });
    await signIn(page, OWNER);
    await page.goto(`/app/programs/${program()}/customer-data`);
    await settled(page);
    await page.getByRole('button', { name: 'Look up' }).focus();
    await page.keyboard.press('Enter');
    await expect(page.getByText('Give a customer key, a click id or an e-mail address.')).toBeVisible();
    await page.getByLabel('Customer key').fill(customer);
    await page.keyboard.press('Enter');
    const stored = page.getByRole('region', { name: 'Stored data' });
    await expect(stored).toContainText('1 click');
    await expect(stored).toContainText('1 lead');
    await judge(page, 'the stored data of a customer');
    expect(await tooWide(page), 'the stored data of a customer').toEqual([]);
    await photograph(page, `stored-data-${viewport.width}`, { fullPage: true });

    const saved = page.waitForEvent('download');
    await stored.getByRole('button', { name: 'Save as a file' }).click();
    expect(readFileSync(await (await saved).path(), 'utf8')).toContain(customer);

    await stored.getByRole('button', { name: 'Erase' }).focus();
    await page.keyboard.press('Enter');
    const question = page.getByRole('dialog', { name: 'Erase this customer’s data?' });
    await expect(question).toContainText('1 lead');
    await judge(page, 'the question before an erasure');
    await question.getByRole('button', { name: 'Cancel' }).click();
    await expect(stored).toContainText('An erasure removes');
    await stored.getByRole('button', { name: 'Erase' }).click();
    await question.getByRole('button', { name: 'Erase' }).click();
    await expect(stored).toContainText('The data has been erased');
    await page.getByLabel('Customer key').fill(customer);
    await page.getByRole('button', { name: 'Look up' }).click();
    await expect(stored).toContainText('Nothing is stored about such a customer');
    expect(heard).toEqual([]);

    await page.goto('/app/audit-log');
    await settled(page);
    await page.getByLabel('What').selectOption('customer');
    await expect(page).toHaveURL(/[?&]what=customer/);
    await settled(page);
    await expect(page.getByRole('row', { name: /Customer erased/ }).first()).toBeVisible();
    await expect(page.getByRole('row', { name: /User signed in/ })).toHaveCount(0);
    await expect(page.locator('tbody')).not.toContainText(customer);
    const today = new Date().toISOString().slice(0, 10);
    await page.getByLabel('From').fill(today);
    await settled(page);
    await expect(page.getByRole('row', { name: /Customer erased/ }).first()).toBeVisible();
    await page.getByLabel('From').fill('');
    await page.getByLabel('To', { exact: true }).fill('2020-01-01');
    await expect(page.getByText('Nothing was done like this')).toBeVisible();
    await judge(page, 'an audit log without such entries');
    await page.getByLabel('To', { exact: true }).fill('');
    await page.getByLabel('Who').selectOption('operator');
    await settled(page);
    await expect(page.getByRole('row', { name: /Customer erased/ })).toHaveCount(0);
    expect(await tooWide(page), 'the audit log').toEqual([]);
  });
}

test('a workspace is renamed', async ({ page }) => {
  await prepare(page.context());
  await signIn(page, OWNER);
  await page.goto('/app/workspace');
  await settled(page);
  const name = page.getByRole('textbox', { name: 'Name', exact: true });
  const before = await name.inputValue();
  expect(before).not.toBe('');
  for (const next of ['Renamed workspace', before]) {
    await name.fill(next);
    await name.press('Enter');
    await expect(page.getByText('The name has been saved.').last()).toBeVisible();
    await page.reload();
    await settled(page);
    await expect(name).toHaveValue(next);
  }
});

test('the overview shows customers by the month of their first sale', async ({ page }) => {
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}`);
  await settled(page);
  const cohorts = page.getByRole('region', { name: 'Customers by month' });
  await expect(cohorts.getByRole('columnheader', { name: 'That month' })).toBeVisible();
  const first = cohorts.locator('tbody tr').first();
  const customers = await first.locator('td').first().innerText();
  await expect(first.locator('td').nth(1)).toContainText(customers);
  await expect(first.locator('td').nth(1)).toContainText('100%');
  await cohorts.getByRole('button', { name: 'Net revenue' }).focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/[?&]cohorts=revenue/);
  await expect(first.locator('td').nth(1)).toContainText('$');
  await judge(page, 'cohorts');
  await cohorts.scrollIntoViewIfNeeded();
  await photograph(page, 'cohorts');
  expect(heard).toEqual([]);
});
