/** Types of events, and how endpoints and deliveries are described. */
import type { DeliveryView, EndpointView } from '../api/operations';
import type { Tone } from './words';

/** As the service's catalogue has them, in groups. */
export const EVENT_TYPES: readonly (readonly [group: string, types: readonly string[]])[] = [
  ['Leads', ['lead.created']],
  ['Sales', ['sale.recorded', 'sale.refunded']],
  [
    'Commissions',
    [
      'commission.created',
      'commission.approved',
      'commission.adjusted',
      'commission.rejected',
      'commission.reversed',
      'commission.paid',
    ],
  ],
  ['Payouts', ['payout.created', 'payout.settled', 'payout.failed']],
  ['Partners', ['partner.applied', 'partner.enrolled', 'partner.suspended']],
  ['For your attention', ['processor_event.needs_review', 'endpoint.disabled']],
];

export const ALL_TYPES = EVENT_TYPES.flatMap(([, types]) => types);

export interface Words {
  text: string;
  tone: Tone;
  about?: string;
}

const REASONS: Record<string, string> = {
  by_hand: 'It was turned off manually.',
  gone: 'It answered 410 Gone: it accepts no more events.',
  failing: 'Every attempt failed for five days.',
};

/** How an endpoint fares. */
export function health(endpoint: EndpointView): Words {
  if (!endpoint.enabled) {
    return { text: 'Off', tone: 'bad', about: REASONS[endpoint.disabled_reason ?? ''] ?? endpoint.disabled_reason ?? '' };
  }
  if (endpoint.failing_since) return { text: 'Failing', tone: 'wait' };
  if (endpoint.last_success_at) return { text: 'Works', tone: 'good' };
  return { text: 'Nothing sent yet', tone: 'plain' };
}

/** What the last attempt came to: `200 in 84 ms`. */
export function attemptText(delivery: DeliveryView): string {
  if (delivery.attempts === 0) return 'Not tried yet';
  const duration = delivery.duration_ms === null ? '' : ` in ${delivery.duration_ms.toLocaleString('en')} ms`;
  if (delivery.status !== null) return `${delivery.status}${duration}`;
  const failure = delivery.failure || 'no answer';
  return `${failure.charAt(0).toUpperCase()}${failure.slice(1)}${duration}`;
}

export const STATES: Record<string, Words> = {
  waiting: { text: 'Waiting', tone: 'wait' },
  delivered: { text: 'Delivered', tone: 'good' },
  given_up: { text: 'Given up', tone: 'bad' },
  cancelled: { text: 'Cancelled', tone: 'plain' },
};

/** What became of a test event after its first attempt; `undefined` before. */
export function verdict(delivery: DeliveryView): Words | undefined {
  if (delivery.state === 'delivered') {
    return { text: `It answered ${attemptText(delivery)}.`, tone: 'good' };
  }
  if (delivery.attempts === 0 && delivery.state === 'waiting') return undefined;
  return { text: `${attemptText(delivery)}.`, tone: 'bad' };
}
