/** A partner makes a link of their own, as far as the program allows it. */
import { expect, test, type Page } from '@playwright/test';
import { PARTNER, code, complaints, judge, photograph, prepare, settled, signIn, tooWide } from './stage';

const DESKTOP = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };

async function open(page: Page) {
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, PARTNER);
  await page.goto('/app/partner/links');
  await settled(page);
  return heard;
}

/** A list of the service's, with these rows in it. */
async function stub(page: Page, list: string, rows: object[]) {
  await page.route(`**/api/partner/${list}?**`, (route) =>
    route.fulfill({ json: { data: rows, meta: { pagination: { page: 1, pageSize: 100, pageCount: 1, total: rows.length } } } }),
  );
}

const ofProgram = (id: number, name: string, links_left: number) => ({ partner_program_id: id, program_id: id, name, links_left });

for (const viewport of [DESKTOP, PHONE]) {
  test(`a link of one's own is made and copied, ${viewport.width} px`, async ({ page, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.setViewportSize(viewport);
    const heard = await open(page);
    await page.getByRole('button', { name: 'New link' }).focus();
    await page.keyboard.press('Enter');
    const form = page.getByRole('dialog', { name: 'New referral link' });
    const box = form.getByLabel('Code');
    await expect(box).toBeFocused();
    await expect(form.getByText(/^You may create \d+ more links? in /)).toBeVisible();
    await judge(page, 'a new link');
    await photograph(page, `partner-new-link-${viewport.width}`);
    // One that is taken is said at the field.
    await page.keyboard.type(code());
    await page.keyboard.press('Enter');
    await expect(form.getByRole('alert')).toHaveText('Code is taken by another link');
    await expect(box).toBeFocused();
    const own = `own-${viewport.width}-${Date.now()}`;
    await box.fill(own);
    await page.keyboard.press('Enter');
    const made = page.getByRole('dialog', { name: 'Your new link' });
    await expect(made.locator('code')).toContainText(`?aff=${own}`);
    await judge(page, 'the new link');
    expect(await tooWide(page), 'the new link').toEqual([]);
    await photograph(page, `partner-made-link-${viewport.width}`);
    await made.getByRole('button', { name: 'Copy your link' }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(new RegExp(`^https://.*[?]aff=${own}$`));
    await made.getByRole('button', { name: 'Done' }).click();
    await expect(made).toHaveCount(0);
    await expect(page.getByRole('button', { name: 'New link' })).toBeFocused();
    await settled(page);
    const first = page.getByRole('table').locator('tbody tr').first();
    await expect(first.getByRole('rowheader')).toHaveText(own);
    expect(heard).toEqual([]);
  });
}

test('of several programs one is chosen, and a refusal that is of no field is said at the end', async ({ page }) => {
  await stub(page, 'programs', [ofProgram(7, 'Shop', 1), ofProgram(9, 'Full', 0), ofProgram(8, 'Club', 3)]);
  let sent: unknown;
  await page.route('**/api/partner/referral-links', (route) => {
    sent = route.request().postDataJSON();
    return route.fulfill({ status: 409, json: { error: { message: 'This program does not let you make more referral links' } } });
  });
  await open(page);
  await page.getByRole('button', { name: 'New link' }).click();
  const form = page.getByRole('dialog', { name: 'New referral link' });
  await expect(form.getByRole('option')).toHaveText(['Shop', 'Club']);
  await expect(form.getByText('You may create 1 more link in Shop.')).toBeVisible();
  await form.getByLabel('Program').selectOption('Club');
  await expect(form.getByText('You may create 3 more links in Club.')).toBeVisible();
  await form.getByRole('button', { name: 'Create link' }).click();
  await expect(form.getByRole('alert')).toHaveText('This program does not let you make more referral links');
  // Without a code, one is made up.
  expect(sent).toEqual({ program_id: 8 });
  await judge(page, 'a link that is refused');
});

test('where no program allows one more, none is offered', async ({ page }) => {
  await stub(page, 'programs', [ofProgram(7, 'Shop', 0)]);
  await open(page);
  await expect(page.getByText('Each works on any page of the shop')).toBeVisible();
  await expect(page.getByRole('button', { name: 'New link' })).toHaveCount(0);
});

test('a partner without links makes the first one on their home page', async ({ page }) => {
  const links: object[] = [];
  await stub(page, 'referral-links', links);
  await page.route('**/api/partner/referral-links', (route) => {
    const link = { id: 5, program_id: 7, program_name: 'Shop', program_status: 'live', domain: 'shop.example', cookie_window_days: 30 };
    links.push({ ...link, short_code: 'made-up', status: 'active', clicks: 0, last_clicked: null });
    return route.fulfill({ status: 201, json: { data: links[0] } });
  });
  await stub(page, 'programs', [ofProgram(7, 'Shop', 1)]);
  const heard = await open(page);
  await page.goto('/app/partner');
  await settled(page);
  await judge(page, 'a home without links');
  await page.getByRole('button', { name: 'New link' }).click();
  await page.getByRole('dialog', { name: 'New referral link' }).getByRole('button', { name: 'Create link' }).click();
  await page.getByRole('dialog', { name: 'Your new link' }).getByRole('button', { name: 'Close' }).click();
  await expect(page.getByRole('region', { name: 'Your link' }).locator('code')).toHaveText('https://shop.example/?aff=made-up');
  await expect(page.getByRole('button', { name: 'New link' })).toHaveCount(0);
  expect(heard).toEqual([]);
});
