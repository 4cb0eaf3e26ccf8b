/** No text that people read stands in the code: it comes from the catalogue, in each language. */
import { parse } from 'svelte/compiler';
import { expect, test } from 'vitest';
import { files, read } from './english';

/** Names of products and formats, keys of keyboards, examples. */
const ALLOWED = new Set(['Referral tracker', 'CSV', 'NDJSON', 'DE', 'ArrowDown', 'ArrowUp', 'Enter', 'Escape', 'Authorization', 'Bearer ', 'Ctrl K']);
/** Code that is shown, and the types of the API. */
const CODE = /^(texts\/|domain\/(snippets|device)\.ts|api\/operations\.ts|parts\/Icon\.svelte)/;
const READ = new Set(['aria-label', 'placeholder', 'title', 'label', 'about', 'submit', 'hint', 'text', 'note', 'what', 'none']);
const WORD = /\p{L}{2}/u;
/** `shop.example`, `acct_…`, `https://`. */
const EXAMPLE = /^[a-z#/][^\s]*$/;
const SENTENCE = /^\p{Lu}[\p{Ll}’-]+([\s.,:…!?]|$)/u;

interface Node {
  type: string;
  [field: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;
const isText = (text: string) => WORD.test(text) && !ALLOWED.has(text.trim());

/** Attributes and text of a page that are not from the catalogue. */
function shown(node: Node, found: string[]) {
  if (node.type === 'StyleSheet' || node.type === 'Script') return;
  if (node.type === 'Text' && isText(String(node.data))) found.push(String(node.data).trim());
  if (node.type === 'Attribute') {
    const texts = READ.has(String(node.name)) && Array.isArray(node.value) ? (node.value as Node[]) : [];
    const isLabel = /label$/.test(String(node.name));
    for (const { type, data } of texts) {
      if (type === 'Text' && isText(String(data)) && (isLabel || !EXAMPLE.test(String(data)))) found.push(`${String(node.name)}: ${String(data)}`);
    }
    return;
  }
  inner(node, (child) => shown(child, found));
}

/** Strings of code that read like a sentence or a name. */
function said(node: Node, found: string[]) {
  if (/^(Import|TS(?!As|Non|Satisfies))/.test(node.type) || node.type === 'BinaryExpression') return;
  if (node.type === 'Literal' && typeof node.value === 'string' && isSaid(node.value)) found.push(node.value);
  if (node.type === 'TemplateElement' && isSaid((node.value as { cooked: string }).cooked)) found.push((node.value as { cooked: string }).cooked);
  inner(node, (child) => said(child, found));
}

const isSaid = (text: string) => SENTENCE.test(text) && !ALLOWED.has(text) && !/^\p{Lu}[\p{L}]*(-\p{Lu}\p{L}*)+$/u.test(text);

function inner(node: Node, look: (child: Node) => void) {
  const { metadata: _, ...fields } = node;
  for (const [name, value] of Object.entries(fields)) {
    // A property's name is not shown.
    if (node.type === 'Property' && name === 'key') continue;
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) look(child);
  }
}

function literals(source: string, isSvelte: boolean): string[] {
  const root = parse(isSvelte ? source : `<script lang="ts">\n${source}\n</script>`, { modern: true }) as unknown as Record<string, unknown>;
  const found: string[] = [];
  if (isNode(root.fragment)) {
    shown(root.fragment, found);
    said(root.fragment, found);
  }
  for (const script of [root.instance, root.module]) if (isNode(script)) said(script.content as Node, found);
  return found;
}

test('texts in the code are found', () => {
  const page = `<script lang="ts">
    import { x } from 'Some module';
    type Kind = 'Not shown';
    const name: Kind = y === 'Compared' ? 'Sold out' : 'key';
    say(\`Removed \${name}\`);
  </script>
  <h1 class="big" title="Hello there">Hello {x}</h1>
  <Field label="email" placeholder="shop.example" hint={bad ? 'Too long.' : undefined} />
  <p>CSV {texts.fine}</p>`;
  expect(literals(page, true).sort()).toEqual(['Hello', 'Removed ', 'Sold out', 'Too long.', 'label: email', 'title: Hello there']);
  expect(literals(`export const WORDS = { Enter: 'Not found' };`, false)).toEqual(['Not found']);
});

test('every text that is shown is from the catalogue', { timeout: 60_000 }, () => {
  const looked = files.filter((name) => !CODE.test(name));
  expect(looked.length).toBeGreaterThan(100);
  expect(looked.flatMap((name) => literals(read(name), name.endsWith('.svelte')).map((text) => `${name}: ${text}`))).toEqual([]);
});
