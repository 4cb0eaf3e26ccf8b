import { expect, test, vi } from 'vitest';

vi.stubGlobal('location', { protocol: 'https:' });
const { Blocks, parsed } = await import('../../src/api/live');

test('blocks come whole, however the stream is cut', () => {
  const text = ': listening\n\nevent: click\nid: click-1\ndata: {"id":1}\n\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const blocks = new Blocks();
    const got = [...blocks.push(text.slice(0, cut)), ...blocks.push(text.slice(cut))];
    expect(got).toEqual([': listening', 'event: click\nid: click-1\ndata: {"id":1}']);
  }
});

test('an event is what has data; comments and words about dropped events are none', () => {
  expect(parsed('event: click\ndata: {"id":1,"event_type":"click"}')).toEqual({ id: 1, event_type: 'click' });
  expect(parsed(': heartbeat')).toBeUndefined();
  expect(parsed('event: dropped\ndata: {"event_type":"click"}')).toBeUndefined();
});
