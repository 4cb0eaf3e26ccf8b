/** Search in a short list that is there as a whole. Pure. */

export interface Entry {
  /** `Page`, `Program`, `Partner`; '' where all are of one kind. */
  kind: string;
  text: string;
  /** Also found by it, such as an e-mail address. */
  about?: string | undefined;
  /** Where it leads, or its id. */
  href: string;
}

/** Without case and accents. */
function folded(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{Diacritic}/gu, '').toLowerCase();
}

/** Entries in which every word of the text occurs: names that begin with the text first, then those with its words at the beginning of theirs. */
export function search(entries: readonly Entry[], text: string, most: number): Entry[] {
  const wanted = folded(text).trim();
  const words = wanted.split(/\s+/).filter(Boolean);
  const found = entries.flatMap((entry) => {
    const name = folded(entry.text);
    const all = `${name} ${folded(entry.kind)} ${folded(entry.about ?? '')}`;
    if (!words.every((word) => all.includes(word))) return [];
    const rank = name.startsWith(wanted) ? 0 : words.every((word) => ` ${name}`.includes(` ${word}`)) ? 1 : 2;
    return [{ entry, rank }];
  });
  // Sorting keeps the order of equals.
  return found.sort((one, other) => one.rank - other.rank).slice(0, most).map(({ entry }) => entry);
}
