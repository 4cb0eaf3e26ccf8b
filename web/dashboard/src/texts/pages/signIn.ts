import { area } from '../catalogue';

export const en = {
  signIn: 'Sign in',
  yourSessionHasEnded: 'Your session has ended. Sign in to go on.',
  signInWithAPasskey: 'Sign in with a passkey',
  forgotYourPassword: 'Forgot your password?',
  forgotYourPasswordTheOperatorOf: 'Forgot your password? The operator of this installation can reset it with <code>ctl user reset-password</code>.',
  noAccountYetYouNeedThe: 'No account yet? You need the link of an invitation. The operator of this installation creates the first account with <code>ctl user create</code>.',
} as const;

export const texts = area(en, () => import('../de/pages/signIn'));
