/** Numbers, days and texts as a German browser shows them. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

const SPACE = /[\u00a0\u202f]/g;
const spaced = (text: string | undefined) => text?.replace(SPACE, ' ');
let html: { lang: string };

beforeAll(() => {
  vi.resetModules();
  html = { lang: 'en' };
  vi.stubGlobal('document', { documentElement: html });
  vi.stubGlobal('navigator', { languages: ['de-DE', 'en'] });
  vi.stubGlobal('localStorage', { getItem: () => null });
});

afterAll(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function german<T>(load: () => Promise<T>): Promise<T> {
  const module = await load();
  const { textsLoaded } = await import('../../src/texts/catalogue');
  await textsLoaded();
  return module;
}

test('the document says its language', async () => {
  await german(() => import('../../src/texts/language'));
  expect(html.lang).toBe('de');
});

test('amounts keep every cent, however large', async () => {
  const { money, shortMoney, percent, count, amountRule, centsOfText } = await german(() => import('../../src/domain/money'));
  expect(spaced(money(9_007_199_254_740_991, 'EUR'))).toBe('90.071.992.547.409,91 €');
  expect(spaced(money(-123_450, 'EUR'))).toBe('-1.234,50 €');
  expect(spaced(money(5, 'USD'))).toBe('0,05 $');
  expect(spaced(money(1_234, 'JPY'))).toBe('1.234 ¥');
  expect(spaced(money(1_234_567, 'KWD'))).toBe('1.234,567 KWD');
  expect(spaced(shortMoney(120_000_000, 'EUR'))).toBe('1,2 Mio. €');
  expect(spaced(percent(1_250))).toBe('12,5 %');
  expect(spaced(percent(2_000))).toBe('20 %');
  expect(count(1_234)).toBe('1.234');
  expect(amountRule('EUR')).toMatch(/zum Beispiel 12,50\.$/);
  expect(centsOfText('12,50', 'EUR')).toBe(1_250);
  // Not 1.23: nobody is paid a thousandth of what was meant.
  expect(centsOfText('1.234', 'EUR')).toBeUndefined();
  expect(centsOfText('1.234', 'KWD')).toBeUndefined();
  expect(centsOfText('1,234', 'KWD')).toBe(1_234);
});

test('days and times', async () => {
  const { dateText, timeText, rangeText, ago, objection, presetName } = await german(() => import('../../src/domain/days'));
  expect(dateText('2026-01-31T23:00:00Z')).toBe('31. Jan. 2026');
  expect(timeText('2026-01-31T14:05:09Z')).toBe('31. Jan., 14:05:09');
  expect(rangeText({ from: '2026-01-01', to: '2026-01-31' })).toBe('1. Jan. – 31. Jan. 2026');
  expect(ago('2026-01-31T10:00:00Z', Date.parse('2026-01-31T12:00:00Z'))).toBe('vor 2 Stunden');
  expect(objection({ from: '', to: '' })).toBe('Wählen Sie beide Tage.');
  expect(presetName('lastMonth')).toBe('Letzter Monat');
});

test('groups of texts that other modules hold', async () => {
  const { EVENT_NAMES, label, commissionStatuses } = await german(() => import('../../src/domain/words'));
  expect(EVENT_NAMES.conversion).toBe('Verkauf');
  expect(label('self_referral')).toBe('Eigenempfehlung');
  expect(label('not_known_yet')).toBe('Not known yet');
  expect(commissionStatuses()[0]).toEqual(['', 'Alle']);
});

test('plural forms', async () => {
  const { termsText } = await german(() => import('../../src/domain/terms'));
  const terms = (months: number) => ({ commission_type: 'cps_recurring', rate_bps: 1_250, default_duration_months: months });
  expect(spaced(termsText(terms(1), 'EUR'))).toBe('12,5 % der Zahlungen während 1 Monats');
  expect(spaced(termsText(terms(12), 'EUR'))).toBe('12,5 % der Zahlungen während 12 Monaten');
});

test('what the service refuses, and in English what has no text', async () => {
  vi.stubGlobal('location', { protocol: 'https:' });
  const { call } = await import('../../src/api/client');
  const refuse = (message: string, details = {}) =>
    vi.stubGlobal('fetch', async () => new Response(JSON.stringify({ data: null, error: { status: 400, message, details } }), { status: 400 }));
  refuse('name must be at most 120 characters');
  await expect(call('GET /api/users/me')).rejects.toThrow('Name darf höchstens 120 Zeichen haben');
  refuse('Some commissions cannot be paid; nothing was paid', { commissions: [{ commission_id: 12, reason: 'already paid' }] });
  await expect(call('GET /api/users/me')).rejects.toMatchObject({
    message: 'Einige Provisionen lassen sich nicht auszahlen; nichts wurde ausgezahlt',
    reasons: [{ commission_id: 12, reason: 'schon ausgezahlt' }],
  });
  refuse('short_code is something new');
  await expect(call('GET /api/users/me')).rejects.toThrow('Code is something new');
});

test('what the audit log, its operators and a refund’s notification say', async () => {
  const { actorText, detailsText } = await german(() => import('../../src/domain/audit'));
  expect(detailsText({ failed_before: 0, role: 'member', kind: 'partner', short_code: 'partner', status: { before: 'pending', after: 'approved' } })).toBe(
    'Vorher fehlgeschlagen: 0; Rolle: Mitglied; Art: Partner; Code: partner; Status: ausstehend → freigegeben',
  );
  expect(actorText({ type: 'operator', name: 'operator' })).toBe('Betreiber');
  expect(actorText({ type: 'user', name: 'operator' })).toBe('operator');
  const { withMoney } = await german(() => import('../../src/domain/money'));
  const { inLanguage } = await german(() => import('../../src/texts/server'));
  const said = await inLanguage(withMoney('Commission 12 was refunded: 13716.049 KWD deducted. Reason: 3 USD too much'));
  expect(spaced(said)).toBe('Provision 12 wurde erstattet: 13.716,049 KWD abgezogen. Grund: 3 USD too much');
});
