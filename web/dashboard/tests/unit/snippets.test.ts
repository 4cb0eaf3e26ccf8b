import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KEY_PLACE, realCommands, sale, script, SERVER_LANGUAGES, STRIPE_EVENTS, stripeMetadata, testCommand, type Facts } from '../../src/domain/snippets';

const facts: Facts = {
  origin: 'https://track.example',
  program: 7,
  domain: 'shop.example',
  currency: 'JPY',
  shortCode: 'ada',
  key: 'aff_secret',
};

test('snippets have the ids of the program', () => {
  expect(script(facts)).toContain('src="https://track.example/js/tracker.js" data-program-id="7"');
  for (const [language] of SERVER_LANGUAGES) {
    expect(sale(language, facts)).toContain('https://track.example/api/v1/track/sale');
    expect(sale(language, facts)).toContain('Bearer aff_secret');
    expect(sale(language, { ...facts, key: undefined })).toContain(KEY_PLACE);
    // Without it the sale would be in dollars, which no total of this program shows.
    expect(sale(language, facts)).toMatch(/currency['"]?(:| =>) ?['"]JPY['"]/);
  }
});

const page = readFileSync(new URL('../../../../docs/integrate.md', import.meta.url), 'utf8');

test('the script is put in as the documentation says', () => {
  expect(page).toContain(`\`\`\`html\n${script({ ...facts, program: 1 })}\n\`\`\``);
});

test('Stripe is set up as the documentation says', () => {
  expect(page).toContain(`\`\`\`\n${STRIPE_EVENTS.join('\n')}\n\`\`\``);
  const metadata = stripeMetadata(1).match(/{ .* }/)?.[0];
  expect(page.split(metadata ?? 'none')).toHaveLength(3);
});

test('commands are understood by a shell, and their bodies are JSON', () => {
  const bodies = (commands: string) => {
    // Instead of curl, something that shows what it was given, and answers a click.
    const stub = 'curl() { for last; do :; done; echo "$last" >&2; echo \'{"click_id": "cust_1_2"}\'; };';
    const shown = execFileSync('sh', ['-c', `{ ${stub}\n${commands}\n} 2>&1 >/dev/null`], { encoding: 'utf8' });
    return shown.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  expect(bodies(testCommand('click', facts))).toEqual([
    { affiliate_url: 'https://shop.example/?aff=ada', additional_data: { test_mode: true, program_id: 7 } },
  ]);
  const [click, lead, paid] = bodies(realCommands(facts));
  expect(click).toEqual({ affiliate_url: 'https://shop.example/?aff=ada' });
  expect(lead).toMatchObject({ click_id: 'cust_1_2' });
  expect(paid).toMatchObject({ amount_cents: 4_900, currency: 'JPY', customer_key: lead?.customer_key });
  expect(bodies(testCommand('sale', facts))).toMatchObject([{ amount_cents: 4_900, currency: 'JPY' }]);
});

test('only clicks need no key', () => {
  expect(testCommand('click', facts)).not.toContain('Authorization');
  expect(testCommand('lead', facts)).toContain('Authorization');
});

test.each([
  [200, undefined, false],
  [400, 'Customer not found. Provide customer_key or click_id.', false],
  [409, 'Duplicate transaction_id', false],
  [400, 'amount_cents must be a positive integer', true],
  [401, 'Invalid API key', true],
])('a sale that is answered %s %s fails: %s', async (status, message, fails) => {
  const answer = Response.json(message ? { error: { message } } : { success: true }, { status });
  const run = new Function('fetch', 'order', 'user', `return (async () => { ${sale('node', facts)} })()`) as (
    ...places: unknown[]
  ) => Promise<void>;
  const sent = run(() => Promise.resolve(answer), { id: '1', totalCents: 1 }, { id: '2' });
  await (fails ? expect(sent).rejects.toThrow(message) : expect(sent).resolves.toBeUndefined());
});
