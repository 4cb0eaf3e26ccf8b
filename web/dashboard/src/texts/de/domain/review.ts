import type { Translated } from '../../catalogue';
import type { en } from '../../domain/review';

export const de: Translated<typeof en> = {
  commission: 'Provision {id}',
  worthNow: '{name} beträgt inzwischen {now}, nicht {then}.',
  moreChanged: 'Weitere geänderte: {number}.',
  reload: 'Laden Sie die Seite neu, um den aktuellen Stand zu sehen.',
};
