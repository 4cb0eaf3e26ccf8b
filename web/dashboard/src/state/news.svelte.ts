/** The number of unread notifications, reloaded on each page. */
import { call } from '../api/client';

class News {
  unread = $state(0);
  #of: number | 'partner' | undefined;
  #path: string | undefined;

  /** An effect: reloads the number, and ignores errors. */
  follow(of: number | 'partner' | undefined, path: string) {
    // The session's data changed, and not whose news this is.
    if (of === this.#of && path === this.#path) return;
    if (of !== this.#of) this.unread = 0;
    this.#of = of;
    this.#path = path;
    void this.look();
  }

  async look() {
    const of = this.#of;
    if (of === undefined) return;
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
