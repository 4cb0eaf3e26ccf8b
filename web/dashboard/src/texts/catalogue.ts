/**
 * Messages in each language. English comes with the code that shows it; another language is loaded by those who use it, area by area.
 *
 * A message is a text with `{names}` to fill in and `<parts>` to draw, or one text for each plural form of its `{count}`.
 */
import { language, locale } from './language';

export interface Plural {
  readonly one: string;
  readonly other: string;
}
export type Message = string | Plural;
/** The messages of an area of the dashboard, by key; also in groups. */
export interface Area {
  readonly [key: string]: Message | Area;
}

/** The same keys in another language. */
export type Translated<T> = { readonly [Key in keyof T]: T[Key] extends string ? string : Translated<T[Key]> };

type Names<T> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
type NamesOf<T> = T extends Plural ? 'count' | Names<T['other']> : Names<T>;
/** What a message needs: `count` is written as the language writes numbers, everything else as it is. */
export type Values<T extends Message> = { readonly [Name in NamesOf<T>]: Name extends 'count' ? number : string | number };

const loads: Promise<void>[] = [];

/** An area: its English texts, until those of the chosen language are there. These are loaded at once, if it is German. */
export function area<const T extends Area>(en: T, german: () => Promise<{ de: Translated<T> }>): T {
  if (language === 'en') return en;
  const texts = structuredClone(en);
  // Without them, English is better than nothing.
  loads.push(german().then(({ de }) => take(texts, de), () => {}));
  return texts;
}

/** In place, because groups are held where they are used. */
function take(into: object, from: object) {
  for (const [key, value] of Object.entries(from)) {
    const there = (into as Record<string, unknown>)[key];
    if (typeof value === 'object' && typeof there === 'object') take(there as object, value);
    else (into as Record<string, unknown>)[key] = value;
  }
}

/** When the texts of all code that was loaded until now are there. */
export async function textsLoaded() {
  await Promise.all(loads);
}

const rules = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(locale);
const PLACE = /\{(\w+)\}/g;
type Given = Readonly<Record<string, string | number>>;

const chosen = (message: Message, { count }: Given): string =>
  typeof message === 'string' ? message : message[rules.select(Number(count)) === 'one' ? 'one' : 'other'];

const shown = (name: string, value: string | number | undefined): string =>
  name === 'count' && typeof value === 'number' ? numbers.format(value) : String(value ?? '');

const filled = (text: string, given: Given): string => text.replace(PLACE, (_, name: string) => shown(name, given[name]));

/** A message with its values. */
export function say<T extends Message>(message: T, values: Values<T>): string {
  return filled(chosen(message, values as Given), values as Given);
}

/** A piece of a message: plain text, or what a part of that name draws, around a text. */
export interface Piece {
  part?: string;
  text: string;
}

/** A message that is more than text: `Write to <link>us</link>, {name}.` A name without a value is a part, too. */
export function pieces(message: Message, given: Given): Piece[] {
  const text = chosen(message, given);
  const all: Piece[] = [];
  let end = 0;
  for (const { 0: whole, 1: tag, 2: inner = '', 3: name, index } of text.matchAll(/<(\w+)>(.*?)<\/\1>|\{(\w+)\}/g)) {
    if (name !== undefined && name in given) continue;
    all.push({ text: filled(text.slice(end, index), given) }, { part: tag ?? name ?? '', text: filled(inner, given) });
    end = index + whole.length;
  }
  all.push({ text: filled(text.slice(end), given) });
  return all.filter(({ part, text }) => part !== undefined || text !== '');
}

/** A name within a sentence: English writes it in small letters, German does not. */
export const inSentence = (name: string): string => (language === 'en' ? name.toLowerCase() : name);
