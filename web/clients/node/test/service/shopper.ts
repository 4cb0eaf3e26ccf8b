import type { Browser, Page, Response } from 'playwright-core';
import { setting } from './owner.js';

const PATIENCE_MS = 30_000;

const isPage = (answer: Response): boolean => answer.request().isNavigationRequest() && ![302, 303].includes(answer.status());

/** Somebody in front of a browser, with cookies of their own. */
async function open(browser: Browser): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  return page;
}

/** Does what the page says of the dashboard; returns the endpoint's secret. */
export async function newEndpoint(browser: Browser, url: string, types: string[]): Promise<string> {
  const page = await open(browser);
  await page.goto(`${setting('BASE_URL')}/app/sign-in`);
  await page.getByLabel('E-mail address').fill(setting('DEMO_EMAIL'));
  await page.getByLabel('Password').fill(setting('DEMO_PASSWORD'));
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL((address) => !address.pathname.endsWith('/sign-in'));
  await page.goto(`${setting('BASE_URL')}/app/programs/${setting('DEMO_PROGRAM_ID')}/webhooks`);
  await page.getByRole('button', { name: 'New endpoint' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('URL').fill(url);
  for (const type of types) await dialog.getByLabel(type).check();
  await dialog.getByRole('button', { name: 'Create endpoint' }).click();
  const secret = await dialog.locator('code', { hasText: 'whsec_' }).innerText();
  await page.context().close();
  return secret.trim();
}

/** Of a shop as the page's walks make it. */
export class Shopper {
  private constructor(private readonly page: Page) {}

  /** The first visit. */
  static async visits(browser: Browser, address: string): Promise<Shopper> {
    const shopper = new Shopper(await open(browser));
    await shopper.page.goto(address);
    return shopper;
  }

  /** As soon as the script has left the cookie. */
  async clickId(): Promise<string> {
    await this.page.waitForFunction('/(^|; )tracker_click_id=/.test(document.cookie)');
    return (await this.cookie()) ?? '';
  }

  async cookie(): Promise<string | undefined> {
    const cookies = await this.page.context().cookies();
    return cookies.find(({ name }) => name === 'tracker_click_id')?.value;
  }

  async signsUp(email: string): Promise<void> {
    await this.page.getByLabel('E-mail').fill(email);
    await this.presses('Sign up');
  }

  /** Fails unless the shop's own page comes back. */
  async presses(button: 'Sign up' | 'Pay' | 'Refund'): Promise<void> {
    const [answer] = await Promise.all([
      this.page.waitForResponse(isPage),
      this.page.waitForEvent('load'),
      this.page.getByRole('button', { name: button }).click(),
    ]);
    if (!answer.ok()) throw new Error(`${button}: ${answer.status()} ${await answer.text()}`);
  }

  leaves(): Promise<void> {
    return this.page.context().close();
  }
}
