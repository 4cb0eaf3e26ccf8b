export type { Click, Lead, Noun, Refund, RotationWarning, Sale, WebhookEvent } from './bodies.js';
export { Tracker, type CallOptions, type Patience, type TrackerOptions } from './client.js';
export { clickIdFrom } from './cookies.js';
export { QueueError, RefusedError, TrackerError, UnavailableError, WebhookError } from './errors.js';
export type {
  AlreadyDone,
  ClickRecorded,
  LeadRecorded,
  NotOurs,
  Outcomes,
  Reason,
  RefundRecorded,
  SaleRecorded,
  Tested,
} from './outcomes.js';
export { Queue, type Queued, type QueueOptions } from './queue.js';
export { WebhookVerifier, type Webhook, type WebhookHeaders, type WebhookOptions } from './webhooks.js';
