/** What happens to a form that is half-filled, refused, or left; by keyboard alone. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, answerOf, judge, photograph, prepare, program, settled, signIn } from './stage';

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
        await photograph(page, `discard-${viewport.width}`);
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
  await expect(form.getByRole('alert')).toHaveText('Code is taken');
  await expect(code).toBeFocused();
  await expect(code).toHaveValue('taken');
  await expect(code).toHaveAttribute('aria-invalid', 'true');
  await expect(code).toHaveAccessibleDescription(/^Code is taken/);
  const submit = form.getByRole('button', { name: /link$/ });
  await submit.focus();
  await page.keyboard.press('Enter');
  await expect(form.getByRole('alert')).toHaveText('Code is taken');
  // Where it has to be changed.
  await expect(code).toBeFocused();
  await judge(page, 'a refused field');
});

test('every setting that is wrong says so beside its field, until it is changed', async ({ page }) => {
  await open(page, `/app/programs/${program()}/settings`);
  const name = page.getByLabel('Name', { exact: true });
  const hold = page.getByLabel('Hold period in days');
  await name.fill('');
  await page.getByLabel('Logo').fill('no address');
  await page.getByLabel('Cookie lifetime in days').fill('400');
  await hold.fill('a week');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByRole('alert')).toHaveCount(4);
  await expect(name).toBeFocused();
  await expect(hold).toHaveAccessibleDescription(/^The hold period is a whole number of days, 0 to 31\./);
  await judge(page, 'several wrong settings');
  await photograph(page, 'wrong-settings');
  await hold.fill('7');
  await expect(page.getByRole('alert')).toHaveCount(3);
  await expect(hold).not.toHaveAttribute('aria-invalid');
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

test('an amount begins in the program’s currency, with the decimals that it has', async ({ page }) => {
  await page.route(/\/api\/advertiser\/affiliate-programs\?/, async (route) => {
    const response = await route.fetch();
    if (!response.ok()) return route.fulfill({ response });
    const answer = await response.json();
    await route.fulfill({ json: { ...answer, data: answer.data.map((one: object) => ({ ...one, currency: 'JPY' })) } });
  });
  await open(page, `/app/programs/${program()}/commissions`);
  await page.getByRole('button', { name: 'Add a commission' }).click();
  const form = page.getByRole('dialog', { name: 'Add a commission' });
  await expect(form.getByLabel('Currency')).toHaveValue('JPY');
  await form.getByRole('combobox', { name: 'Partner' }).press('ArrowDown');
  await expect(form.getByRole('option').first()).toBeVisible();
  await page.keyboard.press('Enter');
  await form.getByLabel('Amount').fill('12.50');
  await form.getByLabel('Note').fill('Bonus');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(form.getByLabel('Amount')).toHaveAccessibleDescription('The amount is a whole number of JPY, such as 1250.');
  await expect(form.getByLabel('Amount')).toBeFocused();
});

test('all that is wrong with a commission is said at once, each beside its field', async ({ page }) => {
  await open(page, '/app/programs');
  await page.getByRole('button', { name: 'New program' }).click();
  const form = page.getByRole('dialog', { name: 'New program' });
  await form.getByLabel('Name').fill('Wrong');
  await form.getByLabel('Percent').fill('120');
  await form.getByLabel('Paid on').selectOption('cps_recurring');
  await form.getByLabel('Months').fill('a year');
  await form.getByRole('button', { name: 'Create program' }).click();
  await expect(form.getByRole('alert')).toHaveText(['The share is a number from 0 to 100, such as 12.5.', 'State for how many months renewals are paid.']);
  await expect(form.getByLabel('Percent')).toBeFocused();
  await judge(page, 'a wrong commission');
  // An amount has the decimals of the currency.
  await form.getByLabel('Commission').selectOption('fixed');
  await form.getByLabel('Currency').fill('JPY');
  await form.getByLabel('Amount in JPY').fill('1.5');
  await form.getByLabel('Months').fill('12');
  await form.getByRole('button', { name: 'Create program' }).click();
  await expect(form.getByLabel('Amount in JPY')).toHaveAccessibleDescription('The amount is a whole number of JPY, such as 1250.');
});

test('the commission begins with the one in force', async ({ page }) => {
  await page.route('**/commission-policies*', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    const policy = { ...answer.data[0], commission_type: 'cps_recurring', default_duration_months: 6, rate_bps: 3333, fixed_cents: null, product_id: null, in_force: true };
    await route.fulfill({ json: { ...answer, data: [policy] } });
  });
  await open(page, `/app/programs/${program()}/settings`);
  await page.getByRole('button', { name: 'Change the commission' }).click();
  const form = page.getByRole('dialog', { name: 'Change the commission' });
  await expect(form.getByLabel('Percent')).toHaveValue('33.33');
  await expect(form.getByLabel('Paid on')).toHaveValue('cps_recurring');
  await expect(form.getByLabel('Months')).toHaveValue('6');
});

test('a payout whose amount has changed meanwhile is shown again, and decided again', async ({ page }) => {
  let amount = 1_500;
  await page.route('**/payouts/preview*', (route) =>
    route.fulfill({ json: { data: { currency: 'USD', amount_cents: amount, commission_count: 2, is_full: false, partners: [] } } }),
  );
  await page.route('**/commissions/totals', (route) =>
    route.fulfill({ json: { data: [{ currency: 'USD', approved_cents: 1_500, pending_cents: 0, paid_cents: 0 }] } }),
  );
  const sent: unknown[] = [];
  await page.route(/\/api\/.*\/payouts$/, (route) => {
    sent.push(route.request().postDataJSON().expected_amount_cents);
    return route.fulfill({ status: 409, json: { error: { message: 'expected_amount_cents is not what would be paid now: nothing was paid' } } });
  });
  await open(page, `/app/programs/${program()}/payouts`);
  await page.getByRole('button', { name: 'Pay USD' }).click();
  const form = page.getByRole('dialog', { name: 'Record a payout' });
  await form.getByLabel('Reference').fill('bank 7');
  await expect(form.getByText('$15.00').first()).toBeVisible();
  amount = 1_200;
  await form.getByRole('button', { name: 'Record as paid' }).click();
  await expect(form.getByRole('alert')).toContainText('the amount has changed from $15.00 to $12.00');
  await expect(form.locator('strong.number')).toHaveText('$12.00');
  await expect(form.getByLabel('Reference')).toHaveValue('bank 7');
  await form.getByRole('button', { name: 'Record as paid' }).click();
  await expect.poll(() => sent).toEqual([1_500, 1_200]);
});

test('who is signed out while at work is told so, and gets back to where they were', async ({ page }) => {
  const settings = `/app/programs/${program()}/settings`;
  await open(page, settings);
  await page.route(`**/api/advertiser/affiliate-programs/${program()}`, (route) =>
    route.request().method() === 'PUT' ? route.fulfill({ status: 401, json: { error: { message: 'Missing or invalid credentials' } } }) : route.continue(),
  );
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expect(page.getByText('Your session has ended. Sign in to go on.')).toBeVisible();
  await page.getByLabel('E-mail address').fill(process.env[OWNER] ?? '');
  await page.getByLabel('Password').fill(process.env.DEMO_PASSWORD ?? '');
  await expect(async () => {
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Settings', { timeout: 5_000 });
  }).toPass();
  await expect(page).toHaveURL(settings);
});

test('what is typed outlives the session', async ({ page }) => {
  await open(page, `/app/programs/${program()}/settings`);
  const description = page.getByLabel('Description');
  const before = await description.inputValue();
  await description.fill(`${before} and more`);
  let sent = 0;
  let second = '';
  await page.route(`**/api/advertiser/affiliate-programs/${program()}`, (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    sent += 1;
    second = String(route.request().postDataJSON().description);
    if (sent > 1) return route.fulfill({ json: { data: {} } });
    return route.fulfill({ status: 401, json: { error: { message: 'Missing or invalid credentials' } } });
  });
  await page.getByRole('button', { name: 'Save settings' }).click();
  const form = page.getByRole('dialog', { name: 'Sign in again' });
  await judge(page, 'sign-in again');
  await form.getByLabel('Password').fill('not the password');
  await form.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(form.getByRole('alert')).toBeVisible();
  await form.getByLabel('Password').fill(process.env.DEMO_PASSWORD ?? '');
  // As in `signIn`: too many of them have to wait.
  await expect(async () => {
    await form.getByRole('button', { name: 'Sign in', exact: true }).click({ timeout: 5_000 });
    await expect(page.getByText('The settings have been saved.')).toBeVisible({ timeout: 5_000 });
  }).toPass();
  await expect(form).toHaveCount(0);
  expect(sent).toBe(2);
  expect(second).toContain(' and more');
});

test('Back undoes the choice of days, and each other one', async ({ page }) => {
  await open(page, `/app/programs/${program()}/links`);
  await page.getByRole('link', { name: 'Overview' }).click();
  await settled(page);
  await page.getByRole('button', { name: '7 days' }).click();
  await page.getByRole('button', { name: '90 days' }).click();
  await expect(page).toHaveURL(/range=90d/);
  await page.goBack();
  await expect(page.getByRole('button', { name: '7 days' })).toHaveAttribute('aria-pressed', 'true');
  await page.goBack();
  await expect(page.getByRole('button', { name: '30 days' })).toHaveAttribute('aria-pressed', 'true');
  await page.goBack();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Referral links');
});
