/** The dashboard in German: from the browser's languages, or as somebody chose it. */
import { expect, test, type Page } from '@playwright/test';
import { OWNER, PARTNER, complaints, fits, judge, photograph, prepare, program, settled, signIn } from './stage';
import { listen, ofDashboard, total } from './wire';

const language = (page: Page) => page.locator('html').getAttribute('lang');

/** The page is loaded again. */
async function choose(page: Page, name: 'Deutsch' | 'English', label: string) {
  const loaded = page.waitForEvent('load');
  await page.getByRole('combobox', { name: label, exact: true }).selectOption(name);
  await loaded;
  await expect(page.locator('html')).toHaveAttribute('lang', name === 'Deutsch' ? 'de' : 'en');
}

/** What an English reader would see of the menu, the tables and the forms. */
const ENGLISH = /\b(Overview|Commissions|Payouts|Partners|Clicks|Sales|Refunds|Sign out|Settings|Pending|Approved|Held until|Select all)\b/;

async function isGerman(page: Page, where: string) {
  expect(await page.locator('#app').innerText(), `English on ${where}`).not.toMatch(ENGLISH);
}

test.describe('a German browser', () => {
  test.use({ locale: 'de-DE' });

  test('the sign-in is German, and stays English for whoever chooses it', async ({ page }) => {
    await prepare(page.context());
    const heard = complaints(page);
    await page.goto('/app/sign-in');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Anmelden');
    expect(await language(page)).toBe('de');
    await expect(page).toHaveTitle('Anmelden · Referral tracker');
    await judge(page, 'the German sign-in');
    await photograph(page, 'sign-in-german');

    // The service refuses in English.
    await page.getByLabel('E-Mail-Adresse').fill('nobody@demo.example');
    await page.getByLabel('Passwort').fill('not the password');
    await page.getByRole('button', { name: 'Anmelden', exact: true }).click();
    await expect(page.getByRole('alert')).toHaveText('E-Mail-Adresse oder Passwort ist falsch');

    await choose(page, 'English', 'Sprache');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
    await page.reload();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sign in');
    await choose(page, 'Deutsch', 'Language');
    await expect(page.getByRole('button', { name: 'Anmelden', exact: true })).toBeVisible();
    expect(heard).toEqual([]);
  });
});

test('an advertiser reads overview and commissions in German', async ({ page }) => {
  test.slow();
  await prepare(page.context());
  const heard = complaints(page);
  await signIn(page, OWNER);
  await settled(page);
  await page.goto('/app/account');
  await settled(page);
  await choose(page, 'Deutsch', 'Language');
  await settled(page);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Konto');

  await page.goto(`/app/programs/${program()}`);
  await settled(page);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Übersicht');
  await expect(page.getByRole('navigation', { name: 'Hauptmenü' }).getByRole('link', { name: 'Provisionen' })).toBeVisible();
  // `1.234,50 $`, and `1. Jan. – 31. Jan. 2026`.
  await expect(page.getByRole('button', { name: /^Bruttoumsatz \d/ })).toContainText(/\d,\d\d\s\$/);
  await expect(page.getByText(/\d+\. \p{L}+\.? – \d+\. \p{L}+\.? \d{4}; Tage in UTC/u)).toBeVisible();
  await isGerman(page, 'the overview');
  await fits(page, 'the German overview');
  await judge(page, 'the German overview');
  await photograph(page, 'overview-german', { fullPage: true });

  // German words are longer.
  const desktop = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page, 'the German overview on a phone');
  await photograph(page, 'overview-german-phone', { fullPage: true });
  if (desktop) await page.setViewportSize(desktop);

  await page.getByRole('navigation', { name: 'Hauptmenü' }).getByRole('link', { name: 'Provisionen' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Provisionen');
  await settled(page);
  const table = page.getByRole('table');
  await expect(table.getByRole('columnheader', { name: 'Auszuzahlen' })).toBeVisible();
  const rows = table.getByRole('row').filter({ has: page.getByRole('rowheader') });
  await expect(rows.first()).toContainText(/\d,\d\d\s\$/);
  await expect(rows.first()).toContainText(/\d+\. \p{L}+\.? \d{4}/u);
  // No amount has a point before its cents.
  expect(await table.innerText()).not.toMatch(/\$\d|\d\.\d\d\b/);
  await isGerman(page, 'the commissions');
  await fits(page, 'the German commissions');
  await judge(page, 'the German commissions');
  await photograph(page, 'commissions-german', { fullPage: true });
  expect(heard).toEqual([]);
});

test('only those who read German load it, and of pages only what is opened', async ({ page }) => {
  await signIn(page, PARTNER);
  await settled(page);
  const asked = await listen(page);
  const scripts = async () => {
    await page.goto('about:blank');
    asked.length = 0;
    await page.goto('/app/partner/links');
    await settled(page);
    return ofDashboard(asked).filter(({ url }) => url.endsWith('.js'));
  };
  const english = await scripts();
  await page.evaluate(() => localStorage.setItem('language', 'de'));
  const german = await scripts();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Empfehlungslinks');
  const isGerman = ({ url }: { url: string }) => /\/german-/.test(url);
  expect([english.filter(isGerman).length, german.filter(isGerman).length]).toEqual([0, 1]);
  // A page's own texts are a file of their own; those of other pages are not asked for.
  expect(german.length).toBeGreaterThan(english.length + 1);
  expect(german.length).toBeLessThan(english.length + 6);
  expect(total(german)).toBeLessThanOrEqual(90_000);
});
