/** Tables are sorted by their headers, and on a phone by a choice above the cards; the address keeps it. */
import { expect, test, type Page } from '@playwright/test';
import { OF_PARTNER, OF_PROGRAM, OWNER, PARTNER, answerOf, fits, judge, photograph, prepare, program, settled, signIn } from './stage';

/** Of the page's first table. */
const head = (page: Page, name: string) => page.getByRole('columnheader', { name }).first();

/** What the page asks its list for, in order. */
async function open(page: Page, path: string, list: string, who: typeof OWNER | typeof PARTNER = OWNER) {
  const asked: string[] = [];
  await prepare(page.context());
  await signIn(page, who);
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    const [sort, order] = [searchParams.get('sort'), searchParams.get('order')];
    const asks = sort ? `${sort} ${order}` : '';
    // The document asks, too, before its scripts are there.
    if (pathname.endsWith(list) && asked.at(-1) !== asks) asked.push(asks);
  });
  await page.goto(path);
  await settled(page);
  return asked;
}

const clicks = async (page: Page) =>
  (await page.locator('td[data-label="Clicks"]').allInnerTexts()).map((text) => Number(text.replaceAll(',', '')));

test('partners are sorted by a header, which the third choice undoes', async ({ page }) => {
  const asked = await open(page, `/app/programs/${program()}/partners`, '/partners');
  const own = await page.locator('tbody tr').first().innerText();
  await head(page, 'Clicks').getByRole('button').focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\?sort=clicks&order=desc$/);
  await settled(page);
  await expect(head(page, 'Clicks')).toHaveAttribute('aria-sort', 'descending');
  await expect(head(page, 'Clicks').getByRole('button')).toBeFocused();
  const most = await clicks(page);
  expect(most).toEqual([...most].sort((one, other) => other - one));
  await judge(page, 'a sorted table');
  await photograph(page, 'sorted');
  await page.keyboard.press('Enter');
  await expect(head(page, 'Clicks')).toHaveAttribute('aria-sort', 'ascending');
  await settled(page);
  await page.reload();
  await settled(page);
  const least = await clicks(page);
  expect(least).toEqual([...least].sort((one, other) => one - other));
  await head(page, 'Partner').getByRole('button').click();
  await expect(page).toHaveURL(/\?sort=name&order=asc$/);
  await settled(page);
  await expect(head(page, 'Clicks')).not.toHaveAttribute('aria-sort');
  await page.goBack();
  await expect(head(page, 'Clicks')).toHaveAttribute('aria-sort', 'ascending');
  await head(page, 'Clicks').getByRole('button').click();
  await expect(page).toHaveURL(/partners$/);
  await settled(page);
  expect(await page.locator('tbody tr').first().innerText()).toBe(own);
  expect(asked).toEqual(['', 'clicks desc', 'clicks asc', 'name asc', 'clicks asc', '']);
});

test('what a list cannot be sorted by is not asked for', async ({ page }) => {
  const asked = await open(page, `/app/programs/${program()}/links?sort=balance&order=asc`, '/referral-links');
  await expect(page.locator('tbody tr').first()).toBeVisible();
  expect(asked).toEqual(['']);
});

test('on a phone the choice is above the cards', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const asked = await open(page, `/app/programs/${program()}/links`, '/referral-links');
  await head(page, 'Last click').getByRole('button').click();
  await expect(page).toHaveURL(/\?sort=last_clicked&order=desc$/);
  await settled(page);
  await expect(head(page, 'Last click')).toHaveAttribute('aria-sort', 'descending');
  await judge(page, 'sorted cards');
  await fits(page, 'sorted cards');
  await photograph(page, 'sorted-cards');
  expect(asked).toEqual(['', 'last_clicked desc']);
});

const OTHERS = [
  [OWNER, '/app/members', '/members', [['Name', 'name asc'], ['E-mail address', 'email asc'], ['Since', 'created_at desc']]],
  [OWNER, '/app/programs', '/affiliate-programs', [['Program', 'name asc']]],
  [OWNER, 'commissions', '/commissions', [['Partner', 'partner asc'], ['Commission', 'amount desc'], ['Held until, or paid', 'hold_until asc']]],
  [OWNER, 'payouts', '/payouts', [['Date', 'date desc'], ['Amount', 'amount desc']]],
  [PARTNER, '/app/partner/payouts', '/payouts', [['Received', 'date desc'], ['You got', 'amount desc']]],
  [PARTNER, '/app/partner/links', '/referral-links', [['Code', 'short_code asc'], ['Clicks', 'clicks desc'], ['Last click', 'last_clicked desc']]],
  [PARTNER, '/app/partner/commissions', '/commissions', [['Commission', 'amount desc'], ['Held until, or paid', 'hold_until asc']]],
] as const;

for (const [who, path, list, heads] of OTHERS) {
  test(`${path} is sorted by what its service can`, async ({ page }) => {
    const asked = await open(page, path.startsWith('/') ? path : `/app/programs/${program()}/${path}`, list, who);
    for (const [name, wanted] of heads) {
      await head(page, name).getByRole('button').click();
      await expect(head(page, name)).toHaveAttribute('aria-sort', wanted.endsWith('asc') ? 'ascending' : 'descending');
      await settled(page);
      await expect(page.locator('tbody tr').first()).toBeVisible();
      expect(asked.at(-1)).toBe(wanted);
    }
    await judge(page, path);
    await photograph(page, `sorted-${path.replaceAll('/', '-')}`);
  });
}

test('programs are searched by name and status', async ({ page }) => {
  await open(page, '/app/programs', '/affiliate-programs');
  const table = page.getByRole('region', { name: 'Table: Programs' });
  const name = await table.getByRole('rowheader').first().innerText();
  await page.getByLabel('Name', { exact: true }).fill(name);
  await expect(page).toHaveURL(/[?]search=/);
  await settled(page);
  await expect(table.getByRole('rowheader').first()).toContainText(name);
  await page.getByLabel('Name', { exact: true }).fill('no program is called so');
  await expect(page.getByText('No program matches')).toBeVisible();
  await page.getByLabel('Name', { exact: true }).fill('');
  await page.getByLabel('Name', { exact: true }).press('Enter');
  await page.getByLabel('Status').selectOption('live');
  await expect(page).toHaveURL(/[?]status=live$/);
  await settled(page);
  const statuses = table.locator('td[data-label="Status"]');
  expect(new Set(await statuses.allInnerTexts())).toEqual(new Set(['Live']));
});

test('a partner narrows their links and commissions down', async ({ page }) => {
  await page.route('**/api/partner/programs?**', (route) => {
    const data = ['Shop', 'Club'].map((name, id) => ({ program_id: id + 1, partner_program_id: id + 1, name, links_left: 0 }));
    return route.fulfill({ json: { data, meta: { pagination: { page: 1, pageSize: 100, pageCount: 1, total: 2 } } } });
  });
  const wanted: string[] = [];
  page.on('request', (request) => /partner\/(referral-links|commissions|payouts)/.test(request.url()) && wanted.push(new URL(request.url()).search));
  await open(page, '/app/partner/links', '/referral-links', PARTNER);
  await page.getByLabel('Program').selectOption('Club');
  await page.getByLabel('Code').fill('nothing-is-called-so');
  await expect(page.getByText('No link matches')).toBeVisible();
  await expect.poll(() => wanted.at(-1)).toBe('?page=1&pageSize=25&program_id=2&search=nothing-is-called-so');
  await page.goto('/app/partner/commissions?status=paid&program=2');
  await expect(page.getByText('No commission matches')).toBeVisible();
  await expect.poll(() => wanted.at(-1)).toBe('?page=1&pageSize=25&program_id=2&paid=true');
  await judge(page, 'a partner without such commissions');
  await page.goto('/app/partner/payouts?program=2&currency=XTS');
  await expect(page.getByText('No payout matches')).toBeVisible();
  await expect.poll(() => wanted.at(-1)).toBe('?page=1&pageSize=25&program_id=2&currency=XTS');
  await page.getByLabel('Currency').selectOption('All');
  await expect.poll(() => wanted.at(-1)).toBe('?page=1&pageSize=25&program_id=2');
});

/** By a request of the page's own. */
const api = (page: Page, method: string, path: string, body?: object) =>
  page.evaluate(
    async ([method, path, body]) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}`, 'Content-Type': 'application/json' };
      return (await (await fetch(path, { method, headers, body })).json()).data;
    },
    [method, path, body ? JSON.stringify(body) : null] as const,
  );

test('archived programs are sorted and searched by themselves', async ({ page }) => {
  await open(page, '/app/programs', '/affiliate-programs');
  const names = ['Old shoes', 'Older hats'].map((name) => `${name} ${Date.now()}`);
  for (const name of names) {
    const { id } = await api(page, 'POST', '/api/advertiser/affiliate-programs', { name, currency: 'EUR' });
    await api(page, 'DELETE', `/api/advertiser/affiliate-programs/${id}`);
  }
  await page.reload();
  await settled(page);
  const table = page.getByRole('region', { name: 'Table: Archived programs' });
  const search = page.getByLabel('Name of an archived program');
  await search.fill(names[0] ?? '');
  await expect(page).toHaveURL(/[?]archived-search=/);
  await expect(table.getByRole('rowheader')).toHaveText([names[0] ?? '']);
  await table.getByRole('columnheader', { name: 'Program' }).getByRole('button').click();
  await expect(page).toHaveURL(/&archived-sort=name&archived-order=asc$/);
  await expect(table.getByRole('columnheader', { name: 'Program' })).toHaveAttribute('aria-sort', 'ascending');
  await expect(head(page, 'Program')).not.toHaveAttribute('aria-sort');
  await search.fill('no program is called so');
  await expect(page.getByText('No program matches')).toBeVisible();
  await judge(page, 'archived programs that a text does not find');
  await search.fill('');
  await search.press('Enter');
  await expect(table.getByRole('rowheader').nth(1)).toBeVisible();
  await expect(search).toBeFocused();
});

test('links and customers of one partner are searched on their page', async ({ page }) => {
  await open(page, `/app/programs/${program()}/partners`, '/partners');
  await page.getByRole('table').getByRole('link', { name: 'Ada' }).click();
  await settled(page);
  await page.getByRole('navigation', { name: 'About the partner' }).getByRole('link', { name: 'Links' }).click();
  await settled(page);
  const search = page.getByRole('searchbox', { name: 'Code' });
  const code = (await page.getByRole('rowheader').first().innerText()).split('\n')[0] ?? '';
  await search.fill(code.toUpperCase());
  await expect(page).toHaveURL(/[?]tab=links&search=/);
  await settled(page);
  await expect(page.getByRole('rowheader').first()).toContainText(code);
  await search.fill('nothing-is-called-so');
  await expect(page.getByText('No link matches')).toBeVisible();
  await judge(page, 'links of a partner that a text does not find');
  await page.getByRole('navigation', { name: 'About the partner' }).getByRole('link', { name: 'Customers' }).click();
  await settled(page);
  const key = await page.getByRole('rowheader').first().innerText();
  await page.getByLabel('Search').fill(key.split('\n')[0] ?? '');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/[?]tab=customers&search=/);
  await expect(page.getByRole('rowheader')).toHaveCount(1);
  await page.getByLabel('Search').fill('nobody-is-called-so');
  await page.keyboard.press('Enter');
  await expect(page.getByText('No customer matches these filters')).toBeVisible();
});

test('keys are searched by name, creator and status, and their acts are in the audit log', async ({ page }) => {
  const asked = await open(page, '/app/keys', '/api-keys');
  const name = `Sorted ${Date.now()}`;
  const { id } = await api(page, 'POST', '/api/advertiser/api-keys', { name });
  await page.reload();
  await settled(page);
  await page.getByLabel('Key or creator').fill(name);
  await expect(page.getByRole('rowheader')).toHaveText([name]);
  await head(page, 'Expires').getByRole('button').click();
  await expect(head(page, 'Expires')).toHaveAttribute('aria-sort', 'ascending');
  await settled(page);
  expect(asked.at(-1)).toBe('expires_at asc');
  await judge(page, 'keys');
  await page.getByLabel('Status').selectOption('revoked');
  await expect(page.getByText('No key matches')).toBeVisible();
  await page.goto('/app/audit-log');
  await settled(page);
  const answer = page.waitForResponse((response) => response.url().includes(`actor=key&actor_id=${id}`));
  await page.getByLabel('Who').selectOption({ label: `Key ${name}` });
  expect((await answer).status()).toBe(200);
  await expect(page.getByText('Nothing was done like this')).toBeVisible();
  await api(page, 'DELETE', `/api/advertiser/api-keys/${id}`);
});

test('webhook endpoints are sorted and searched, although their list is there whole', async ({ page }) => {
  await page.route('**/webhook-endpoints', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    const named = (url: string, place: number) => ({ ...answer.data[0], id: 9_000 + place, url, description: '' });
    answer.data = ['https://b.example/hook', 'https://a.example/hook', 'https://c.example/hook'].map(named);
    await route.fulfill({ json: answer });
  });
  await open(page, `/app/programs/${program()}/webhooks`, '/webhook-endpoints');
  const hosts = async () => (await page.getByRole('rowheader').allInnerTexts()).map((text) => text.slice(8, 9)).join('');
  expect(await hosts()).toBe('bac');
  await head(page, 'Endpoint').getByRole('button').focus();
  await page.keyboard.press('Enter');
  await expect(head(page, 'Endpoint')).toHaveAttribute('aria-sort', 'ascending');
  await settled(page);
  expect(await hosts()).toBe('abc');
  await expect(head(page, 'Endpoint').getByRole('button')).toBeFocused();
  await judge(page, 'sorted endpoints');
  await page.getByLabel('URL or description').fill('C.example');
  await expect(page.getByRole('rowheader')).toHaveText(['https://c.example/hook']);
  await page.getByLabel('URL or description').fill('nothing-is-called-so');
  await expect(page.getByText('No endpoint matches')).toBeVisible();
});

test('a partner narrows their clicks down to a link', async ({ page }) => {
  await open(page, '/app/partner/clicks', '/clicks', PARTNER);
  const code = await page.locator('td[data-label="Link"]').first().innerText();
  const asked = page.waitForRequest((request) => new URL(request.url()).searchParams.get('search') === code);
  await page.getByLabel('Code of the link').fill(code);
  await asked;
  await settled(page);
  await expect(page.locator('td[data-label="Link"]').first()).toHaveText(code);
  await judge(page, 'clicks on one link');
  await page.getByLabel('Code of the link').fill('nothing-is-called-so');
  await expect(page.getByText('No click matches')).toBeVisible();
});

for (const [who, path, subject, leads] of [
  [OWNER, () => `/app/programs/${program()}/notifications`, { kind: 'paid_commission_deducted', commission_id: 12, sale_id: 34 }, ['Show the sale', /\/sales\/34$/]],
  [OWNER, () => `/app/programs/${program()}/notifications`, { kind: 'processor_account_claimed', commission_id: null, sale_id: null }, ['Payment processor', /\/processor$/]],
  [PARTNER, () => '/app/partner/notifications', { kind: 'commission_adjusted', commission_id: 12, sale_id: null }, ['Show the commission', /\/app\/partner\/commissions[?]commission=12$/]],
] as const) {
  test(`a notification of ${subject.kind} leads to what it is about`, async ({ page }) => {
    const asked: string[] = [];
    await page.route('**/notifications?**', (route) => {
      asked.push(new URL(route.request().url()).search);
      const unread = asked.at(-1)?.includes('unread');
      const one = { ...subject, id: 1, program_id: 1, message: 'Something happened.', deduction: null, read_at: null, createdAt: '2026-11-26T08:00:00Z' };
      const data = unread ? [] : [one];
      return route.fulfill({ json: { data, meta: { pagination: { page: 1, pageSize: 20, pageCount: 1, total: data.length } } } });
    });
    await open(page, path(), '/notifications', who);
    await page.getByLabel('Unread only').check();
    await expect(page.getByText('Nothing unread')).toBeVisible();
    await expect(page).toHaveURL(/[?]unread=yes$/);
    await page.getByLabel('Unread only').uncheck();
    await judge(page, 'notifications');
    await page.getByRole('main').getByRole('link', { name: leads[0] }).click();
    await expect(page).toHaveURL(leads[1]);
  });
}

const UNKNOWN = ['status', 'signal', 'type', 'device', 'tests', 'who', 'what', 'program', 'partner', 'commission', 'currency', 'unread', 'sort', 'order', 'page', 'cohortCurrency'];

for (const [who, paths] of [
  [OWNER, () => ['/app/programs', '/app/members', '/app/keys', '/app/audit-log', ...OF_PROGRAM.map((path) => `/app/programs/${program()}${path}`)]],
  [PARTNER, () => OF_PARTNER.map((path) => `/app/partner${path}`)],
] as const) {
  test(`what an address says of filters and orders that a list does not know is left out, ${who}`, async ({ page }) => {
    await open(page, '/app/account', '/nothing', who);
    const query = new URLSearchParams(UNKNOWN.map((name) => [name, 'zzz'])).toString();
    for (const path of paths()) {
      await page.goto(`${path}?${query}`);
      await settled(page);
    }
  });
}
