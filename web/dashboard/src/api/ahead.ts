/** Requests that are sent before the code that needs their answers is there. */
import { FIRST_REQUESTS } from '../pages/requests';
import { filled, isForPartners, type Match } from '../router/routes';
import { credential } from './credential';

/** How many programs a session knows from its beginning. */
export const MOST_PROGRAMS = 100;
/** What every document asks for: who is signed in, and their programs, of which partners have none. */
const USER = '/api/users/me';
const PROGRAMS = `/api/advertiser/affiliate-programs?pageSize=${MOST_PROGRAMS}`;

const sent = new Map<string, Promise<Response>>();
const bodies = new WeakMap<Response, unknown>();
/** When all is sent. */
let asked: Promise<unknown> = Promise.resolve();

export function askFirst(page: Match | undefined) {
  // With filters or another page of a table in its address, a page asks for something else.
  const isPlain = page && !location.search;
  const requests = (isPlain && FIRST_REQUESTS[page.name]) || [];
  const isOfWorkspace = (request: string) => request.endsWith(':workspace');
  const user = send(USER);
  if (!isForPartners(location.pathname)) send(PROGRAMS);
  for (const request of requests) if (!isOfWorkspace(request)) send(`/api/${filled(request, page?.parameters)}`);
  asked = askOfWorkspace(user, requests.filter(isOfWorkspace)).catch(() => {});
}

/** Whose only workspace is their own is shown that one: which it is, the session says. */
async function askOfWorkspace(user: Promise<Response>, requests: readonly string[]) {
  if (requests.length === 0) return;
  const { workspaces = [] } = (await json(await user)) as { workspaces?: { id: number; role: string }[] };
  const [only, other] = workspaces;
  if (only?.role !== 'owner' || other) return;
  for (const request of requests) send(`/api/${filled(request, { workspace: only.id })}`);
}

function send(address: string): Promise<Response> {
  const response = ask(address);
  // Who takes it deals with its failure.
  response.catch(() => {});
  sent.set(address, response);
  return response;
}

async function ask(address: string): Promise<Response> {
  const response = await fetch(address, { headers: credential.headers(), credentials: 'same-origin' });
  // A proxy may answer in HTML: its status says enough.
  bodies.set(response, await response.json().catch(() => undefined));
  return response;
}

/** When all that was sent is answered, well or badly. */
export async function answered() {
  await asked;
  await Promise.allSettled(sent.values());
}

/** The body of a response, which one that was sent ahead has at once. */
export function json(response: Response): unknown {
  return bodies.get(response) ?? response.json();
}

/** The response of a GET request that was sent already: for the first who asks. */
export function take(address: string): Promise<Response> | undefined {
  const response = sent.get(address);
  sent.delete(address);
  return response;
}

/** What nobody took is out of date once another page is opened. */
export function forgetSent() {
  sent.clear();
}
