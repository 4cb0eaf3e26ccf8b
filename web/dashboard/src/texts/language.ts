/** The language of the dashboard: what was chosen in this browser, otherwise the first of the browser's that there is. */

/** Each with its own name for itself. */
export const LANGUAGES = [
  ['en', 'English'],
  ['de', 'Deutsch'],
] as const;
export type Language = (typeof LANGUAGES)[number][0];

const NAME = 'language';

/** `kept`: what was chosen; `wanted`: the browser's languages, such as `de-AT`, the favourite first. */
export function preferred(kept: string | null, wanted: readonly string[]): Language {
  const codes = [kept ?? '', ...wanted].map((tag) => tag.split('-')[0]?.toLowerCase());
  for (const code of codes) {
    const found = LANGUAGES.find(([known]) => known === code);
    if (found) return found[0];
  }
  return 'en';
}

function current(): Language {
  // Tests run without a browser.
  if (typeof document === 'undefined') return 'en';
  const chosen = preferred(localStorage.getItem(NAME), navigator.languages);
  document.documentElement.lang = chosen;
  return chosen;
}

/** Stays the same until the page is loaded again. */
export const language = current();

/** How numbers and days are written: the browser's own way, if it is one of the page's language, such as `en-GB`. */
export const locale: string =
  (typeof document === 'undefined' ? [] : navigator.languages).find((tag) => tag.split('-')[0]?.toLowerCase() === language) ?? language;

/** Loads the page again: texts and formats are made once. */
export function chooseLanguage(chosen: string) {
  localStorage.setItem(NAME, chosen);
  location.reload();
}
