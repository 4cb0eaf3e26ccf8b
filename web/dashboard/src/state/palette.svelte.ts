/** Whether the palette of pages, programs and partners is open. Its code is loaded when it is first opened. */
class PaletteState {
  isOpen = $state(false);
}

export const palette = new PaletteState();

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
export const PALETTE_KEY = isMac ? '⌘ K' : 'Ctrl K';

/** Ctrl K, or Cmd K; not while something else has to be answered first. */
export function opensPalette(event: KeyboardEvent): boolean {
  const isKey = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  return isKey && !document.querySelector('dialog[open]');
}
