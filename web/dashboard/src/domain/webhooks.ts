/** Types of events, and how endpoints and deliveries are described. */
import type { DeliveryView, EndpointView } from '../api/operations';
import type { Tone } from './words';
import { say } from '../texts/catalogue';
import { texts } from '../texts/domain/webhooks';
import { count } from './money';

/** As the service's catalogue has them, in groups. */
export const EVENT_TYPES: readonly (readonly [group: keyof typeof texts.groups, types: readonly string[]])[] = [
  ['leads', ['lead.created']],
  ['sales', ['sale.recorded', 'sale.refunded']],
  [
    'commissions',
    [
      'commission.created',
      'commission.approved',
      'commission.adjusted',
      'commission.rejected',
      'commission.reversed',
      'commission.paid',
    ],
  ],
  ['payouts', ['payout.created', 'payout.settled', 'payout.failed']],
  ['partners', ['partner.applied', 'partner.enrolled', 'partner.suspended']],
  ['attention', ['processor_event.needs_review', 'endpoint.disabled']],
];

export const ALL_TYPES = EVENT_TYPES.flatMap(([, types]) => types);

export interface Words {
  text: string;
  tone: Tone;
  about?: string;
}

const REASONS: Record<string, string> = texts.reasons;
export const groupName = (group: keyof typeof texts.groups): string => texts.groups[group];

/** How an endpoint fares. */
export function health(endpoint: EndpointView): Words {
  if (!endpoint.enabled) {
    return { text: texts.off, tone: 'bad', about: REASONS[endpoint.disabled_reason ?? ''] ?? endpoint.disabled_reason ?? '' };
  }
  if (endpoint.failing_since) return { text: texts.failing, tone: 'wait' };
  if (endpoint.last_success_at) return { text: texts.works, tone: 'good' };
  return { text: texts.nothingSentYet, tone: 'plain' };
}

/** What the last attempt came to: `200 in 84 ms`. */
export function attemptText(delivery: DeliveryView): string {
  if (delivery.attempts === 0) return texts.notTriedYet;
  const outcome = delivery.status === null ? failureText(delivery.failure) : String(delivery.status);
  return delivery.duration_ms === null ? outcome : say(texts.inTime, { outcome, duration: count(delivery.duration_ms) });
}

const FAILURES: Record<string, string> = texts.failures;
const failureText = (failure: string | null | undefined): string => (failure ? (FAILURES[failure] ?? failure) : texts.noAnswer);

const STATES = { waiting: 'wait', delivered: 'good', given_up: 'bad', cancelled: 'plain' } as const;

/** The states of a delivery, each with its name. */
export const states = () => Object.entries(texts.states);

export function stateWords(state: string): Words {
  return state in STATES ? { text: texts.states[state as keyof typeof STATES], tone: STATES[state as keyof typeof STATES] } : { text: state, tone: 'plain' };
}

/** What became of a test event after its first attempt; `undefined` before. */
export function verdict(delivery: DeliveryView): Words | undefined {
  if (delivery.state === 'delivered') {
    return { text: say(texts.itAnswered, { outcome: attemptText(delivery) }), tone: 'good' };
  }
  if (delivery.attempts === 0 && delivery.state === 'waiting') return undefined;
  return { text: `${attemptText(delivery)}.`, tone: 'bad' };
}
