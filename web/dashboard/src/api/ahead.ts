/** Requests that are sent before the code that needs their answers is there. */
import { isForPartners } from '../router/routes';
import { credential } from './credential';

/** How many programs a session knows from its beginning. */
export const MOST_PROGRAMS = 100;
/** What every document asks for: who is signed in, and their programs, of which partners have none. */
const USER = '/api/users/me';
const PROGRAMS = `/api/advertiser/affiliate-programs?pageSize=${MOST_PROGRAMS}`;

const sent = new Map<string, Promise<Response>>();

export function askFirst() {
  for (const address of isForPartners(location.pathname) ? [USER] : [USER, PROGRAMS]) {
    const response = fetch(address, { headers: credential.headers(), credentials: 'same-origin' });
    // Who takes it deals with its failure.
    response.catch(() => {});
    sent.set(address, response);
  }
}

/** The response of a GET request that was sent already: for the first who asks. */
export function take(address: string): Promise<Response> | undefined {
  const response = sent.get(address);
  sent.delete(address);
  return response;
}
