/** What the service says to people is shown in German. */
import { expect, test } from 'vitest';
import { en } from '../../src/texts/domain/webhooks';
import { en as processor } from '../../src/texts/pages/processor';
import { de } from '../../src/texts/de/server';
import { shape, translated } from '../../src/texts/serverMessages';
import { files, read } from './english';
import { failures, fields, messages, missingTypes, notifying } from './serviceMessages';

/** Read by the code, or never shown. */
const UNSEEN = [
  'Readiness could not be determined',
  'Turn the link, its partner or its program back on, or send visitors to another link.',
  'a range has at most {} days',
  'cancelling deliveries',
  'changed meanwhile: {left} is payable, not {expected}',
  'disabling endpoints',
  'it is not whole',
  'it is of another program',
  'not a refund key',
  'the first day is after the last',
  'the password could not be hashed',
  'there is no calendar for the days before',
  '{message}. Request ID: {request_id}',
  '{value} is outside {min}..={max}',
];
const german = (message: string) => translated(message.replace(/^\{(name|wanted)\}/, 'name'), de);

test('every message of the service has a German text', () => {
  expect(messages.length).toBeGreaterThan(200);
  expect(messages.filter((message) => german(message) === undefined)).toEqual(UNSEEN);
});

test('every German text is that of a message', () => {
  const rules = messages.map((message) => message.replace(/^(\{\w+\}|[a-z]\w*) /, ''));
  const isSaid = (text: string) => [...messages, ...rules].some((message) => shape(text).test(message));
  expect(Object.keys(de.messages).filter((text) => !isSaid(text))).toEqual([]);
});

test('a German text has the places of its message', () => {
  const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();
  const lost = Object.entries(de.messages).filter(([message, text]) => places(message).join() !== places(text).join());
  expect(lost.map(([message]) => message)).toEqual(['must be the next of an answer: {error}']);
});

test('every field that a page sends has a German name', () => {
  const code = files.filter((name) => !/^(texts\/|api\/operations)/.test(name)).map(read).join('\n');
  const sent = [...fields].filter((field) => new RegExp(`\\b${field}\\b\\s*[:,}]`).test(code));
  expect(sent.length).toBeGreaterThan(40);
  expect(sent.filter((field) => !Object.hasOwn(de.fields, field))).toEqual([]);
});

test('a message is said with what it names, and with what people wrote as they wrote it', () => {
  expect(german('short_code is taken by another link')).toBe('Code des Links gehört schon zu einem anderen Link');
  expect(german('status must be one of pending, paid')).toBe('Status muss eines davon sein: pending, paid');
  expect(german('amount_cents must be an integer from -500 to 500, not 0')).toBe('Betrag muss eine ganze Zahl von -500 bis 500 außer 0 sein');
  expect(german('Commission 12 was refunded: 4.90 USD deducted.')).toBe('Provision 12 wurde erstattet: 4,90 USD abgezogen.');
  expect(german('Commission 12 was refunded: 4.90 USD deducted. Reason: late, paid\n4.90')).toBe(
    'Provision 12 wurde erstattet: 4,90 USD abgezogen. Grund: late, paid\n4.90',
  );
  expect(
    german('The connection to the payment processor was changed: its account is acct_1, its webhook secret was set. The audit log says by whom'),
  ).toBe('Die Verbindung zum Zahlungsanbieter wurde geändert: das Konto ist acct_1, das Webhook-Geheimnis wurde festgelegt. Von wem, steht im Änderungsprotokoll');
  expect(german('paid commissions cannot be held')).toBe('ist ausgezahlt und kann nicht zurückgehalten werden');
  expect(german('Something new')).toBeUndefined();
});

test('all that write notifications are looked at', () => {
  expect(notifying).toEqual([
    'worker/src/delivery/disable.rs',
    'worker/src/steps/notification.rs',
    'ctl/src/processor_connection.rs',
    'ingest/src/management/advertiser/program/connection_change.rs',
  ]);
});

test('every failure of a webhook has a text', () => {
  expect(failures.sort()).toEqual(Object.keys(en.failures).sort());
});

test('of every type of event that can be missing it is said what is lost', () => {
  expect(missingTypes.sort()).toEqual(Object.keys(processor.missing).sort());
});
