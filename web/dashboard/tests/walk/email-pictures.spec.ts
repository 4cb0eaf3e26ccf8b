/**
 * Each e-mail looks as it did. The HTML is what `worker/src/mail/templates/snapshots` keeps; the pictures are in `email-pictures` beside this
 * file. After a change that is meant, `npx playwright test email-pictures --update-snapshots` makes them anew.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { fits } from './stage';

const KEPT = new URL('../../../../worker/src/mail/templates/snapshots/', import.meta.url);
const EMAILS = readdirSync(KEPT).filter((name) => name.endsWith('.html'));
/** The font of the pictures: machines have others of those that e-mails name. */
const inOneFont = (html: string) => html.replaceAll(/font-family:[^;"]*sans-serif/g, "font-family:'DejaVu Sans'");
/** Stands for a program's logo. */
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40"><rect width="160" height="40" rx="8" fill="#8a3ffc"/></svg>';

test('there are e-mails to look at', () => {
  expect(EMAILS.length).toBeGreaterThan(8);
});

for (const name of EMAILS) {
  test(`the e-mail ${name}`, async ({ page }) => {
    const asked: string[] = [];
    await page.route('**', async (route) => {
      asked.push(route.request().url());
      await route.fulfill({ contentType: 'image/svg+xml', body: LOGO });
    });
    await page.setViewportSize({ width: 560, height: 300 });
    await page.setContent(inOneFont(readFileSync(new URL(name, KEPT), 'utf8')), { waitUntil: 'load' });
    expect(asked).toEqual(name.includes('with_logo') ? ['https://shop.example/logo.png'] : []);
    await expect(page).toHaveScreenshot(`${name.replace('.html', '')}.png`, { fullPage: true, maxDiffPixelRatio: 0.02 });
    await page.setViewportSize({ width: 320, height: 300 });
    await fits(page, name);
  });
}
