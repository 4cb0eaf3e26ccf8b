/** What a table shows is in the address; choosing says what it did; an unknown page is a page. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, PARTNER, answerOf, judge, photograph, prepare, program, settled, signIn } from './stage';

const rows = (page: Page) => page.locator('tbody tr');

async function open(page: Page, path: string) {
  await prepare(page.context());
  await signIn(page, OWNER);
  await page.goto(path);
  await settled(page);
}

test('page and filters are in the address, and Back undoes them', async ({ page }) => {
  await open(page, `/app/programs/${program()}/commissions`);
  const first = await rows(page).first().innerText();
  const next = page.getByRole('button', { name: 'Next' });
  await next.scrollIntoViewIfNeeded();
  await next.focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/[?&]page=2-\d+$/);
  await settled(page);
  await expect(rows(page).first()).not.toHaveText(first);
  const second = await rows(page).first().innerText();
  // At the top of the table, also for the keyboard and for whoever listens.
  await expect(page.getByRole('region', { name: 'Table: Commissions' })).toBeFocused();
  await expect(rows(page).first()).toBeInViewport();
  await expect(page.getByRole('navigation', { name: 'Pages of commissions' }).getByRole('status')).toContainText(/^26–/);
  await page.reload();
  await settled(page);
  expect(await rows(page).first().innerText()).toBe(second);
  await page.getByLabel('Status').selectOption('pending');
  await expect(page).toHaveURL(/\?status=pending$/);
  await settled(page);
  await page.goBack();
  await expect(page).toHaveURL(/\?page=2-\d+$/);
  await expect(page.getByLabel('Status')).toHaveValue('');
  await settled(page);
  expect(await rows(page).first().innerText()).toBe(second);
  await page.goBack();
  await settled(page);
  await expect(page).toHaveURL(/commissions$/);
  expect(await rows(page).first().innerText()).toBe(first);
});

test('the breakdown is always the one of its heads', async ({ page }) => {
  await open(page, `/app/programs/${program()}`);
  const breakdown = page.getByRole('region', { name: 'Breakdown' });
  for (const [way, head] of [
    ['Countries', 'Country'],
    ['Links', 'Link'],
    ['Devices', 'Device'],
    ['Countries', 'Country'],
    ['Partners', 'Partner'],
  ] as const) {
    await breakdown.getByRole('button', { name: way }).click();
    await expect(breakdown.getByRole('columnheader').first()).toHaveText(head);
  }
});

test('events are loaded further back, and found by name', async ({ page }) => {
  await open(page, `/app/programs/${program()}/events`);
  await expect(rows(page)).toHaveCount(25);
  const first = await rows(page).first().innerText();
  const more = page.getByRole('button', { name: 'Load more' });
  await more.focus();
  await page.keyboard.press('Enter');
  await expect(rows(page)).toHaveCount(75);
  expect(await rows(page).first().innerText()).toBe(first);
  await page.getByLabel('Type').selectOption('sale');
  await expect(page).toHaveURL(/\?type=sale$/);
  await settled(page);
  const details = await rows(page).first().locator('td[data-label="Details"]').innerText();
  const transaction = details.split(' ').pop() ?? '';
  await page.getByLabel('Search').fill(transaction);
  await page.keyboard.press('Enter');
  await settled(page);
  await expect(rows(page).filter({ hasText: transaction }).first()).toBeVisible();
  await rows(page).first().getByRole('link').first().click();
  await expect(page.getByText('Why this partner').first()).toBeVisible();
  await page.goBack();
  await expect(page.getByLabel('Search')).toHaveValue(transaction);
});

test('events of one partner, of however many, are found by a part of the name', async ({ page }) => {
  const asked: string[] = [];
  page.on('request', (request) => /\/partners\?/.test(request.url()) && asked.push(request.url()));
  await open(page, `/app/programs/${program()}/events`);
  // Nothing is loaded for a filter that nobody opens.
  expect(asked).toEqual([]);
  const field = page.getByRole('combobox', { name: 'Partner' });
  await field.focus();
  await page.keyboard.type('ADA');
  const option = page.getByRole('listbox', { name: 'Results' }).getByRole('option').first();
  await expect(option).toContainText(/ada/i);
  await judge(page, 'a search for a partner');
  await photograph(page, 'partner-choice');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\?partner=\d+$/);
  await settled(page);
  const remove = page.getByRole('button', { name: /^Remove Ada.* choose another$/ });
  await expect(remove).toBeFocused();
  for (const cell of await rows(page).locator('td[data-label="Partner"]').all()) await expect(cell).toContainText('Ada');
  await page.reload();
  await settled(page);
  await expect(remove).toBeVisible();
  await remove.press('Enter');
  await expect(page).toHaveURL(/events$/);
  await expect(field).toBeFocused();
  await field.fill('nobody is called so');
  await expect(page.getByText('Nobody’s name or address has this in it')).toBeVisible();
});

test('partners are searched by a part of their name, and the address keeps it', async ({ page }) => {
  await open(page, `/app/programs/${program()}/partners`);
  const all = await rows(page).count();
  const box = page.getByLabel('Name or e-mail address');
  await box.fill('ADA');
  await box.press('Enter');
  await expect(page).toHaveURL(/[?&]search=ADA$/);
  await settled(page);
  await expect(rows(page).first()).toContainText(/ada/i);
  expect(await rows(page).count()).toBeLessThan(all);
  await judge(page, 'partners that were found');
  await page.reload();
  await settled(page);
  await expect(box).toHaveValue('ADA');
  await box.fill('nobody is called so');
  await box.press('Enter');
  await expect(page.getByText('Nobody’s name or address has this in it')).toBeVisible();
  await page.goBack();
  await settled(page);
  await expect(rows(page).first()).toContainText(/ada/i);
});

test('a page number that is too large says so, and leads to the first page and the last', async ({ page }) => {
  await open(page, `/app/programs/${program()}/commissions?page=900`);
  await expect(page.getByText('This page is empty')).toBeVisible();
  await page.getByRole('button', { name: 'Last page' }).click();
  await settled(page);
  await expect(rows(page).first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Next' })).toBeDisabled();
  await page.goBack();
  await page.getByRole('button', { name: 'First page' }).click();
  await settled(page);
  await expect(rows(page).first()).toBeVisible();
  await expect(page).toHaveURL(/commissions$/);
});

test('choosing all says what it chose, also nothing', async ({ page }) => {
  await open(page, `/app/programs/${program()}/commissions?status=paid`);
  await page.getByRole('button', { name: 'Select all on this page' }).click();
  await expect(page.getByText('No commission on this page waits for approval.')).toBeVisible();
  await page.getByLabel('Status').selectOption('pending');
  await settled(page);
  await page.getByRole('button', { name: 'Select all on this page' }).click();
  await expect(page.getByText(/\d+ commissions? selected/)).toBeVisible();
  await page.getByLabel('Status').selectOption('');
  await expect(page.getByText(/\d+ commissions? selected/)).toHaveCount(0);
});

test('pages of the workspace keep the program when they are reloaded', async ({ page }) => {
  await open(page, '/app/programs');
  const chosen = page.getByRole('combobox', { name: 'Program' });
  const other = await page.evaluate(async () => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ name: 'Kept', currency: 'KWD' });
    const answer = await fetch('/api/advertiser/affiliate-programs', { method: 'POST', headers, body });
    return String((await answer.json()).data.id);
  });
  await page.goto(`/app/programs/${other}/links`);
  await settled(page);
  for (const name of ['Management keys', 'Members']) {
    await page.getByRole('link', { name }).click();
    await settled(page);
    await expect(chosen).toHaveValue(other);
    await page.reload();
    await settled(page);
    await expect(chosen).toHaveValue(other);
  }
  // The other walks begin with the demo.
  await page.evaluate(async (id) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}` };
    await fetch(`/api/advertiser/affiliate-programs/${id}`, { method: 'DELETE', headers });
  }, other);
});

test('an address without a page is a page of the dashboard', async ({ page }) => {
  await prepare(page.context());
  const answer = await page.goto('/app/nope');
  expect(answer?.status()).toBe(404);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Page not found');
  await judge(page, 'an unknown page, signed out');
  await signIn(page, OWNER);
  await page.goto('/app/nope');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Page not found');
  await expect(page.getByRole('navigation', { name: 'Main' })).toBeVisible();
  await judge(page, 'an unknown page');
  await photograph(page, 'unknown-page');
  await page.getByRole('main').getByRole('link').click();
  await settled(page);
  await expect(page).toHaveURL(/\/app\/programs/);
});

test('what a page is about is not there: it says so', async ({ page }) => {
  await open(page, '/app/programs');
  for (const [path, title] of [
    ['partners/999999999', 'Partner not found'],
    ['payouts/999999999', 'Payout not found'],
    ['webhooks/999999999', 'Endpoint not found'],
    ['customers/999999999', 'Customer not found'],
    ['sales/999999999', 'Sale not found'],
  ]) {
    await page.goto(`/app/programs/${program()}/${path}`);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(title ?? '');
    await expect(page.getByText('There is nothing at this address')).toBeVisible();
  }
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, PARTNER);
  await page.goto('/app/partner/payouts/999999999');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Payout not found');
  await judge(page, 'a payout that is not there');
});

test('days that cannot be shown are said, and leave the address', async ({ page }) => {
  await open(page, `/app/programs/${program()}?range=garbage`);
  await expect(page.getByText('The days in the address cannot be shown.')).toBeVisible();
  await expect(page).toHaveURL(new RegExp(`/programs/${program()}$`));
  await expect(page.getByRole('button', { name: '30 days' })).toHaveAttribute('aria-pressed', 'true');
});

test('more customers than leads are no share of them', async ({ page }) => {
  await page.route('**/report?**', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    Object.assign(answer.data.total, { clicks: 4, leads: 1, conversions: 2 });
    await route.fulfill({ json: answer });
  });
  await open(page, `/app/programs/${program()}`);
  const funnel = page.getByRole('region', { name: 'From click to customer' });
  await expect(funnel.getByText('25% of clicks')).toBeVisible();
  await expect(funnel.getByText('some signed up before these days')).toBeVisible();
  await expect(funnel.getByText('50%')).toBeVisible();
});

test('days are chosen by name', async ({ page }) => {
  await open(page, `/app/programs/${program()}`);
  await page.getByRole('button', { name: 'Custom', exact: true }).click();
  await judge(page, 'days by name');
  await photograph(page, 'days-by-name');
  await page.getByRole('button', { name: 'Last month' }).click();
  await settled(page);
  const now = new Date();
  const day = (month: number, day: number) => new Date(Date.UTC(now.getUTCFullYear(), month, day)).toISOString().slice(0, 10);
  const range = `${day(now.getUTCMonth() - 1, 1)}..${day(now.getUTCMonth(), 0)}`;
  expect(new URL(page.url()).searchParams.get('range')).toBe(range);
  await page.reload();
  await settled(page);
  await expect(page.getByRole('button', { name: 'Last month' })).toHaveAttribute('aria-pressed', 'true');
});

test('long codes of links leave the buttons in sight', async ({ page }) => {
  await open(page, `/app/programs/${program()}/partners`);
  await page.route('**/referral-links?**', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    for (const link of answer.data.slice(0, 1)) Object.assign(link, { short_code: 'summer-sale-of-the-newsletter-2026', made_by_partner: true });
    await route.fulfill({ json: answer });
  });
  await page.getByRole('link', { name: 'Referral links' }).click();
  await settled(page);
  await expect(page.getByText('summer-sale-of-the-newsletter-2026').first()).toBeVisible();
  await expect(page.getByRole('rowheader', { name: /summer-sale/ })).toContainText('Created by the partner');
  const table = page.getByRole('region', { name: 'Table: Referral links' });
  expect(await table.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
});
