/** The advertiser's page of one partner: its tabs, which are in the address. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, code, complaints, judge, photograph, prepare, program, settled, signIn, tooWide } from './stage';

async function open(page: Page) {
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, OWNER);
  await page.goto(`/app/programs/${program()}/partners`);
  await settled(page);
  await page.getByRole('table').getByRole('link', { name: 'Ada' }).click();
  await settled(page);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Ada');
  return heard;
}

const tab = (page: Page, name: string) => page.getByRole('navigation', { name: 'About the partner' }).getByRole('link', { name });

for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
  test(`every tab, by keyboard alone, ${viewport.width} px`, async ({ page }) => {
    await page.setViewportSize(viewport);
    const heard = await open(page);
    const address = new URL(page.url()).pathname;
    await expect(tab(page, 'Overview')).toHaveAttribute('aria-current', 'page');
    await expect(page.getByRole('img', { name: /Net commission/ })).toBeVisible();
    for (const [name, at] of [
      ['Links', 'links'], ['Customers', 'customers'], ['Commissions', 'commissions'],
      ['Notes', 'notes'], ['Payouts', 'payouts'], ['Overview', ''],
    ] as const) {
      await tab(page, name).focus();
      await page.keyboard.press('Enter');
      await expect(page).toHaveURL(at ? `${address}?tab=${at}` : address);
      await settled(page);
      await expect(tab(page, name)).toBeFocused();
      await expect(tab(page, name)).toHaveAttribute('aria-current', 'page');
      await judge(page, `a partner’s ${name}`);
      expect(await tooWide(page), name).toEqual([]);
      await photograph(page, `partner-${viewport.width}-${at || 'overview'}`, { fullPage: true });
    }
    await page.goBack();
    await expect(page.getByRole('heading', { name: 'Payouts', exact: true })).toBeVisible();
    await page.reload();
    await settled(page);
    await expect(tab(page, 'Payouts')).toHaveAttribute('aria-current', 'page');
    expect(heard).toEqual([]);
  });
}

test('each tab has what is this partner’s, and nothing of others', async ({ page }) => {
  await open(page);
  const region = page.getByRole('region', { name: 'The last 30 days' });
  const id = new URL(page.url()).pathname.split('/').at(-1);
  const row = await page.evaluate(async ([program, partner]) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}` };
    const report = `/api/advertiser/affiliate-programs/${program}/report/breakdown?by=partner&period=30d&pageSize=100`;
    const { data } = await (await fetch(report, { headers })).json();
    return data.find((one: { id: number }) => String(one.id) === partner);
  }, [program(), id ?? ''] as const);
  for (const [name, value] of [['Clicks', row.clicks], ['Sales', row.sales], ['Leads', row.leads]]) {
    await expect(region.locator('dl > div').filter({ hasText: new RegExp(`^${name}`) }).locator('dd')).toHaveText(value.toLocaleString('en'));
  }

  await tab(page, 'Links').click();
  await settled(page);
  await expect(page.getByRole('rowheader', { name: code(), exact: true })).toBeVisible();
  await expect(page.getByRole('rowheader', { name: process.env.DEMO_AFF_B ?? 'bruno', exact: true })).toHaveCount(0);
  await page.getByRole('button', { name: 'New link' }).click();
  const dialog = page.getByRole('dialog', { name: 'New referral link' });
  await expect(dialog.getByLabel('Partner')).toHaveCount(0);
  await judge(page, 'a new link of a partner');
  const made = `tab-${Date.now()}`;
  await dialog.getByLabel('Code').fill(made);
  await dialog.getByRole('button', { name: 'Create link' }).click();
  await expect(page.getByRole('rowheader', { name: made })).toBeVisible();
  await page.getByRole('button', { name: `Turn off ${made}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
  await expect(page.getByRole('button', { name: `Turn on ${made}` })).toBeVisible();

  await tab(page, 'Customers').click();
  await settled(page);
  // Who earned them a commission may have clicked another's link since.
  const customers = page.locator('tbody tr');
  await expect(customers.filter({ hasText: 'Ada' }).first()).toBeVisible();
  const listed = await page.evaluate(async ([program, partner]) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}` };
    const list = `/api/advertiser/affiliate-programs/${program}/customers?partner_program_id=${partner}&pageSize=25`;
    const { data } = await (await fetch(list, { headers })).json();
    return data.map((one: { customer_key: string | null; click_id: string }) => one.customer_key ?? one.click_id);
  }, [program(), id ?? ''] as const);
  await expect(customers.getByRole('rowheader')).toContainText(listed);

  await tab(page, 'Commissions').click();
  await settled(page);
  await page.getByLabel('Status').selectOption('paid');
  await expect(page).toHaveURL(/\?tab=commissions&status=paid$/);
  await settled(page);
  await expect(page.locator('tbody').getByText('Pending')).toHaveCount(0);
  const payout = page.locator('tbody').getByRole('link', { name: /^Payout/ }).first();
  const name = await payout.innerText();

  await tab(page, 'Payouts').click();
  await settled(page);
  await expect(page).toHaveURL(/\?tab=payouts$/);
  const paid = page.getByRole('row', { name });
  const received = await paid.locator('strong').innerText();
  await paid.getByRole('link', { name }).click();
  await settled(page);
  const parts = page.getByRole('region', { name: 'Table: Partners of the payout' });
  await expect(parts.getByRole('row', { name: /Ada/ }).locator('strong')).toHaveText(received);
  const commissions = page.getByRole('region', { name: 'Table: Commissions of the payout' });
  const many = await page.locator('dl > div').filter({ hasText: /^Commissions/ }).locator('dd').innerText();
  await expect(commissions.getByRole('rowheader')).toHaveCount(Math.min(Number(many.replaceAll(',', '')), 25));
  await judge(page, 'a payout');
  await photograph(page, 'payout', { fullPage: true });
  const sale = commissions.getByRole('rowheader').getByRole('link').first();
  const transaction = await sale.innerText();
  await sale.click();
  await settled(page);
  await expect(page).toHaveURL(/\/sales\/\d+$/);
  await expect(page.getByText(transaction).first()).toBeVisible();
});

test('a note is kept, and asked about before it is thrown away', async ({ page }) => {
  await open(page);
  await tab(page, 'Notes').click();
  await settled(page);
  const note = page.getByLabel('Note about this partner');
  const text = `Met at the fair.\nCalls on ${Date.now()}.`;
  await note.fill(text);
  await tab(page, 'Links').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Keep editing' }).click();
  await page.getByRole('button', { name: 'Save note' }).click();
  await expect(page.getByText('The note was saved.')).toBeVisible();
  await page.reload();
  await settled(page);
  await expect(note).toHaveValue(text);
  await expect(page.getByText(/Last changed .* UTC/)).toBeVisible();
  await note.fill('');
  await page.getByRole('button', { name: 'Save note' }).click();
  await expect(page.getByText(/Last changed/)).toHaveCount(0);
});
