/**
 * The credential of requests.
 *
 * Over https the session is an HttpOnly cookie, and nothing is done here. Browsers reject that cookie over plain http, which is for
 * development: only then the token is kept in the tab.
 */
const NAME = 'session';
const isPlainHttp = location.protocol === 'http:';

export const credential = {
  /** How often somebody has signed in or out here: what was asked before says nothing of the session after. */
  changes: 0,

  keep(token: string) {
    credential.changes += 1;
    if (isPlainHttp) sessionStorage.setItem(NAME, token);
  },

  forget() {
    credential.changes += 1;
    if (isPlainHttp) sessionStorage.removeItem(NAME);
  },

  headers(): Record<string, string> {
    const token = isPlainHttp ? sessionStorage.getItem(NAME) : null;
    return token ? { Authorization: `Bearer ${token}` } : {};
  },
};
