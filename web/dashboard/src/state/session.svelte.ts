/** The signed-in user and their programs. */
import { MOST_PROGRAMS } from '../api/ahead';
import { ApiError, call, onSessionEnd, type Answer } from '../api/client';
import { credential } from '../api/credential';
import type { ProgramView } from '../api/operations';
import { go, place } from '../router/location.svelte';
import { path } from '../router/routes';
import { keepId, keptId } from './kept';
import { texts } from '../texts/state';

export type User = Answer<'GET /api/users/me'>;
export type Program = ProgramView;

const LAST_PROGRAM = 'program';

class Session {
  user = $state.raw<User>();
  programs = $state.raw<Program[]>([]);
  /** True until the session is known. */
  unknown = $state(true);
  failure = $state.raw<ApiError>();

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

  /** Loads the session. */
  begin(): Promise<void> {
    this.#begun = this.#load();
    return this.#begun;
  }

  async #load() {
    this.failure = undefined;
    // Asked for together: most users are advertisers. Others are refused, which does not matter then.
    const programs = this.#listed().catch((error: unknown) => ({ error }));
    try {
      const user = await call('GET /api/users/me');
      if (user.kind === 'advertiser' && !user.lacks_second_factor) {
        const listed = await programs;
        if ('error' in listed) throw listed.error;
        this.programs = listed;
      }
      this.user = user;
    } catch (error) {
      if (error instanceof ApiError && error.status !== 401) this.failure = error;
    }
    this.unknown = false;
  }

  async readPrograms() {
    this.programs = await this.#listed();
  }

  async #listed(): Promise<Program[]> {
    const answer = await call('GET /api/advertiser/affiliate-programs', { query: { pageSize: MOST_PROGRAMS } });
    return answer.data;
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
    const answer = await call('GET /api/advertiser/affiliate-programs/{program_id}', { path: { program_id: id } });
    this.programs = [...this.programs, answer.data];
    return answer.data;
  }

  /** After a sign-in or an accepted invitation, whose answer holds the token. */
  async opened(token: string) {
    credential.keep(token);
    await this.begin();
    if (this.failure) throw this.failure;
    if (!this.user) throw new ApiError(0, texts.noSessionKept);
  }

  async signOut() {
    await call('POST /api/auth/logout').catch(() => {});
    this.forget();
    go(path('signIn'));
  }

  forget() {
    credential.forget();
    this.user = undefined;
    this.programs = [];
  }

  replace(program: Program) {
    this.programs = this.programs.map((known) => (known.id === program.id ? program : known));
  }
}

export const session = new Session();

onSessionEnd(() => session.forget());
