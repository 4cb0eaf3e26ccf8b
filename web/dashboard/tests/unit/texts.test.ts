/** What the pages say: no riddles, and no button that destroys something without looking like it. */
import { expect, test } from 'vitest';
import { files as all, inEnglish } from './english';

/** Without what the service says. */
const files = all.filter((name) => name !== 'texts/de/server.ts');
const sources = await Promise.all(files.map(async (name) => [name, await inEnglish(name)] as const));
const DESTROYS = /^(Archive|Delete|Disconnect|Reject|Remove|Replace the key|Revoke|Suspend|Turn off|Withdraw|Discard|Change the code)/;

/** `what: text` of everything that is matched, which must be nothing. */
const found = (pattern: RegExp, isWrong: (match: RegExpExecArray) => boolean) =>
  sources.flatMap(([name, source]) => [...source.matchAll(pattern)].filter(isWrong).map(([text]) => `${name}: ${text}`));

test('there are texts to look at', () => {
  expect(files.length).toBeGreaterThan(100);
  const drafts = sources.find(([name]) => name === 'state/drafts.svelte.ts')?.[1];
  expect(drafts).toContain("yes: 'Discard'");
  expect(sources.find(([name]) => name === 'parts/Secret.svelte')?.[1]).toContain('>I have stored it</button>');
});

test('a question about something that destroys has a red button', () => {
  const questions = /questions\.ask\(\{[\s\S]*?\}\)/g;
  expect(sources.flatMap(([, source]) => source.match(questions) ?? []).length).toBeGreaterThan(10);
  expect(found(questions, ([text]) => DESTROYS.test(/yes: '([^']+)'/.exec(text)?.[1] ?? '') && !text.includes('isBad: true'))).toEqual([]);
});

test('a form that destroys is not sent by Enter, and has a red button', () => {
  const forms = /<Form\b[^>]*(?:=>[^>]*)*>/g;
  expect(found(forms, ([text]) => DESTROYS.test(/submit="([^"]+)"/.exec(text)?.[1] ?? '') && !/\bisBad\b/.test(text))).toEqual([]);
});

test('a button that destroys is not the primary one', () => {
  const buttons = /<button\b[\s\S]*?<\/button>/g;
  const isWrong = (text: string) => DESTROYS.test(/>\s*([A-Z][^<{]*)/.exec(text)?.[1] ?? '') && /class="[^"]*\bfirst\b/.test(text);
  expect(found(buttons, ([text]) => isWrong(text) && !/\bbad\b/.test(text))).toEqual([]);
});

test('plain English of the field', () => {
  const riddles = /\b(Go on|Demand a|those to come|by hand|is told|stays in the books|whoever gets)\b(?=[^\n]*['"`<])/g;
  const isShown = ({ input, index }: RegExpExecArray) => {
    const line = input.slice(input.lastIndexOf('\n', index) + 1, index);
    return !/^\s*(\/\/|\/?\*|<!--)|\/\/ /.test(line);
  };
  expect(found(riddles, isShown)).toEqual([]);
});
