/** Every page, in light and dark and on a phone: it loads, axe finds nothing, and it fits. Its picture is kept. */
import { expect, test, type Browser, type Page } from '@playwright/test';
import { OF_PARTNER, OF_PROGRAM, OF_WORKSPACE, OWNER, PARTNER, complaints, fits, judge, photograph, prepare, program, settled, signIn } from './stage';

const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 860 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
] as const;

async function open(browser: Browser, look: (typeof LOOKS)[number], who: typeof OWNER | typeof PARTNER) {
  const { colorScheme, viewport } = look;
  const context = await browser.newContext({ colorScheme, viewport, reducedMotion: 'reduce' });
  await prepare(context);
  const page = await context.newPage();
  const heard = complaints(page);
  await signIn(page, who);
  return { context, page, heard };
}

async function look(page: Page, path: string, picture: string) {
  await page.goto(path);
  await settled(page);
  await judge(page, picture);
  await fits(page, picture);
  await photograph(page, picture, { fullPage: true });
}

const named = (path: string) => path.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'overview';

for (const one of LOOKS) {
  test(`the owner's pages, ${one.name}`, async ({ browser }) => {
    const { context, page, heard } = await open(browser, one, OWNER);
    for (const path of [...OF_PROGRAM, '?show=revenue&range=90d']) {
      await look(page, `/app/programs/${program()}${path}`, `${one.name}-${named(path)}`);
    }
    for (const path of OF_WORKSPACE) await look(page, path, `${one.name}-${named(path)}`);
    await page.goto(`/app/programs/${program()}/partners`);
    await page.getByRole('link', { name: 'Ada', exact: false }).click();
    await settled(page);
    await judge(page, 'a partner');
    await photograph(page, `${one.name}-partner`, { fullPage: true });
    await page.goto(`/app/programs/${program()}/events?type=sale`);
    await settled(page);
    await page.locator('tbody tr').first().getByRole('link').first().click();
    await expect(page.getByRole('heading', { name: 'What happened' })).toBeVisible();
    await settled(page);
    await judge(page, 'a customer');
    await fits(page, 'a customer');
    await photograph(page, `${one.name}-customer`, { fullPage: true });
    await page.getByRole('main').locator('li a[href*="/sales/"]').first().click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Sale /);
    await settled(page);
    await judge(page, 'a sale');
    await fits(page, 'a sale');
    await photograph(page, `${one.name}-sale`, { fullPage: true });
    await page.goto(`/app/programs/${program()}/payouts`);
    await page.getByRole('table').getByRole('link').first().click();
    await settled(page);
    await judge(page, 'a payout');
    await photograph(page, `${one.name}-payout`, { fullPage: true });
    expect(heard).toEqual([]);
    await context.close();
  });

  test(`a partner's pages, ${one.name}`, async ({ browser }) => {
    const { context, page, heard } = await open(browser, one, PARTNER);
    for (const path of OF_PARTNER) await look(page, `/app/partner${path}`, `${one.name}-partners-${named(path)}`);
    expect(heard).toEqual([]);
    await context.close();
  });
}

test('dialogs, menus and the doors', async ({ browser }) => {
  const { context, page, heard } = await open(browser, LOOKS[0], OWNER);
  const dialogs: [path: string, button: string, picture: string][] = [
    ['/app/programs', 'New program', 'new-program'],
    [`/app/programs/${program()}/partners`, 'Add a partner', 'new-partner'],
    [`/app/programs/${program()}/links`, 'New link', 'new-link'],
    [`/app/programs/${program()}/payouts`, 'Pay USD', 'new-payout'],
    [`/app/programs/${program()}/settings`, 'Change the commission', 'new-commission'],
    [`/app/programs/${program()}/settings`, 'Replace the key', 'replace-key'],
    [`/app/programs/${program()}/settings`, 'New server key', 'new-server-key'],
    [`/app/programs/${program()}`, 'Custom', 'custom-range'],
    ['/app/members', 'Invite a member', 'invite'],
    ['/app/keys', 'New key', 'new-key'],
  ];
  for (const [path, button, picture] of dialogs) {
    await page.goto(path);
    await settled(page);
    await page.getByRole('button', { name: button, exact: true }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await judge(page, picture);
    await photograph(page, `dialog-${picture}`);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await expect(page.getByRole('button', { name: button, exact: true })).toBeFocused();
  }
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
  await judge(page, 'the sign-in');
  await photograph(page, 'sign-in');
  for (const link of ['/invitations/nothing', '/invitation#nothing']) {
    await page.goto(link);
    await expect(page.getByRole('alert')).toContainText('Invitation not found');
  }
  await judge(page, 'an invitation that has ended');
  expect(heard).toEqual([]);
  await context.close();
});
