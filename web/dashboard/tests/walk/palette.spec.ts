/** Ctrl K opens pages, programs and partners by name, customers and sales by what the shop calls them; by keyboard alone. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, PARTNER, complaints, emailed, fits, judge, photograph, prepare, program, settled, signIn } from './stage';
import { listen } from './wire';

const box = (page: Page) => page.getByRole('combobox', { name: 'Page, program, partner, customer or sale' });
const options = (page: Page) => page.getByRole('listbox', { name: 'Results' }).getByRole('option');

async function open(page: Page, who: typeof OWNER | typeof PARTNER = OWNER) {
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, who);
  await settled(page);
  if (who === OWNER) await page.goto(`/app/programs/${program()}`);
  await settled(page);
  return heard;
}

const group = (page: Page, name: string) => page.getByRole('listbox', { name: 'Results' }).getByRole('group', { name });

/** A sale of the demo, as the API lists it: by which name its customer is found, and which one all their events know. */
async function sale(page: Page) {
  return page.evaluate(async (id) => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}` };
    type Event = { id: number; transaction_id: string; customer_key?: string | null; click_id: string; customer_id: number | null };
    const events = async (query: string) => {
      const answer = await fetch(`/api/advertiser/affiliate-programs/${id}/events?limit=50&${query}`, { headers });
      return ((await answer.json()) as { data: Event[] }).data;
    };
    const { id: sale, transaction_id, customer_key, click_id, customer_id } = (await events('type=sale')).find((one) => one.customer_id)!;
    const name = customer_key ?? click_id;
    const key = (await events(`search=${encodeURIComponent(name)}`)).find((one) => one.customer_key)?.customer_key;
    return { sale, transaction: transaction_id, name, shown: key ?? name, customer: customer_id };
  }, program());
}

/** What a screen reader is told to be on. */
async function active(page: Page): Promise<string> {
  const id = await box(page).getAttribute('aria-activedescendant');
  const option = page.locator(`[id="${id}"]`);
  await expect(option).toHaveAttribute('aria-selected', 'true');
  await expect(option).toBeInViewport();
  return option.innerText();
}

test('a page is opened by its name, and Escape gives the focus back', async ({ page }) => {
  const heard = await open(page);
  const link = page.getByRole('link', { name: 'Events' }).first();
  await link.focus();
  await page.keyboard.press('Control+k');
  await expect(box(page)).toBeFocused();
  await expect(box(page)).toHaveAttribute('aria-expanded', 'true');
  await judge(page, 'the palette');
  await photograph(page, 'palette');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(link).toBeFocused();

  await page.keyboard.press('Meta+k');
  await box(page).pressSequentially('commiss');
  await expect(options(page)).toHaveCount(1);
  expect(await active(page)).toContain('Commissions');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`/app/programs/${program()}/commissions`);
  await expect(page.getByRole('heading', { level: 1, name: 'Commissions' })).toBeFocused();

  await page.keyboard.press('Control+k');
  await box(page).pressSequentially('customers');
  expect(await active(page)).toContain('Customers');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`/app/programs/${program()}/customers`);
  expect(heard).toEqual([]);
});

test('arrows go around the results', async ({ page }) => {
  await open(page);
  await page.getByRole('button', { name: 'Go to' }).click();
  await expect(box(page)).toBeFocused();
  const count = await options(page).count();
  expect(count).toBeGreaterThan(3);
  const first = await active(page);
  await page.keyboard.press('ArrowUp');
  const last = await active(page);
  expect(last).not.toBe(first);
  await page.keyboard.press('ArrowDown');
  expect(await active(page)).toBe(first);
  for (let step = 0; step < count - 1; step += 1) await page.keyboard.press('ArrowDown');
  expect(await active(page)).toBe(last);
  await page.keyboard.type('nothing is called so');
  await expect(page.getByRole('dialog').getByRole('status')).toContainText('Nothing found');
  await expect(box(page)).toHaveAttribute('aria-expanded', 'false');
  await judge(page, 'the palette without a result');
  await page.keyboard.press('Enter');
  await expect(box(page)).toBeFocused();
});

test('partners and programs are found; their page opens', async ({ page }) => {
  await open(page);
  await page.keyboard.press('Control+k');
  // Looked up by the service, as the text is typed.
  await box(page).pressSequentially('ADA');
  await expect(group(page, 'Partners').getByRole('option').first()).toHaveAttribute('aria-selected', 'true');
  expect(await active(page)).toMatch(/ada/i);
  await page.keyboard.press('Enter');
  await settled(page);
  await expect(page).toHaveURL(new RegExp(`/programs/${program()}/partners/\\d+$`));
  await page.keyboard.press('Control+k');
  await box(page).fill('program demo');
  await options(page).first().click();
  await settled(page);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Overview');
});

test('a sale is found by its transaction id, and its customer by key or click id, by keyboard alone', async ({ page }) => {
  const heard = await open(page);
  const { sale: id, transaction, name, shown, customer } = await sale(page);
  await page.keyboard.press('Control+k');
  await box(page).pressSequentially(transaction);
  await expect(group(page, 'Transactions').getByRole('option', { name: transaction })).toHaveAttribute('aria-selected', 'true');
  // Whose sale it is stands beside it.
  await expect(group(page, 'Customers').getByRole('option', { name })).toHaveCount(1);
  await judge(page, 'the palette with a sale');
  await photograph(page, 'palette-sale');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`/app/programs/${program()}/sales/${id}`);
  await settled(page);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Sale ${transaction}`);

  await page.keyboard.press('Control+k');
  await box(page).pressSequentially(name);
  await expect(group(page, 'Customers').getByRole('option')).toHaveCount(1);
  expect(await active(page)).toContain(shown);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`/app/programs/${program()}/customers/${customer}`);
  await settled(page);
  expect(heard).toEqual([]);
});

test('one request is made when the typing pauses, and an answer to an older text is dropped', async ({ page }) => {
  await open(page);
  const { transaction } = await sale(page);
  const asked: string[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/events?*search=*', async (route) => {
    const search = new URL(route.request().url()).searchParams.get('search') ?? '';
    asked.push(search);
    if (search === transaction) await held;
    await route.continue();
  });
  await page.keyboard.press('Control+k');
  await box(page).pressSequentially(transaction);
  await expect.poll(() => asked).toEqual([transaction]);
  const late = page.waitForResponse((answer) => new URL(answer.url()).searchParams.get('search') === transaction);
  await box(page).fill('nobody has this key');
  await expect(page.getByRole('dialog').getByRole('status')).toContainText(/^\s*Nothing found\. In /);
  release();
  await (await late).finished();
  await expect(options(page)).toHaveCount(0);
  expect(asked).toEqual([transaction, 'nobody has this key']);
});

test('whoever may not read events or partners of the program finds none, and is told of no failure', async ({ page }) => {
  await open(page);
  const { transaction } = await sale(page);
  await page.route(/\/(events|partners)\?.*search=/, (route) =>
    route.fulfill({ status: 403, json: { error: { code: 'FORBIDDEN', message: 'No' } } }),
  );
  await page.keyboard.press('Control+k');
  await box(page).fill(transaction);
  await expect(page.getByRole('dialog').getByRole('status')).toContainText('Nothing found');
  await expect(page.getByText('could not be searched')).toHaveCount(0);
  await page.unroute(/\/(events|partners)\?.*search=/);
  await page.route(/\/(events|partners)\?.*search=/, (route) => route.fulfill({ status: 503, json: {} }));
  await box(page).fill(`${transaction} `);
  await box(page).fill('set');
  await expect(page.getByText('could not be searched')).toBeVisible();
  await expect(options(page).filter({ hasText: 'Settings' })).toHaveCount(1);
});

test('a member who may only see that the program exists finds pages, and neither its partners nor its customers', async ({ page, browser }) => {
  await open(page);
  const { transaction, name } = await sale(page);
  const email = `narrow-${Date.now()}@demo.example`;
  const invited = await page.evaluate(
    async ([email, id]) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}`, 'Content-Type': 'application/json' };
      const body = JSON.stringify({ email, role: 'member', permissions: { [id]: ['program:list'] } });
      return (await fetch('/api/advertiser/invitations', { method: 'POST', headers, body })).status;
    },
    [email, program()] as const,
  );
  expect(invited).toBe(201);
  const link = await emailed(page, email, 'You are invited to work in', 'email-member-invitation');

  const member = await (await browser.newContext()).newPage();
  const heard = complaints(member);
  await member.goto(link);
  await member.getByLabel('Your name').fill('Nora');
  await member.getByLabel('Password').fill('kettle ambush violin');
  await member.getByRole('button', { name: 'Accept' }).click();
  await expect(member.getByRole('button', { name: 'Sign out' })).toBeVisible();
  await member.goto('/app/account');
  await settled(member);
  const asked: string[] = [];
  member.on('request', (request) => /\/(events|partners)\?.*search=/.test(request.url()) && asked.push(request.url()));
  await member.keyboard.press('Control+k');
  const status = member.getByRole('dialog').getByRole('status');
  for (const text of ['ada', transaction, name]) {
    await box(member).fill(text);
    await expect(status).toContainText('Nothing found');
    await expect(options(member)).toHaveCount(0);
  }
  // They may see neither, and know it.
  expect(asked).toEqual([]);
  await box(member).fill('account');
  await expect(options(member)).toHaveText([/Account/]);
  await expect(member.getByText('could not be searched')).toHaveCount(0);
  await member.keyboard.press('Enter');
  await expect(member).toHaveURL('/app/account');
  await settled(member);
  expect(heard).toEqual([]);
  await member.context().close();
});

test('a half-filled form is asked about before the palette leaves it', async ({ page }) => {
  await open(page);
  await page.goto(`/app/programs/${program()}/settings`);
  await settled(page);
  await page.getByLabel('Description').fill('Half');
  await page.keyboard.press('Control+k');
  await box(page).fill('events');
  await page.keyboard.press('Enter');
  const question = page.getByRole('dialog', { name: 'Discard your changes?' });
  await expect(question).toBeVisible();
  // Another dialog waits: the palette does not cover it.
  await page.keyboard.press('Control+k');
  await expect(box(page)).toHaveCount(0);
  await question.getByRole('button', { name: 'Keep editing' }).click();
  await expect(page.getByLabel('Description')).toHaveValue('Half');
});

test('its code is loaded when it is first opened', async ({ page }) => {
  await open(page);
  const asked = await listen(page);
  await page.goto(`/app/programs/${program()}`);
  await settled(page);
  expect(asked.filter(({ url }) => /Palette/.test(url))).toEqual([]);
  await page.route('**/Palette*.js', (route) => route.abort(), { times: 1 });
  await page.keyboard.press('Control+k');
  await expect(page.getByText('The search could not be loaded.')).toBeVisible();
  await page.reload();
  await settled(page);
  await page.keyboard.press('Control+k');
  await expect(box(page)).toBeFocused();
  await expect.poll(() => asked.filter(({ url }) => /Palette.*\.js$/.test(url)).length).toBe(1);
});

test('a partner has their own pages there, on a phone too', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, PARTNER);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Go to' }).click();
  await expect(options(page).filter({ hasText: 'Members' })).toHaveCount(0);
  await box(page).fill('clicks');
  await judge(page, 'the palette on a phone');
  await fits(page, 'the palette on a phone');
  await photograph(page, 'palette-phone');
  await options(page).first().click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Clicks');
});
