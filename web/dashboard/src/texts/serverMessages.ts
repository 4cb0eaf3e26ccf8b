/** Finds the text of a message of the service in another language. Loaded with the first of them, by those who use that language. */

export interface ServerTexts {
  /** Names of fields, with which some messages begin. */
  readonly fields: Readonly<Record<string, string>>;
  /** Messages, and those of a field without its name; with `{places}`, which are filled with what stands there. */
  readonly messages: Readonly<Record<string, string>>;
  /** What is translated only within a message. */
  readonly values: Readonly<Record<string, string>>;
}

/** What people wrote is shown as it is. */
const WRITTEN = 'words';
const OF_FIELD = /^([a-z]\w*) (.+)$/s;
const AMOUNT = /^([+-]?\d+)\.(\d{2,3})(?= [A-Z]{3}$|$)/;

/** A message in another language; `undefined` if that has none for it. */
export function translated(message: string, texts: ServerTexts): string | undefined {
  const known = filled(message, texts);
  if (known !== undefined) return known;
  const [, name = '', rule = ''] = OF_FIELD.exec(message) ?? [];
  const said = filled(rule, texts);
  return said && `${texts.fields[name] ?? name} ${said}`;
}

/** Every text that a message with places can be. */
export const shape = (message: string): RegExp =>
  new RegExp(`^${message.replaceAll(/[.+?()[\]\\^$|*]/g, '\\$&').replaceAll(/\{(\w+)\}/g, '(?<$1>.*)')}$`, 's');

/** The text of the longest message that it can be. */
function filled(message: string, texts: ServerTexts): string | undefined {
  const { messages } = texts;
  if (Object.hasOwn(messages, message)) return messages[message];
  const withPlaces = Object.keys(messages).filter((key) => key.includes('{')).sort((one, other) => other.length - one.length);
  for (const key of withPlaces) {
    const places = shape(key).exec(message)?.groups;
    if (places) return messages[key]?.replaceAll(/\{(\w+)\}/g, (_, name: string) => inner(name, places[name] ?? '', texts));
  }
  return undefined;
}

/** What stands at a place: a value, or a list of them, each of which may have a text of its own. */
function inner(name: string, value: string, texts: ServerTexts): string {
  if (name === WRITTEN) return value;
  const said = texts.values[value] ?? filled(value, texts);
  if (said !== undefined) return said;
  const list = value.split(', ');
  return list.length > 1 ? list.map((one) => inner(name, one, texts)).join(', ') : value.replace(AMOUNT, '$1,$2');
}
