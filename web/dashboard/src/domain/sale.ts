/** What the page of one sale says of it, before all that happened. Pure. */
import type { CustomerTimeline, NamedPartner, ProgramEvent } from '../api/operations';

export interface Credited {
  /** Of the membership. */
  id: number;
  partner: NamedPartner | undefined;
}

export type Sale = Extract<ProgramEvent, { is_recurring: boolean }>;

/** The sale itself. */
export function soldIn({ timeline }: CustomerTimeline): Sale | undefined {
  for (const { event } of timeline) if (event && 'is_recurring' in event) return event;
  return undefined;
}

/** Whose sale it is: those who share it, each once, or whom the sale names. Whoever was given a commission by hand is none of them. */
export function creditedWith({ timeline }: CustomerTimeline, sale: Sale | undefined): Credited[] {
  const shares = new Map<number, Credited>();
  for (const { commission } of timeline) {
    if (!commission?.why_rate || commission.superseded_at) continue;
    const id = commission.partner_program_id;
    shares.set(id, { id, partner: commission.partner });
  }
  if (shares.size > 0) return [...shares.values()];
  return sale?.partner_program_id == null ? [] : [{ id: sale.partner_program_id, partner: sale.partner ?? undefined }];
}
