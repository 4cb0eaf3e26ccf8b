import { expect, test, vi } from 'vitest';

/** What was posted by one tab reaches the others, and not itself. */
class Channel {
  static readonly all: Channel[] = [];
  onmessage: () => void = () => {};

  constructor(readonly name: string) {
    Channel.all.push(this);
  }

  postMessage() {
    for (const other of Channel.all) if (other !== this && other.name === this.name) other.onmessage();
  }
}

test('a sign-in or sign-out in one tab loads the others again, where they share the session', async () => {
  vi.stubGlobal('BroadcastChannel', Channel);
  const reload = vi.fn();
  const tab = async (protocol: string) => {
    vi.resetModules();
    vi.stubGlobal('location', { protocol, reload });
    return (await import('../../src/state/otherTabs')).tellOtherTabs;
  };
  const [one] = [await tab('https:'), await tab('https:')];
  one();
  expect(reload).toHaveBeenCalledOnce();
  // Over plain http each tab has a session of its own.
  const alone = await tab('http:');
  alone();
  expect(reload).toHaveBeenCalledOnce();
});
