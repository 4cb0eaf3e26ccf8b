/** How much a page loads, and what is drawn before its script. Bytes and requests, no timings. */
import { expect, test } from '@playwright/test';
import { FIRST_REQUESTS } from '../../src/pages/requests';
import { filled, match } from '../../src/router/routes';
import { OF_PARTNER, OF_PROGRAM, OWNER, PARTNER, program, settled, signIn } from './stage';
import { listen, ofDashboard, total } from './wire';

const MOST_BYTES = 90_000;
/** Pages of one of many; the demo has it. */
const OF_ONE = ['/customers/1', '/sales/1', '/partners/1', '/payouts/1', '/webhooks/1'];
/** The session, what is new, and streams. */
const OF_EVERY_PAGE = /^(users\/me|advertiser\/affiliate-programs\?pageSize=100|.*(unread=true|\/review\?pageSize=1).*|tracking\/live\/.*)$/;
const PAGES = ['', '/events', '/customers', '/partners', '/links', '/commissions', '/payouts', '/notifications', '/processor', '/webhooks', '/settings'];

test('the first page is small, compressed, and asks for nothing twice', async ({ page }) => {
  test.slow();
  await signIn(page, OWNER);
  await settled(page);
  const asked = await listen(page);
  for (const path of PAGES) {
    // Ends what the page before still asks for.
    await page.goto('about:blank');
    asked.length = 0;
    await page.goto(`/app/programs/${program()}${path}`);
    await settled(page);
    const files = ofDashboard(asked);
    expect(files.length, `files of ${path}`).toBeGreaterThan(2);
    expect(total(files), `bytes of ${path}: ${files.map(({ url, bytes }) => `${url} ${bytes}`).join(', ')}`).toBeLessThanOrEqual(MOST_BYTES);
    for (const { url, coding, status } of files) {
      expect(status, url).toBe(200);
      if (/\.(js|css)$|\/programs\//.test(url)) expect(coding, url).toBe('br');
    }
    const gets = asked.filter(({ method, url }) => method === 'GET' && url.includes('/api/')).map(({ url }) => url);
    expect(gets, path).toEqual([...new Set(gets)]);
  }
});

test('a page of one kind does not load the code of the others', async ({ page }) => {
  await signIn(page, PARTNER);
  await settled(page);
  const asked = await listen(page);
  await page.goto('/app/partner/links');
  await settled(page);
  const names = ofDashboard(asked).map(({ url }) => new URL(url).pathname);
  expect(names.filter((name) => name.endsWith('.js')).length).toBeGreaterThan(1);
  expect(names.filter((name) => /Overview|Settings|Members|Integration/.test(name))).toEqual([]);
  // Nor does it ask for what would be refused.
  expect(asked.filter(({ url }) => url.includes('/api/advertiser/')).map(({ url }) => url)).toEqual([]);
});

for (const [path, drawn] of [
  ['/app/keys', '.side .brand'],
  ['/app/sign-in', '.doorway .skeleton'],
] as const) {
  test(`something is drawn before the script of ${path} runs`, async ({ page }) => {
    await page.route('**/*.js', (route) => route.abort());
    await page.goto(path, { waitUntil: 'commit' });
    await expect(page.locator(drawn)).toBeVisible();
    await expect(page.locator('.skeleton .line').first()).toBeVisible();
    await expect(page.getByRole('button')).toHaveCount(0);
  });
}

test('a page whose first script does not come offers to be loaded again', async ({ page }) => {
  await page.route('**/begin-*.js', (route) => route.abort());
  await page.goto('/app/sign-in');
  await expect(page.getByRole('link', { name: 'Reload the page' })).toBeVisible({ timeout: 30_000 });
});

test('a style sheet that did not come is asked for again', async ({ page }) => {
  await page.route('**/style-*.css', (route) => route.abort(), { times: 1 });
  await page.goto('/app/sign-in');
  await expect(page.getByRole('button', { name: 'Sign in', exact: true })).toBeVisible();
  await expect.poll(() => page.evaluate(() => document.styleSheets.length)).toBe(1);
});

for (const [who, paths] of [
  [OWNER, ['/app/programs', '/app/keys', '/app/members', '/app/audit-log', '/app/account', ...[...OF_PROGRAM, ...OF_ONE].map((path) => `/app/programs/${program()}${path}`)]],
  [PARTNER, [...OF_PARTNER, '/payouts/1'].map((path) => `/app/partner${path}`)],
] as const) {
  test(`each page of ${who} asks for what the first script asks for, once`, async ({ page }) => {
    test.slow();
    await signIn(page, who);
    await settled(page);
    const asked = await listen(page);
    for (const path of paths) {
      await page.goto('about:blank');
      asked.length = 0;
      await page.goto(path);
      await settled(page);
      const { name, parameters } = match(path) ?? {};
      const gets = asked.map(({ url }) => url.split('/api/')[1] ?? '').filter((address) => address && !OF_EVERY_PAGE.test(address));
      const first = (name && FIRST_REQUESTS[name]) ?? [];
      const workspace = /workspace_id=(\d+)/.exec(gets[0] ?? '')?.[1] ?? '';
      expect(gets.toSorted(), path).toEqual(first.map((request) => filled(request, { ...parameters, workspace })).toSorted());
    }
  });
}

test('the session, the code of the page and its data are asked for before the common code is there', async ({ page }) => {
  await signIn(page, OWNER);
  await settled(page);
  let arrive = () => {};
  const common = new Promise<void>((resolve) => (arrive = resolve));
  await page.route('**/assets/app-*.js', async (route) => {
    await common;
    await route.continue();
  });
  const session = page.waitForResponse('**/api/users/me');
  const programs = page.waitForResponse(/\/affiliate-programs\?/);
  const code = page.waitForResponse(/\/assets\/Commissions-[^/]+\.js/);
  const data = page.waitForResponse(/\/commissions\?/);
  await page.goto(`/app/programs/${program()}/commissions`, { waitUntil: 'commit' });
  await Promise.all([session, programs, code, data]);
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(0);
  arrive();
  await settled(page);
  await expect(page.getByRole('table')).toBeVisible();
});

test('the figures behind a chart are drawn when somebody asks for them', async ({ page }) => {
  await signIn(page, OWNER);
  await settled(page);
  const rows = page.getByRole('region', { name: 'Performance', exact: true }).locator('tbody tr');
  await expect(rows).toHaveCount(0);
  await page.getByText('Show as a table').click();
  await expect(rows).toHaveCount(30);
  await page.getByText('Show as a table').click();
  await expect(rows).toHaveCount(0);
});
