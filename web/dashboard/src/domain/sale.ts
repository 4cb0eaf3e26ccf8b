/** What the page of one sale says of it, before all that happened. Pure. */
import type { CustomerTimeline, NamedPartner, ProgramEvent, TimelineCommission, TimelineEntry } from '../api/operations';

export interface Credited {
  /** Of the membership. */
  id: number;
  partner: NamedPartner | undefined;
}

/** What earned a commission, and moved a balance later. */
export type Earned = TimelineEntry & { commission: TimelineCommission };

export type Sale = Extract<ProgramEvent, { is_recurring: boolean }>;

/** The sale itself. */
export function soldIn({ timeline }: CustomerTimeline): Sale | undefined {
  for (const { event } of timeline) if (event && 'is_recurring' in event) return event;
  return undefined;
}

/** By the commission's id: what moves a balance names no partner and no transaction, but its commission does. */
export function earnedIn({ timeline }: CustomerTimeline): Map<number, Earned> {
  const earned = new Map<number, Earned>();
  for (const happened of timeline) {
    if (happened.commission && happened.commission_id != null) earned.set(happened.commission_id, { ...happened, commission: happened.commission });
  }
  return earned;
}

export function hasSeveralPartners(earned: ReadonlyMap<number, Earned>): boolean {
  return new Set([...earned.values()].map(({ commission }) => commission.partner_program_id)).size > 1;
}

/** What is in one transaction has nearly one time. */
const AT_ONCE_MS = 10_000;

/** A movement took back what another commission has replaced, and no refund asked for it. */
export function isReplaced(earned: ReadonlyMap<number, Earned>, { ledger, commission_id, timestamp }: TimelineEntry): boolean {
  const superseded = earned.get(commission_id ?? 0)?.commission.superseded_at;
  return ledger?.kind === 'reversal' && superseded != null && Math.abs(Date.parse(superseded) - Date.parse(timestamp)) < AT_ONCE_MS;
}

/** How many partners the sale of a commission was divided among. */
export function sharers(earned: ReadonlyMap<number, Earned>, { commission, sale_id }: TimelineEntry): number {
  if (!commission || !isShare(commission) || commission.why_partner.attribution_model !== 'linear') return 1;
  const shares = [...earned.values()].filter((other) => other.sale_id === sale_id && isShare(other.commission));
  return new Set(shares.map((other) => other.commission.partner_program_id)).size;
}

/** In force, and not given by hand. */
const isShare = ({ why_rate, superseded_at }: TimelineCommission) => why_rate != null && superseded_at == null;

/** Whose sale it is: those who share it, each once, or whom the sale names. Whoever was given a commission by hand is none of them. */
export function creditedWith({ timeline }: CustomerTimeline, sale: Sale | undefined): Credited[] {
  const shares = new Map<number, Credited>();
  for (const { commission } of timeline) {
    if (!commission || !isShare(commission)) continue;
    const id = commission.partner_program_id;
    shares.set(id, { id, partner: commission.partner });
  }
  if (shares.size > 0) return [...shares.values()];
  return sale?.partner_program_id == null ? [] : [{ id: sale.partner_program_id, partner: sale.partner ?? undefined }];
}
