/** What happens to a form that is half-filled, refused, or left; by keyboard alone. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, judge, pictures, prepare, program, settled, signIn } from './stage';

const PHONE = { width: 390, height: 844 };

async function open(page: Page, path: string) {
  await prepare(page.context());
  await signIn(page, OWNER);
  await page.goto(path);
  await settled(page);
}

for (const viewport of [{ width: 1280, height: 860 }, PHONE]) {
  test(`a half-filled form is not thrown away unasked, ${viewport.width} px`, async ({ page }) => {
    await page.setViewportSize(viewport);
    await open(page, `/app/programs/${program()}/partners`);
    await page.getByRole('button', { name: 'Add a partner' }).first().focus();
    await page.keyboard.press('Enter');
    const form = page.getByRole('dialog', { name: 'Add a partner' });
    const question = page.getByRole('dialog', { name: 'Discard your changes?' });
    await expect(form.getByLabel('Partner’s name')).toBeFocused();
    await page.keyboard.type('Half');
    for (const key of ['Escape', 'Cancel', 'Close']) {
      if (key === 'Escape') await page.keyboard.press(key);
      else await form.getByRole('button', { name: key }).click();
      await expect(question).toBeVisible();
      if (key === 'Escape') {
        await judge(page, 'the question');
        await page.screenshot({ path: `${pictures}/discard-${viewport.width}.png` });
      }
      // Enter answers with what the focus is on, and that is not to discard.
      await page.keyboard.press('Enter');
      await expect(question).toHaveCount(0);
      await expect(form.getByLabel('Partner’s name')).toHaveValue('Half');
    }
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Discard' }).click();
    await expect(form).toHaveCount(0);
    await expect(page.getByRole('button', { name: 'Add a partner' }).first()).toBeFocused();
    // An untouched form, and one whose text was taken back, close at once.
    await page.keyboard.press('Enter');
    await expect(form).toBeVisible();
    await page.keyboard.type('x');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Escape');
    await expect(form).toHaveCount(0);
  });
}

test('a refused form keeps the focus and the text', async ({ page }) => {
  await open(page, `/app/programs/${program()}/links`);
  await page.getByRole('button', { name: 'New link' }).first().click();
  const form = page.getByRole('dialog', { name: 'New referral link' });
  await page.route('**/referral-links', (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 409, json: { error: { message: 'short_code is taken' } } }) : route.continue(),
  );
  const partner = form.getByRole('combobox', { name: 'Partner' });
  await partner.press('ArrowDown');
  await expect(form.getByRole('option').first()).toBeVisible();
  await page.keyboard.press('Enter');
  await expect(form.getByRole('button', { name: /choose another$/ })).toBeFocused();
  const code = form.getByLabel('Code');
  await code.fill('taken');
  await code.press('Enter');
  await expect(form.getByRole('alert')).toHaveText('Short code is taken');
  await expect(code).toBeFocused();
  await expect(code).toHaveValue('taken');
  const submit = form.getByRole('button', { name: /link$/ });
  await submit.focus();
  await page.keyboard.press('Enter');
  await expect(form.getByRole('alert')).toHaveText('Short code is taken');
  await expect(submit).toBeFocused();
});

test('unsaved settings are asked about before the page is left', async ({ page }) => {
  const settings = `/app/programs/${program()}/settings`;
  await open(page, `/app/programs/${program()}/links`);
  await page.getByRole('link', { name: 'Settings' }).click();
  await settled(page);
  const question = page.getByRole('dialog', { name: 'Discard your changes?' });
  const description = page.getByLabel('Description');
  const before = await description.inputValue();
  await description.fill('Changed, and not saved');
  await page.getByRole('link', { name: 'Commissions' }).click();
  await question.getByRole('button', { name: 'Keep editing' }).click();
  await expect(page).toHaveURL(settings);
  await expect(description).toHaveValue('Changed, and not saved');
  await page.goBack();
  await expect(question).toBeVisible();
  await expect(page).toHaveURL(settings);
  await question.getByRole('button', { name: 'Keep editing' }).click();
  await expect(page).toHaveURL(settings);
  await expect(description).toHaveValue('Changed, and not saved');
  // The browser asks by itself before it leaves the document.
  const isAsked = await page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })));
  expect(isAsked).toBe(true);
  await page.goBack();
  await question.getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Referral links');
  await page.goForward();
  await settled(page);
  await expect(description).toHaveValue(before);
  // Saved ones are not asked about.
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('The settings have been saved.')).toBeVisible();
  await page.getByRole('link', { name: 'Commissions' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Commissions');
});

test('Enter in a field destroys nothing', async ({ page }) => {
  await open(page, `/app/programs/${program()}/commissions?status=pending`);
  await page.getByRole('checkbox').first().check();
  await page.getByRole('button', { name: 'Reject' }).click();
  const form = page.getByRole('dialog', { name: /^Reject/ });
  let sent = 0;
  await page.route('**/commissions/reject', (route) => {
    sent += 1;
    return route.abort();
  });
  await form.getByLabel('Reason').fill('Not a customer');
  await page.keyboard.press('Enter');
  await expect(form.getByRole('button', { name: 'Reject' })).toHaveClass(/bad/);
  expect(sent).toBe(0);
  await form.getByRole('button', { name: 'Reject' }).click();
  await expect(form.getByRole('alert')).toContainText('cannot be reached');
  expect(sent).toBe(1);
});
