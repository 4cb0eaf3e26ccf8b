import type { Translated } from '../../catalogue';
import type { en } from '../../pages/signIn';

export const de: Translated<typeof en> = {
  signIn: 'Anmelden',
  yourSessionHasEnded: 'Ihre Sitzung ist beendet. Melden Sie sich an, um weiterzumachen.',
  signInWithAPasskey: 'Mit einem Passkey anmelden',
  forgotYourPassword: 'Passwort vergessen?',
  forgotYourPasswordTheOperatorOf: 'Passwort vergessen? Der Betreiber dieser Installation kann es mit <code>ctl user reset-password</code> zurücksetzen.',
  noAccountYetYouNeedThe:
    'Noch kein Konto? Sie brauchen den Link einer Einladung. Das erste Konto erstellt der Betreiber dieser Installation mit <code>ctl user create</code>.',
};
