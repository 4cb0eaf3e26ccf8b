/** From the sign-in to the first attributed sale: what somebody new does, with what the pages tell them and nothing else. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test, type Locator } from '@playwright/test';
import { OWNER, complaints, photograph, signIn } from './stage';

const MOST_STEPS = 12;
const run = promisify(execFile);

/** Pastes what a box of the page has into a shell. */
async function paste(box: Locator) {
  const commands = await box.innerText();
  await run('sh', ['-c', commands], { timeout: 30_000 });
}

test('the first attributed sale is there after at most twelve steps', async ({ page }) => {
  let steps = 0;
  const step = (what: string, work: () => Promise<void>) => {
    steps += 1;
    return test.step(`${steps}. ${what}`, work);
  };
  const heard = complaints(page);
  const began = Date.now();
  const box = (name: string) => page.getByRole('region', { name });

  await step('sign in', () => signIn(page, OWNER));
  await step('ask for a new program', async () => {
    await page.getByRole('link', { name: 'Programs' }).click();
    await page.getByRole('button', { name: 'New program' }).click();
  });
  await step('name it, and say what partners get', async () => {
    await page.getByRole('dialog').getByLabel('Name').fill('Walk');
    await page.getByLabel('Website').fill('shop.example');
    await page.getByRole('button', { name: 'Create program' }).click();
  });
  await step('store the key', async () => {
    await expect(page.getByRole('dialog')).toContainText('aff_');
    await photograph(page, 'walk-key');
    await page.getByRole('button', { name: 'I have stored it' }).click();
  });
  await step('add a partner with a link', async () => {
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Integration');
    await page.getByLabel('Partner’s name').fill('Walker');
    await page.getByLabel('E-mail address').fill(`walker-${began}@demo.example`);
    await page.getByRole('button', { name: 'Add partner' }).click();
    await expect(page.getByText('An invitation is on its way')).toBeVisible();
    await expect(page.getByLabel('Link to test with')).toBeVisible();
  });
  for (const noun of ['click', 'lead', 'sale']) {
    await step(`send a test ${noun}`, async () => {
      await expect(page.getByText('Listening')).toBeVisible();
      await paste(box(`Test ${noun}, for a terminal`));
      await expect(page.getByText(`Test ${noun} arrived at`)).toBeVisible();
    });
  }
  await photograph(page, 'walk-tested', { fullPage: true });
  await step('send a click, a lead and a sale that count', async () => {
    await page.getByLabel('A real click, lead and sale').check();
    await paste(box('Click, lead and sale, for a terminal'));
    await expect(page.getByText('The first sale is attributed: $49.00.')).toBeVisible();
  });
  await step('look at the overview', async () => {
    await page.getByRole('link', { name: 'go to the overview' }).click();
    const tile = (name: string) => page.getByRole('button', { name });
    await expect(tile('Clicks 1 ')).toBeVisible();
    await expect(tile('New customers 1 ')).toBeVisible();
    await expect(tile('Net revenue $49.00')).toBeVisible();
    await expect(tile('Commission $9.80')).toBeVisible();
    await photograph(page, 'walk-first-sale', { fullPage: true });
  });

  expect(steps).toBeLessThanOrEqual(MOST_STEPS);
  expect(heard).toEqual([]);
  console.log(`first attributed sale after ${steps} steps and ${((Date.now() - began) / 1000).toFixed(1)} s`);
});
