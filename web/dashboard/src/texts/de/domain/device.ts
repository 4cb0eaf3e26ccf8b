import type { Translated } from '../../catalogue';
import type { en } from '../../domain/device';

export const de: Translated<typeof en> = {
  unknown: 'Unbekannt',
  programOnSystem: '{program} auf {system}',
};
