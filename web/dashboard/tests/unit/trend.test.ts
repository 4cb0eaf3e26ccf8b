import { expect, test } from 'vitest';
import { share, trendWords } from '../../src/domain/trend';

test('a trend has a sign, a tone, and words for those who do not see it', () => {
  expect(trendWords({ trend: 12.5, trendDirection: 'up' })).toEqual({
    text: '+12.5%',
    spoken: '12.5% more than in the days before',
    tone: 'up',
  });
  expect(trendWords({ trend: 100, trendDirection: 'down' }).text).toBe('−100%');
  expect(trendWords({ trend: 0, trendDirection: 'stable' }).tone).toBe('stable');
});

test('a rise from nothing is no percentage', () => {
  const doubled = { trend: 100, trendDirection: 'up' };
  expect(trendWords(doubled, 0)).toEqual({ text: 'new', spoken: 'none in the days before', tone: 'stable' });
  expect(trendWords(doubled, 3).text).toBe('+100%');
  expect(trendWords({ trend: 0, trendDirection: 'stable' }, 0).text).toBe('0%');
});

test('a share of nothing is nothing', () => {
  expect(share(0, 0)).toBe('0%');
  expect(share(1, 3)).toBe('33.3%');
  expect(share(3, 3)).toBe('100%');
});

test('more than there are is no share', () => {
  expect(share(2, 1)).toBeUndefined();
  expect(share(1, 0)).toBeUndefined();
});
