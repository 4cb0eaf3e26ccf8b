/** What a page asks for, and how many bytes that takes on the wire. */
import type { Page } from '@playwright/test';

export interface Asked {
  url: string;
  method: string;
  status: number;
  coding: string;
  /** Of the answer, headers included, as it was sent. */
  bytes: number;
}

/** Called before the page is opened: what it asks for from then on. */
export async function listen(page: Page): Promise<Asked[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  const asked = new Map<string, Asked>();
  const finished: Asked[] = [];
  session.on('Network.requestWillBeSent', ({ requestId, request: { url, method } }) =>
    asked.set(requestId, { url, method, status: 0, coding: '', bytes: 0 }),
  );
  session.on('Network.responseReceived', ({ requestId, response: { status, headers } }) => {
    const one = asked.get(requestId);
    const coding = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-encoding')?.[1] ?? '';
    if (one) Object.assign(one, { status, coding });
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const one = asked.get(requestId);
    if (one) finished.push(Object.assign(one, { bytes: encodedDataLength }));
  });
  return finished;
}

export const total = (asked: Asked[]) => asked.reduce((sum, { bytes }) => sum + bytes, 0);

/** Files of the dashboard, not answers of the API. */
export const ofDashboard = (asked: Asked[]) => asked.filter(({ url }) => !new URL(url).pathname.startsWith('/api/'));
