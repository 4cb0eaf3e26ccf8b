/** Events since the page was opened, and earlier test events. */
import { call } from '../../api/client';
import { watch, type LiveEvent } from '../../api/live';

export type Kind = 'click' | 'lead' | 'conversion';

export class Arrivals {
  /** The latest of each type, test events separately. */
  tests = $state.raw<Partial<Record<Kind, LiveEvent>>>({});
  real = $state.raw<Partial<Record<Kind, LiveEvent>>>({});
  /** When test events of earlier visits came. */
  earlier = $state.raw<Partial<Record<Kind, string>>>({});
  listening = $state(false);
  failure = $state.raw<unknown>();

  constructor(program: () => number) {
    $effect(() => {
      const ending = new AbortController();
      const watched = program();
      this.tests = this.real = this.earlier = {};
      void this.#lookBack(watched, ending.signal);
      void watch(
        watched,
        {
          open: () => (this.listening = true),
          event: (event) => this.#take(event),
          lost: (error, final) => {
            this.listening = false;
            if (final) this.failure = error;
          },
        },
        ending.signal,
      );
      return () => ending.abort();
    });
  }

  #take(event: LiveEvent) {
    const kind = event.event_type as Kind;
    if (event.is_test) this.tests = { ...this.tests, [kind]: event };
    else this.real = { ...this.real, [kind]: event };
  }

  /** The stream reports errors. */
  async #lookBack(program_id: number, signal: AbortSignal) {
    const answer = await call('GET /api/tracking/status/{program_id}', { path: { program_id }, signal }).catch(() => undefined);
    if (!answer) return;
    const { pageview, referrals } = answer.data.statistics;
    this.earlier = {
      ...(pageview.latestTestEvent ? { click: pageview.latestTestEvent.timestamp } : {}),
      ...(referrals.latestTestEvent ? { lead: referrals.latestTestEvent.timestamp } : {}),
    };
  }

  testedAt(kind: Kind): string | undefined {
    return this.tests[kind]?.timestamp ?? this.earlier[kind];
  }
}
