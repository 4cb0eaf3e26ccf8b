/** What a page's address may say of a filter. Pure. */

/** The choices a filter has, as its list offers them, or a pattern. */
export type Known = readonly (readonly [value: string, text: string])[] | RegExp;

/** Of one entry of however many. */
export const ID = /^[1-9]\d{0,15}$/;
export const CURRENCY = /^[A-Z]{3}$/;

/** What is not known is no filter, as a list that is opened without one: the service would refuse it. */
export function knownText(text: string, known: Known | undefined): string {
  if (!known) return text;
  const isKnown = known instanceof RegExp ? known.test(text) : known.some(([value]) => value === text);
  return isKnown ? text : '';
}
