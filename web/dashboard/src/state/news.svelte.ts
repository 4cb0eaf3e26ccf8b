/** How many notifications are unread and how many commissions wait for review, reloaded on each page. */
import { call } from '../api/client';
import { session } from './session.svelte';

class News {
  unread = $state(0);
  /** Flagged commissions; none for those who may not decide on them. */
  flagged = $state(0);
  #of: number | 'partner' | undefined;
  #path: string | undefined;

  /** An effect: reloads the number, and ignores errors. */
  follow(of: number | 'partner' | undefined, path: string) {
    // The session's data changed, and not whose news this is.
    if (of === this.#of && path === this.#path) return;
    if (of !== this.#of) this.unread = this.flagged = 0;
    this.#of = of;
    this.#path = path;
    void this.look();
    void this.review();
  }

  async review() {
    const of = this.#of;
    if (typeof of !== 'number' || !session.may('pay')) return;
    const answer = await call('GET /api/advertiser/affiliate-programs/{program_id}/commissions/review', {
      path: { program_id: of },
      query: { pageSize: 1 },
    }).catch(() => undefined);
    if (answer && of === this.#of) this.flagged = answer.meta.pagination.total;
  }

  async look() {
    const of = this.#of;
    if (of === undefined || (of !== 'partner' && !session.may('see'))) return;
    const query = { unread: true, pageSize: 1 };
    const answer = await (of === 'partner'
      ? call('GET /api/partner/notifications', { query })
      : call('GET /api/advertiser/affiliate-programs/{program_id}/notifications', {
          path: { program_id: of },
          query,
        })
    ).catch(() => undefined);
    if (answer && of === this.#of) this.unread = answer.meta.pagination.total;
  }
}

export const news = new News();
