/** A short name of a user agent: `Firefox on Linux`. */
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/device';

/** The first match, because most user agents name several. */
const BROWSERS: [RegExp, string][] = [
  [/\bEdg/, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: [RegExp, string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

export function deviceText(userAgent: string | null | undefined): string {
  if (!userAgent) return texts.unknown;
  const named = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [named(BROWSERS), named(SYSTEMS)];
  // Programs send `name/version`.
  const program = browser ?? userAgent.split(/[\s/]/, 1)[0] ?? userAgent;
  return system ? say(texts.programOnSystem, { program, system }) : program;
}
