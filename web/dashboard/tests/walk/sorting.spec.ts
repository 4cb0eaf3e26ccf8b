/** Tables are sorted by their headers, and on a phone by a choice above the cards; the address keeps it. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, PARTNER, fits, judge, pictures, prepare, program, settled, signIn } from './stage';

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
  await page.screenshot({ path: `${pictures}/sorted.png` });
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
  await page.screenshot({ path: `${pictures}/sorted-cards.png` });
  expect(asked).toEqual(['', 'last_clicked desc']);
});

const OTHERS = [
  [OWNER, '/app/programs', '/affiliate-programs', [['Program', 'name asc']]],
  [OWNER, 'commissions', '/commissions', [['Partner', 'partner asc'], ['Commission', 'amount desc'], ['Held until, or paid', 'hold_until asc']]],
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
    await page.screenshot({ path: `${pictures}/sorted-${path.replaceAll('/', '-')}.png` });
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
  page.on('request', (request) => /partner\/(referral-links|commissions)/.test(request.url()) && wanted.push(new URL(request.url()).search));
  await open(page, '/app/partner/links', '/referral-links', PARTNER);
  await page.getByLabel('Program').selectOption('Club');
  await page.getByLabel('Code').fill('nothing-is-called-so');
  await expect(page.getByText('No link matches')).toBeVisible();
  await expect.poll(() => wanted.at(-1)).toBe('?page=1&pageSize=25&program_id=2&search=nothing-is-called-so');
  await page.goto('/app/partner/commissions?status=paid&program=2');
  await expect(page.getByText('No commission matches')).toBeVisible();
  await expect.poll(() => wanted.at(-1)).toBe('?page=1&pageSize=25&program_id=2&status=paid');
  await judge(page, 'a partner without such commissions');
});
