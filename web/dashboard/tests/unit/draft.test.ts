import { expect, test } from 'vitest';
import { draftSteps } from '../../src/domain/draft';

const tracking = (pageview: string, referrals: string, hasPartners: boolean) => ({ stepStatuses: { pageview, referrals }, hasPartners });
const missing = (...given: Parameters<typeof draftSteps>) =>
  draftSteps(...given).filter(({ done }) => !done).map(({ text }) => text);

test('a new program lacks everything, one step at a page', () => {
  const steps = draftSteps({}, tracking('pending', 'pending', false));
  expect(steps.map(({ done }) => done)).toEqual([false, false, false, false, false]);
  expect(steps.map(({ at }) => at)).toEqual(['settings', 'settings', 'partners', 'integration', 'integration']);
});

test('each step is done by itself', () => {
  const settings = { domain: 'shop.example', commission_type: 'cps_lifetime' };
  expect(missing(settings, tracking('complete', 'complete', true))).toEqual([]);
  expect(missing({ ...settings, domain: null }, tracking('complete', 'complete', true))).toEqual(['Website']);
  expect(missing({ ...settings, commission_type: null }, tracking('complete', 'complete', true))).toEqual(['Commission']);
  expect(missing(settings, tracking('complete', 'pending', true))).toEqual(['A test lead']);
  expect(missing(settings, tracking('pending', 'complete', false))).toEqual(['An approved partner', 'A test click']);
});

test('who may not read how tracking is set up is told of the rest', () => {
  expect(draftSteps({ domain: 'shop.example' }, undefined).map(({ text, done }) => [text, done])).toEqual([['Website', true], ['Commission', false]]);
});
