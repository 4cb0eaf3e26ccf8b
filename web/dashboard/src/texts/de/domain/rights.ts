import type { Translated } from '../../catalogue';
import type { en } from '../../domain/rights';

export const de: Translated<typeof en> = {
  rights: {
    'program:list': 'In der Programmliste sehen',
    'program:read': 'Partner, Links, Provisionen und Auszahlungen sehen',
    'tracking:list': 'Ereignisse und Kunden sehen',
    'tracking:read': 'Sehen, wie das Tracking eingerichtet ist',
    'events:read': 'Den Ereignisstrom lesen',
    'program:update': 'Einstellungen, Partner und Links ändern',
    'program:pay_out': 'Provisionen freigeben und auszahlen',
    'program:regenerate-token': 'Den Programmschlüssel ersetzen',
    'program:go_live': 'Das Programm live schalten',
    'program:delete': 'Das Programm archivieren',
  },
  presets: {
    analyst: 'Analyst',
    finance: 'Finanzen',
    partners: 'Partnermanager',
    developer: 'Entwickler',
    manager: 'Programmmanager',
    custom: 'Einzelne Rechte',
  },
  about: {
    analyst: 'sieht alles',
    finance: 'gibt außerdem Provisionen frei und zahlt sie aus',
    partners: 'ändert außerdem Partner, Links und Einstellungen',
    developer: 'liest außerdem den Ereignisstrom und ersetzt den Schlüssel',
    manager: 'darf alles',
  },
  allPrograms: 'Alle Programme',
  noProgram: 'Kein Programm',
  inPrograms: { one: '{preset} in {count} Programm', other: '{preset} in {count} Programmen' },
};
