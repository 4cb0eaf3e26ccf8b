/** A member is invited with presets of rights for programs that are found by name; by keyboard alone. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, answerOf, complaints, fits, judge, photograph, prepare, program, settled, signIn } from './stage';

const PROGRAMS = '/api/advertiser/affiliate-programs';
const SEES = ['program:list', 'program:read', 'tracking:list', 'tracking:read'];

/** Programs that a walk has made. */
const ids: string[] = [];

async function api(page: Page, method: string, path: string, body?: object) {
  return page.evaluate(
    async ([method, path, body]) => {
      const headers = { Authorization: `Bearer ${sessionStorage.getItem('session')}`, 'Content-Type': 'application/json' };
      return (await (await fetch(path, { method, headers, body })).json()).data;
    },
    [method, path, body ? JSON.stringify(body) : null] as const,
  );
}

async function open(page: Page) {
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, OWNER);
  await settled(page);
  for (const name of ['Berlin', 'Bern']) ids.push(String((await api(page, 'POST', PROGRAMS, { name, currency: 'EUR' })).id));
  await page.goto('/app/members');
  await settled(page);
  return heard;
}

// The other walks begin with the demo.
test.afterEach(async ({ page }) => {
  for (const id of ids.splice(0)) await api(page, 'DELETE', `${PROGRAMS}/${id}`);
});

for (const viewport of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
  test(`a member is invited with a preset for each program, ${viewport.width} px`, async ({ page }) => {
    await page.setViewportSize(viewport);
    const heard = await open(page);
    await page.getByRole('button', { name: 'Invite a member' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Invite a member' });
    const email = `rights-${Date.now()}@demo.example`;
    await expect(dialog.getByLabel('E-mail address')).toBeFocused();
    await page.keyboard.type(email);
    await expect(dialog.getByText('a member sees only the programs that are added here')).toBeVisible();
    const search = dialog.getByRole('combobox', { name: 'Add a program' });
    await search.focus();
    await page.keyboard.type('ber');
    const results = dialog.getByRole('listbox', { name: 'Results' }).getByRole('option');
    await expect(results).toHaveText([/Ber/, /Ber/]);
    await judge(page, 'programs found by name');
    await photograph(page, `member-search-${viewport.width}`);
    // The first Escape closes the results, not the dialog.
    await page.keyboard.press('Escape');
    await expect(results).toHaveCount(0);
    await expect(dialog).toBeVisible();
    await search.fill('berlin');
    await page.keyboard.press('Enter');
    await expect(dialog.getByLabel('Berlin', { exact: true })).toHaveValue('analyst');
    await search.fill('bern');
    await results.click();
    await dialog.getByLabel('Berlin', { exact: true }).selectOption('finance');
    await dialog.getByLabel('Bern', { exact: true }).selectOption('custom');
    await dialog.getByRole('group', { name: 'Rights in Bern' }).getByLabel('See events').uncheck();
    await judge(page, 'rights of a new member');
    await fits(page, 'rights of a new member');
    await photograph(page, `member-rights-${viewport.width}`);
    const sent = page.waitForResponse((response) => response.url().endsWith('/invitations') && response.request().method() === 'POST');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    const answer = await sent;
    expect(answer.status()).toBe(201);
    const [berlin = '', bern = ''] = ids;
    const { permissions } = answer.request().postDataJSON();
    expect(Object.keys(permissions).sort()).toEqual([...ids].sort());
    expect([...permissions[berlin]].sort()).toEqual([...SEES, 'program:pay_out'].sort());
    expect([...permissions[bern]].sort()).toEqual(SEES.filter((right) => right !== 'tracking:list').sort());
    await page.reload();
    await settled(page);
    await expect(page.getByRole('row', { name: email })).toBeVisible();
    expect(heard).toEqual([]);
  });
}

test('what a member may do is shown in few words, and changed', async ({ page }) => {
  await open(page);
  const [berlin = '', bern = ''] = ids;
  await page.route('**/api/advertiser/members?**', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    const [owner] = answer.data;
    const member = { ...owner, id: 4_711, user_id: 4_711, name: 'Mo', email: 'mo@demo.example', role: 'member' };
    answer.data = [owner, { ...member, permissions: { [program()]: SEES, [berlin]: SEES, [bern]: ['program:list'] } }];
    await route.fulfill({ json: answer });
  });
  let changed: { permissions?: object } = {};
  await page.route('**/api/advertiser/members/4711', (route) => {
    changed = route.request().postDataJSON();
    return route.fulfill({ json: { data: {} } });
  });
  await page.reload();
  await settled(page);
  await expect(page.getByRole('row', { name: /^Mo / })).toContainText('Analyst in 2 programs, Some rights in 1 program');
  await judge(page, 'members and their rights');
  await page.getByRole('button', { name: 'Change Mo' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change Mo' });
  await expect(dialog.getByRole('list', { name: 'Programs of this member' }).getByRole('listitem')).toHaveCount(3);
  await dialog.getByRole('button', { name: 'Remove Berlin' }).click();
  await expect(dialog.getByRole('combobox', { name: 'Add a program' })).toBeFocused();
  await dialog.getByLabel('Bern', { exact: true }).selectOption('analyst');
  await dialog.getByRole('button', { name: 'Change', exact: true }).click();
  await expect(page.getByText('The member has been changed.')).toBeVisible();
  expect(changed.permissions).toEqual({ [program()]: SEES, [bern]: SEES });
});

/** Two hundred programs, and one more that a search finds; what is asked for. */
async function veryMany(page: Page) {
  await prepare(page.context());
  await signIn(page, OWNER);
  await settled(page);
  const asked: string[] = [];
  await page.route(/\/api\/advertiser\/affiliate-programs\?/, async (route) => {
    const { origin, pathname, search, searchParams } = new URL(route.request().url());
    const answer = await answerOf(route, { url: origin + pathname });
    if (!answer) return;
    const [one] = answer.data;
    const number = Number(searchParams.get('page') ?? 1);
    const found = searchParams.get('search') ? [{ ...one, id: 999_999, name: 'Zebra' }] : undefined;
    const others = Array.from({ length: 100 }, (_, index) => ({ ...one, id: number * 1_000 + index, name: `Shop ${number}-${index}` }));
    // The last program that was open is one of them.
    const data = found ?? (number === 1 ? [one, ...others.slice(1)] : others);
    const pagination = { page: number, pageSize: 100, pageCount: found ? 1 : 2, total: found ? 1 : 200 };
    asked.push(search);
    await route.fulfill({ json: { ...answer, data, meta: { ...answer.meta, pagination } } });
  });
  return asked;
}

test('of very many programs the service finds one by its name, and all are read only to add them', async ({ page }) => {
  const asked = await veryMany(page);
  await page.goto('/app/members');
  await settled(page);
  await page.getByRole('button', { name: 'Invite a member' }).click();
  const dialog = page.getByRole('dialog', { name: 'Invite a member' });
  const box = dialog.getByRole('combobox', { name: 'Add a program' });
  await box.fill('zeb');
  await expect(dialog.getByRole('listbox', { name: 'Results' }).getByRole('option')).toHaveText([/^Zebra/]);
  await box.press('Enter');
  await expect(dialog.getByLabel('Zebra', { exact: true })).toHaveValue('analyst');
  expect(asked).toEqual(['?pageSize=100', '?search=zeb&pageSize=100']);
  await dialog.getByRole('button', { name: 'Add all other programs' }).click();
  await expect(dialog.getByRole('list', { name: 'Programs of this member' }).getByRole('listitem')).toHaveCount(201);
});

test('a key is for programs that the service finds', async ({ page }) => {
  const asked = await veryMany(page);
  let sent: { program_scope?: string[] } = {};
  await page.route('**/api/advertiser/api-keys', (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    sent = route.request().postDataJSON();
    return route.fulfill({ status: 201, json: { data: { key: 'affk_made_up' } } });
  });
  await page.goto('/app/keys');
  await settled(page);
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog', { name: 'New management key' });
  await dialog.getByLabel('Name').fill('Deploy');
  await dialog.getByLabel('All programs, including future ones').uncheck();
  const box = dialog.getByRole('combobox', { name: 'Add a program' });
  await box.fill('zeb');
  await expect(dialog.getByRole('listbox', { name: 'Results' }).getByRole('option')).toHaveText([/^Zebra/]);
  await box.press('Enter');
  const listed = dialog.getByRole('list', { name: 'Programs of this key' }).getByRole('listitem');
  await expect(listed).toHaveText([/Zebra/]);
  await box.fill('shop 1-5');
  await box.press('Enter');
  await expect(listed).toHaveCount(2);
  await judge(page, 'a key for two programs');
  await photograph(page, 'key-programs');
  await dialog.getByRole('button', { name: 'Remove Shop 1-5' }).click();
  await expect(box).toBeFocused();
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await expect(page.getByRole('dialog')).toContainText('affk_made_up');
  expect(sent.program_scope).toEqual(['999999']);
  expect(asked.filter((query) => query.includes('page=2'))).toEqual([]);
});

test('of very many programs the session knows the newest, and its choice leads to the search for others', async ({ page }) => {
  const asked = await veryMany(page);
  await page.goto('/app/programs');
  await settled(page);
  expect(asked.filter((query) => query === '?pageSize=100')).toHaveLength(1);
  expect(asked.filter((query) => query.includes('page=2'))).toEqual([]);
  const choice = page.getByRole('combobox', { name: 'Program', exact: true });
  const before = await choice.inputValue();
  await choice.selectOption('Find another program …');
  const box = page.getByRole('combobox', { name: 'Page, program, partner, customer or sale' });
  await expect(box).toBeFocused();
  await box.fill('zeb');
  await expect(page.getByRole('listbox', { name: 'Results' }).getByRole('option', { name: 'Zebra' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(choice).toHaveValue(before);
});

test('who does not run the workspace is told that its pages are not among their rights, and nothing is asked for', async ({ page }) => {
  await signIn(page, OWNER);
  await settled(page);
  let role = 'member';
  await page.route('**/api/users/me', async (route) => {
    const answer = await answerOf(route);
    if (!answer) return;
    const workspaces = answer.workspaces.map((one: object) => ({ ...one, role, permissions: { [program()]: ['program:list'] } }));
    await route.fulfill({ json: { ...answer, workspaces } });
  });
  const asked: string[] = [];
  page.on('request', (request) => /\/api\/advertiser\/(members|invitations|api-keys|audit-log|workspaces)/.test(request.url()) && asked.push(request.url()));
  for (const path of ['/app/members', '/app/keys', '/app/workspace', '/app/audit-log', `/app/programs/${program()}/customer-data`]) {
    await page.goto(path);
    await settled(page);
    await expect(page.getByRole('heading', { level: 1 }), path).toHaveText('Not among your rights');
    await expect(page.getByRole('navigation').getByRole('link', { name: /Members|Keys|Audit log|Customer data/ }), path).toHaveCount(0);
  }
  expect(asked).toEqual([]);

  // Admins have all of them but the audit log, and leave owners alone.
  role = 'admin';
  await page.goto('/app/audit-log');
  await settled(page);
  await expect(page.getByText('It is for owners of the workspace')).toBeVisible();
  await page.goto('/app/members');
  await settled(page);
  const owner = page.getByRole('row').filter({ hasText: '(you)' });
  await expect(owner).toHaveCount(1);
  await expect(owner.getByRole('button')).toHaveCount(0);
  await page.getByRole('button', { name: 'Invite a member' }).click();
  await expect(page.getByLabel('Role').getByRole('option')).toHaveCount(2);
});
