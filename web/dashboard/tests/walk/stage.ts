/** What the walks share: who signs in, pictures, and the judge of accessibility. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, type BrowserContext, type Locator, type Page, type Route } from '@playwright/test';
import type { AxeResults } from 'axe-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this by \`cargo xtask test\``);
  return value;
}

export const OWNER = 'DEMO_EMAIL';
/** Has not confirmed the address. */
export const COLLEAGUE = 'DEMO_COLLEAGUE_EMAIL';
export const PARTNER = 'DEMO_PARTNER_EMAIL';
export const program = () => given('DEMO_PROGRAM_ID');
export const code = () => given('DEMO_AFF_A');
/** The page that shows every e-mail. */
export const mailUrl = () => given('MAIL_URL');
/** The page that shows what the demo's webhook endpoint is sent. */
export const receiverUrl = () => given('WEBHOOK_RECEIVER_URL');
/** Of the program's address. */
export const OF_PROGRAM = [
  '',
  '/events',
  '/customers',
  '/live',
  '/integration',
  '/partners',
  '/links',
  '/commissions',
  '/review',
  '/customer-data',
  '/payouts',
  '/notifications',
  '/processor',
  '/webhooks',
  '/settings',
];
export const OF_WORKSPACE = ['/app/programs', '/app/members', '/app/keys', '/app/audit-log', '/app/workspace', '/app/account', '/app/programs/999999/nothing'];
/** Of `/app/partner`. */
export const OF_PARTNER = ['', '/programs', '/links', '/clicks', '/commissions', '/payouts', '/notifications'];
export const apiKey = () => given('DEMO_API_KEY');

/** Must be called before the first page: axe cannot come later, the content security policy lets no script in. */
export async function prepare(context: BrowserContext) {
  await context.addInitScript({ content: axe });
}

export async function signIn(page: Page, who: typeof OWNER | typeof COLLEAGUE | typeof PARTNER) {
  await page.goto('/app/sign-in');
  await page.getByLabel('E-mail address').fill(given(who));
  await page.getByLabel('Password').fill(given('DEMO_PASSWORD'));
  // Walks sign in more often than people: some have to wait until the account's limit lets them.
  await expect(async () => {
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1 })).not.toHaveText('Sign in', { timeout: 5_000 });
  }).toPass();
}

/** Whatever the page complains about in the console; answers that are no success are shown by the page itself. */
export function complaints(page: Page): string[] {
  const heard: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) heard.push(message.text());
  });
  page.on('pageerror', (error) => heard.push(String(error)));
  return heard;
}

/**
 * The service's answer to a request that a walk changes. `undefined` when the page has gone elsewhere meanwhile: the
 * answer is disposed then, and the request needs none.
 */
export async function answerOf(route: Route, options?: Parameters<Route['fetch']>[0]) {
  try {
    return await (await route.fetch(options)).json();
  } catch (error) {
    if (/disposed|has been closed/.test(String(error))) return undefined;
    throw error;
  }
}

/** Nothing is being loaded, and nothing went wrong. */
export async function settled(page: Page) {
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0);
  await expect(page.locator('.failure')).toHaveCount(0);
}

/** Every rule of axe, best practices among them. What is being loaded again is paler meanwhile, and not judged. */
export async function judge(page: Page, where: string) {
  await expect(page.locator('.stale')).toHaveCount(0);
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<AxeResults> } };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })) }));
  });
  expect(found, `axe on ${where}`).toEqual([]);
}

/** For people who look at the pages; decides nothing. So it is kept only where a directory, `PICTURES`, is given. */
export async function photograph(what: Page | Locator, name: string, options: { fullPage?: boolean } = {}) {
  if (process.env.PICTURES) await what.screenshot({ path: `${process.env.PICTURES}/${name}.png`, ...options });
}

/** Nothing makes the page itself wider than the screen. */
export async function fits(page: Page, where: string) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(over, `${where} is too wide by so many pixels`).toBe(0);
}

/** Scrolls sideways, or is wider than the screen: tables and code included. */
export async function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('body *')]
      .filter((element) => {
        const scrolls = /auto|scroll/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1;
        return scrolls || element.getBoundingClientRect().right > innerWidth + 1;
      })
      .filter((element) => element.checkVisibility() && !element.closest('.unseen, .skip, thead, svg'))
      .filter((element) => {
        // A cell on one line ends its text with an ellipsis: the rest of a link in it is hidden on purpose.
        const line = element.parentElement?.closest('.cut > div, .cut');
        return !line || getComputedStyle(line).whiteSpace !== 'nowrap';
      })
      .map((element) => `${element.tagName}.${element.className} ${element.textContent.trim().slice(0, 60)}`),
  );
}

/** Cells that the box of their table, or the screen, cuts off at a side. */
export async function hiddenCells(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('td, th')]
      .filter((cell) => cell.checkVisibility() && !cell.closest('.cards thead'))
      .filter((cell) => {
        const box = cell.closest('.scroll')?.getBoundingClientRect();
        const { left, right } = cell.getBoundingClientRect();
        return !box || left < box.left - 1 || right > Math.min(box.right, innerWidth) + 1;
      })
      .map((cell) => `${cell.tagName} ${cell.textContent.trim().slice(0, 60)}`),
  );
}

/** Amounts and other numbers that are cut, or broken over two lines. */
export async function brokenNumbers(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.number, td.right, td.right strong')]
      .filter((element) => element.checkVisibility() && element.children.length === 0)
      .filter((element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        return lines.size > 1 || element.scrollWidth > element.clientWidth + 1;
      })
      .map((element) => element.textContent),
  );
}

/** The link of the newest e-mail to somebody about something; its picture is kept. */
export async function emailed(page: Page, to: string, subject: string, picture: string): Promise<string> {
  const row = page.getByRole('row', { name: to }).filter({ hasText: subject }).first();
  await expect(async () => {
    await page.goto(mailUrl());
    await expect(row).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await row.getByRole('link').click();
  const html = page.frameLocator('iframe');
  await expect(html.getByRole('heading', { level: 1 })).toContainText(subject);
  await photograph(page.locator('iframe'), picture);
  const link = await page.getByRole('listitem').getByRole('link').first().getAttribute('href');
  const { pathname, hash } = new URL(link ?? '');
  return pathname + hash;
}
