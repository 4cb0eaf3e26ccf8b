import type { Translated } from '../catalogue';
import type { en } from '../state';

export const de: Translated<typeof en> = {
  discardYourChanges: 'Änderungen verwerfen?',
  whatYouHaveEntered: 'Ihre Eingaben sind noch nicht gespeichert.',
  discard: 'Verwerfen',
  keepEditing: 'Weiter bearbeiten',
  pageNotLoaded: 'Diese Seite konnte nicht geladen werden. Laden Sie sie neu: Vielleicht gibt es eine neuere Version.',
  theProgramIsLive: 'Das Programm ist live.',
  noSessionKept: 'Dieser Browser speichert für diese Adresse keine Sitzung. Sind Cookies blockiert?',
  wentWrongHere: 'Auf dieser Seite ist etwas schiefgegangen. Laden Sie sie neu und versuchen Sie es noch einmal.',
  /** Why something is not offered. */
  obstacles: {
    archived: 'Dieses Programm ist archiviert und lässt sich nicht ändern.',
    right: 'Sie haben nicht das Recht, dies zu ändern. Inhaber und Admins des Arbeitsbereichs können es Ihnen geben.',
  },
};
