/** What the service says to people: every text of the sources that say it, so that none can be left out of a translation. */
import { readdirSync, readFileSync } from 'node:fs';

const ROOT = new URL('../../../../', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, ROOT), 'utf8');

const sources = (folder: string): string[] =>
  readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.rs') && !/(^|\/)tests[./]/.test(name))
    .map((name) => `${folder}/${name}`);

/** Answers to programs alone, the API's description, settings, and pages that are not the dashboard's. */
const OF_OTHERS =
  /\/management\/(cli(?!\/login)|csv_download|auth\/unsubscribe|advertiser\/program\/event_stream)\b|\/http\/(endpoint|layers|limits|openapi|rotation)\b|domain\/src\/(tracking|sealed)\b/;

const TESTS = /\n#\[cfg\(test\)\]\nmod tests \{[\s\S]*/;
/** For the OpenAPI description: they repeat what the code says. */
const EXAMPLES = /^( *)(?:pub(?:\(super\))? )?(?:const )?fn \w*examples?\w*\([\s\S]*?^\1\}/gm;
const ATTRIBUTES = /^ *#!?\[(?!error)[\s\S]*?\]$/gm;
const TOKENS = /\/\/.*|r(#*)"[\s\S]*?"\1|'(?:[^'\\]|\\.[^']*)'|"((?:[^"\\]|\\[\s\S])*)"/g;
/** What stands before a text that nobody is shown. */
const UNSEEN = /tracing::|(anyhow!\(|managed! \{|\.(join|comment|replace|request|rp_name)\(|Error::msg\(|reads\(&settings,) ?$/;

interface Text {
  text: string;
  /** The statement until there. */
  before: string;
}

const product = (name: string): string => read(name).replace(TESTS, '').replace(EXAMPLES, '').replace(ATTRIBUTES, '');

function texts(name: string): Text[] {
  const code = product(name);
  return [...code.matchAll(TOKENS)].flatMap(({ 2: raw, index }) => {
    if (raw === undefined) return [];
    const before = code.slice(code.lastIndexOf(';', index) + 1, index).replace(/\s+/g, ' ');
    return [{ text: raw.replace(/\\\n\s*/g, '').replaceAll('\\"', '"'), before }];
  });
}

/** Not a type of files, nor one word alone, which is a name unless it is an error. */
const isSaid = (text: string, before: string) => (/(?<!;) [\w{]/.test(text) || before.endsWith('#[error(')) && /\w/.test(text.replace(/\{[^}]*\}/g, ''));
const after = (name: string, end: RegExp): Text[] => texts(name).filter(({ before }) => end.test(before));
const errors = (name: string) => after(name, /#\[error\($/);
const answering = ['ingest/src/http', 'ingest/src/management'].flatMap(sources).filter((name) => !OF_OTHERS.test(name));
const rules = sources('common/domain/src').filter((name) => !OF_OTHERS.test(name));
const said = [
  ...[...answering, 'worker/src/steps/notification.rs', 'worker/src/delivery/disable.rs'].flatMap(texts),
  ...[...rules, 'common/runtime/src/body.rs'].flatMap(errors),
  ...sources('ctl/src').flatMap((name) => after(name, /message: format!\( ?$/)),
  ...after('common/storage/src/money/payouts.rs', /\(\*id, $/),
].filter(({ text, before }) => isSaid(text, before) && !UNSEEN.test(before));

/** With `{…}` where something is filled in. */
export const messages = [...new Set(said.map(({ text }) => text))].sort();

/** Fields that a message names. */
export const fields = new Set(answering.flatMap((name) => [
  ...[...product(name).matchAll(/\b(?:refused|parsed|text|required_\w+|\w*integer|within|\w*flag|id_list|time_to_come|\w*scopes)\(\s*(?:[\w.()]+,\s*)?"([A-Za-z_]+)"/g)].map(([, field = '']) => field),
  ...texts(name).flatMap(({ text }) => /^([a-z]\w+) (?:is|must|names|cannot|finds)\b/.exec(text)?.[1] ?? []),
]));

/** Files that write notifications: each is read above. */
export const notifying = ['worker/src', 'ctl/src', 'webhook-consumer/src', 'ingest/src'].flatMap(sources).filter((name) => read(name).includes('NewNotification {'));

/** Types of a processor's events of which the service says that they are missing. */
export const missingTypes = [...product('common/domain/src/processors/event_types.rs').matchAll(/^ *missing: "([\w.]+)"/gm)].map(([, kind]) => kind);

/** Why a webhook got no answer. */
export const failures = errors('worker/src/delivery/client/error.rs').map(({ text }) => text);
