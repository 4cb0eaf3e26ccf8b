/**
 * Prints how long each page takes on a slow line and a slow machine, as a table for a note: `npm run timings` against a running service
 * (`BASE_URL`, and the variables of its demo, as the walks). Nothing is asserted.
 */
import { test, type BrowserContext } from '@playwright/test';
import { OWNER, PARTNER, program, settled, signIn } from '../walk/stage';
import { listen, total } from '../walk/wire';

const LINE = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8, uploadThroughput: 750_000 / 8 };
const SLOWER = 4;
const TIMES = Number(process.env.TIMES ?? 3);
const OF_PROGRAM = ['', '/events', '/live', '/integration', '/partners', '/links', '/commissions', '/payouts', '/notifications', '/processor', '/webhooks', '/settings'];
const OF_WORKSPACE = ['/app/programs', '/app/members', '/app/keys', '/app/audit-log', '/app/account'];
const OF_PARTNER = ['', '/links', '/clicks', '/commissions', '/notifications'];

interface Times {
  paint: number;
  content: number;
  bytes: number;
  requests: number;
}

/** Said by the page when it has a heading and nothing in sight waits. It looks where something has changed: to ask again and again would slow it down. */
const CONTENT = 'content after';

function watch(content: string) {
  let looks = false;
  const look = () => {
    looks = false;
    const waiting = [...document.querySelectorAll('.skeleton, [aria-busy="true"]')].some((box) => box.getBoundingClientRect().top < innerHeight);
    if (waiting || !document.querySelector('h1')?.checkVisibility()) return;
    changes.disconnect();
    console.debug(content, performance.now());
  };
  const changes = new MutationObserver(() => {
    if (!looks) requestAnimationFrame(look);
    looks = true;
  });
  changes.observe(document, { subtree: true, childList: true, attributes: true });
}

/** In a context of its own, with nothing cached. */
async function open(context: BrowserContext, path: string): Promise<Times> {
  const page = await context.newPage();
  const asked = await listen(page);
  const session = await context.newCDPSession(page);
  await session.send('Network.emulateNetworkConditions', LINE);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  const said = page.waitForEvent('console', (message) => message.text().startsWith(CONTENT));
  await page.goto(path, { waitUntil: 'commit' });
  const content = Number((await said).text().slice(CONTENT.length));
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN);
  await page.close();
  return { paint, content, bytes: total(asked), requests: asked.length };
}

const median = (values: number[]) => Math.round(values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN);

test('timings', async ({ browser, baseURL }) => {
  test.setTimeout(1_800_000);
  const rows: string[] = [];
  const pages: [string | undefined, string[]][] = [
    [OWNER, [...OF_PROGRAM.map((path) => `/app/programs/${program()}${path}`), ...OF_WORKSPACE]],
    [PARTNER, OF_PARTNER.map((path) => `/app/partner${path}`)],
    [undefined, ['/app/sign-in']],
  ];
  for (const [who, paths] of pages) {
    const first = await browser.newContext({ baseURL });
    const page = await first.newPage();
    if (who) {
      await signIn(page, who as typeof OWNER);
      await settled(page);
    }
    const token = who ? await page.evaluate(() => sessionStorage.getItem('session')) : null;
    await first.close();
    for (const path of paths) {
      const times: Times[] = [];
      for (let time = 0; time < TIMES; time += 1) {
        const context = await browser.newContext({ baseURL, reducedMotion: 'reduce' });
        await context.addInitScript(watch, CONTENT);
        if (token) await context.addInitScript((text) => sessionStorage.setItem('session', text), token);
        times.push(await open(context, path));
        await context.close();
      }
      const of = (name: keyof Times) => median(times.map((one) => one[name]));
      rows.push(`| \`${path}\` | ${of('paint')} | ${of('content')} | ${(of('bytes') / 1000).toFixed(1)} | ${of('requests')} |`);
    }
  }
  console.log(`\n| page | first paint, ms | content, ms | kB | requests |\n|---|---|---|---|---|\n${rows.join('\n')}\n`);
});
