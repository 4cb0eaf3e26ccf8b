/** The signed-in user and their programs. */
import { MOST_PROGRAMS } from '../api/ahead';
import { ApiError, call, type Answer } from '../api/client';
import { credential } from '../api/credential';
import type { ProgramView } from '../api/operations';
import { obstacle, PAGE_ACTS, PAGE_STANDINGS, type Act } from '../domain/acts';
import { go, place } from '../router/location.svelte';
import { isForPartners, path, type RouteName } from '../router/routes';
import { keepId, keptId } from './kept';
import { tellOtherTabs } from './otherTabs';
import { texts } from '../texts/state';

export type User = Answer<'GET /api/users/me'>;
export type Program = ProgramView;

const LAST_PROGRAM = 'program';

class Session {
  user = $state.raw<User>();
  /** The newest, and those that were read by themselves. */
  programs = $state.raw<Program[]>([]);
  /** There are others, which the service searches. */
  hasMore = $state(false);
  failure = $state.raw<ApiError>();
  /** It has ended by itself, or from elsewhere: who is asked to sign in is told why. */
  hasEnded = $state(false);

  /** The program in the address, and no other; on pages of no program the last one, or the first. */
  readonly program = $derived.by(() => {
    const named = place.match?.parameters.program;
    const found = this.programs.find(({ id }) => id === Number(named ?? this.lastProgram));
    return named ? found : (found ?? this.programs[0]);
  });
  #lastProgram = $state(keptId(LAST_PROGRAM));
  /** When [`begin`] is done. */
  #begun: Promise<void> = Promise.resolve();

  get lastProgram(): number | undefined {
    return this.#lastProgram;
  }

  set lastProgram(id: number | undefined) {
    this.#lastProgram = id;
    keepId(LAST_PROGRAM, id);
  }

  get isPartner() {
    return this.user?.kind === 'partner';
  }

  /** A workspace of theirs requires a second factor: until they have one, only the account page is available. */
  readonly lacksSecondFactor = $derived(this.user?.lacks_second_factor ?? false);

  /** The workspaces that the user manages. */
  readonly run = $derived((this.user?.workspaces ?? []).filter(({ role }) => role !== 'member'));

  /** The workspaces whose audit log the user may read. */
  readonly owned = $derived(this.run.filter(({ role }) => role === 'owner'));
  readonly runsWorkspace = $derived(this.run.length > 0);
  readonly ownsWorkspace = $derived(this.owned.length > 0);
  /** The workspace of the program at hand is among those. */
  readonly runsProgram = $derived(this.run.some(({ id }) => id === this.program?.workspace_id));

  /** The user's rights in the program at hand; `undefined` of those who have all. */
  readonly #rights = $derived.by(() => {
    const own = this.user?.workspaces.find(({ id }) => id === this.program?.workspace_id);
    return own?.role === 'member' ? (own.permissions[String(this.program?.id)] ?? []) : undefined;
  });

  /** Why the user cannot do this in the program at hand; nothing if they can. */
  whyNot(act: Act): string | undefined {
    const found = this.program && obstacle(act, this.#rights, this.program.status);
    return found && texts.obstacles[found];
  }

  /** Whether to offer it. */
  may(act: Act): boolean {
    return !this.whyNot(act);
  }

  mayOpen(page: RouteName): boolean {
    const act = PAGE_ACTS[page];
    const standing = PAGE_STANDINGS[page];
    return (!act || this.may(act)) && (!standing || this[standing]);
  }

  /** Loads the session. */
  begin(): Promise<void> {
    this.#begun = this.#load();
    return this.#begun;
  }

  async #load() {
    const list = () => call('GET /api/advertiser/affiliate-programs', { query: { pageSize: MOST_PROGRAMS } });
    // Asked for together, but on partners' pages: most users are advertisers. Others are refused, which does not matter then.
    const listed = isForPartners(place.path) ? undefined : list();
    listed?.catch(() => {});
    try {
      const user = await call('GET /api/users/me');
      if (user.kind === 'advertiser' && !user.lacks_second_factor) {
        const { data, meta } = await (listed ?? list());
        this.programs = data;
        this.hasMore = meta.pagination.pageCount > 1;
        await this.#knowLast();
      }
      this.user = user;
      this.hasEnded = false;
      this.failure = undefined;
    } catch (error) {
      if (error instanceof ApiError) this.failure = error.status === 401 ? undefined : error;
    }
  }

  /** The last program may be one of very many. If it is gone, it is none. */
  async #knowLast() {
    const last = this.#lastProgram;
    if (!last || this.has(last) || place.match?.parameters.program) return;
    const found = await this.#read(last).catch(() => undefined);
    if (found && found.status !== 'archived') this.programs = [...this.programs, found];
  }

  /** Whether a page of this program can be drawn: its name and currency are known. */
  has(id: number): boolean {
    return this.programs.some((program) => program.id === id);
  }

  /** Reads a program that the list does not have: an archived one, or one of very many. */
  async know(id: number): Promise<Program> {
    await this.#begun;
    const known = this.programs.find((program) => program.id === id);
    if (known) return known;
    const found = await this.#read(id);
    if (!this.has(id)) this.programs = [...this.programs, found];
    return found;
  }

  async #read(id: number): Promise<Program> {
    return (await call('GET /api/advertiser/affiliate-programs/{program_id}', { path: { program_id: id } })).data;
  }

  /** After a sign-in or an accepted invitation, whose answer holds the token. */
  async opened(token: string) {
    credential.keep(token);
    tellOtherTabs();
    await this.begin();
    if (this.failure) throw this.failure;
    if (!this.user) throw new ApiError(0, texts.noSessionKept);
  }

  async signOut() {
    await call('POST /api/auth/logout').catch(() => {});
    tellOtherTabs();
    this.forget();
    go(path('signIn'));
  }

  forget() {
    credential.forget();
    this.user = undefined;
    this.programs = [];
  }

  /** After a change of it. */
  async readAgain(id: number) {
    this.replace(await this.#read(id));
  }

  /** It is archived. */
  drop(id: number) {
    this.lastProgram = undefined;
    this.programs = this.programs.filter((program) => program.id !== id);
  }

  replace(program: Program) {
    this.programs = this.programs.map((known) => (known.id === program.id ? program : known));
  }
}

export const session = new Session();

