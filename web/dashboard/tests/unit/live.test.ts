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

test('a block has an event, a notice of dropped ones, or nothing, and says where the stream is', () => {
  const event = { id: 1, event_type: 'click' };
  expect(parsed('event: click\nid: 1700\ndata: {"id":1,"event_type":"click"}')).toEqual({ event, id: '1700' });
  expect(parsed(': heartbeat')).toEqual({});
  expect(parsed(': nothing new\nid: 1800')).toEqual({ id: '1800' });
  expect(parsed('event: dropped\ndata: {"event_type":"click"}')).toEqual({ dropped: 'click' });
});
