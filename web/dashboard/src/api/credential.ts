/**
 * How requests show who is signed in.
 *
 * Over https the browser holds the session in a cookie that no script can read, and nothing is done here. Browsers refuse
 * that cookie over plain http, which is for a developer's own machine: only there the token is kept for as long as the tab.
 */
const NAME = 'session';
const isPlainHttp = location.protocol === 'http:';

export const credential = {
  keep(token: string) {
    if (isPlainHttp) sessionStorage.setItem(NAME, token);
  },

  forget() {
    if (isPlainHttp) sessionStorage.removeItem(NAME);
  },

  headers(): Record<string, string> {
    const token = isPlainHttp ? sessionStorage.getItem(NAME) : null;
    return token ? { Authorization: `Bearer ${token}` } : {};
  },
};
