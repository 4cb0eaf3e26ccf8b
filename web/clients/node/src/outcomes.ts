import type { Noun } from './bodies.js';
import { RefusedError } from './errors.js';

/** The visitor or customer came without a partner's link, or the program pays nobody for them: ordinary, and nothing to do. */
export interface NotOurs {
  kind: 'not_ours';
  reason: Reason;
  message: string;
}

export type Reason =
  | 'customer_not_found'
  | 'other_program'
  | 'no_attribution'
  | 'no_partner'
  | 'window_expired'
  | 'sale_not_found'
  | 'link_not_found'
  | 'link_disabled'
  | 'no_code';

/** The same lead, payment or refund was recorded before: nothing to do. */
export interface AlreadyDone {
  kind: 'already_done';
  message: string;
}

/** An isolated test event was recorded. */
export interface Tested {
  kind: 'test';
  /** Null for a refund, which leaves nothing in test mode. */
  event_id: number | null;
  program_id: number;
}

export interface ClickRecorded {
  kind: 'recorded';
  /** Keep it in the cookie `tracker_click_id`, for `cookie_window_days`. */
  click_id: string;
  partner_code: string;
  cookie_window_days: number;
}

export interface LeadRecorded {
  kind: 'recorded';
  /** True if the program waits for your backend, or for a payment, to confirm it. */
  provisional: boolean;
}

export interface SaleRecorded {
  kind: 'recorded';
  sale_id: number;
  /** Null if nothing is due on this payment: `message` says why. */
  commission_id: number | null;
  /** All of them, where the program splits commissions. */
  commission_ids: number[];
  message: string;
}

export interface RefundRecorded {
  kind: 'recorded';
  /** `reversed` once the whole sale is refunded, `refunded` before, `no_commission` if the sale had none. */
  status: 'reversed' | 'refunded' | 'no_commission';
  /** What the partner loses, in dollars. */
  deduction_amount: number;
  commission_id: number | null;
}

/** What each call can come to. All else is thrown. */
export interface Outcomes {
  click: ClickRecorded | NotOurs | Tested;
  lead: LeadRecorded | NotOurs | AlreadyDone | Tested;
  sale: SaleRecorded | NotOurs | AlreadyDone | Tested;
  refund: RefundRecorded | NotOurs | AlreadyDone | Tested;
}

type Fields = Record<string, unknown>;

/** Refusals that are ordinary: status, how the message begins, and what it means. The contract has no codes for them. */
const ORDINARY: Record<Noun, [status: number, message: string, meaning: Reason | 'already_done'][]> = {
  click: [
    [400, 'Referral link not found', 'link_not_found'],
    [400, 'No aff parameter found', 'no_code'],
    [410, '', 'link_disabled'],
  ],
  lead: [
    [400, 'Customer not found', 'customer_not_found'],
    [400, 'Customer does not belong to this program', 'other_program'],
    [400, 'Customer status cannot be updated to lead', 'already_done'],
  ],
  sale: [
    [400, 'Customer not found', 'customer_not_found'],
    [400, 'No affiliate attribution found', 'no_attribution'],
    [400, 'No partner-program relationship found', 'no_partner'],
    [409, '', 'already_done'],
  ],
  refund: [[404, 'Sale not found', 'sale_not_found']],
};

/** What an answer means. `body` is parsed JSON; undefined if it was none. */
export function outcomeOf<N extends Noun>(
  noun: N,
  status: number,
  body: unknown,
  requestId: string | null = null,
): Outcomes[N] {
  const fields = isObject(body) ? body : {};
  if (status === 200 && fields['success'] === true) return success(noun, fields) as Outcomes[N];
  const error = fields['error'];
  if (!isObject(error)) throw new RefusedError(`The answer is not the service's: ${status}`, status, null, requestId);
  const message = String(error['message'] ?? '');
  for (const [its, start, meaning] of ORDINARY[noun]) {
    if (its !== status || !message.startsWith(start)) continue;
    const outcome: NotOurs | AlreadyDone =
      meaning === 'already_done' ? { kind: meaning, message } : { kind: 'not_ours', reason: meaning, message };
    return outcome as Outcomes[N];
  }
  const code = typeof error['code'] === 'string' ? error['code'] : null;
  throw new RefusedError(message, status, code, requestId);
}

function success(noun: Noun, answer: Fields): Outcomes[Noun] {
  if (isObject(answer['data'])) {
    const { eventId, programId } = answer['data'];
    return { kind: 'test', event_id: eventId as number | null, program_id: programId as number };
  }
  switch (noun) {
    case 'click':
      return {
        kind: 'recorded',
        click_id: answer['click_id'] as string,
        partner_code: answer['partner_code'] as string,
        cookie_window_days: answer['cookie_window_days'] as number,
      };
    case 'lead':
      return { kind: 'recorded', provisional: answer['provisional'] === true };
    case 'sale':
      return sale(answer);
    case 'refund':
      return refund(answer);
  }
}

function sale(answer: Fields): SaleRecorded | NotOurs {
  if (answer['attributed'] === false) {
    const { click_age_days, window_days } = answer;
    const message = `The click is ${click_age_days} days old; the program's window has ${window_days}`;
    return { kind: 'not_ours', reason: 'window_expired', message };
  }
  const commission_id = answer['commission_id'] as number | null;
  const one = commission_id === null ? [] : [commission_id];
  return {
    kind: 'recorded',
    sale_id: answer['sale_id'] as number,
    commission_id,
    commission_ids: (answer['commission_ids'] as number[] | undefined) ?? one,
    message: answer['message'] as string,
  };
}

function refund(answer: Fields): RefundRecorded | AlreadyDone {
  if (answer['status'] === 'skipped') return { kind: 'already_done', message: answer['reason'] as string };
  return {
    kind: 'recorded',
    status: answer['status'] as RefundRecorded['status'],
    deduction_amount: (answer['deductionAmount'] as number | undefined) ?? 0,
    commission_id: (answer['commission_id'] as number | undefined) ?? null,
  };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
