/** What this package throws. Ordinary answers are outcomes, no errors: see {@link Outcomes}. */
export class TrackerError extends Error {
  override name = 'TrackerError';
}

/** The service refused the call, and would refuse it again: the call, the key or the address is wrong. Some calls are refused unsent. */
export class RefusedError extends TrackerError {
  override name = 'RefusedError';

  constructor(
    message: string,
    /** The HTTP status; null if nothing was sent, because the call is wrong. */
    readonly status: number | null,
    /** The service's own word for the error, where it has one, such as `api_key_rotation_required`; `invalid_call` if nothing was sent. */
    readonly code: string | null,
    /** For the service's operators, who find the request by it. Null if nothing was sent. */
    readonly requestId: string | null,
  ) {
    super(message);
  }
}

/** No answer, or none that says more than "later", after as many attempts as were allowed, or until the call was aborted. */
export class UnavailableError extends TrackerError {
  override name = 'UnavailableError';

  constructor(
    message: string,
    readonly attempts: number,
    /** The last HTTP status; null if there was no answer. */
    readonly status: number | null,
    /** True if the event may have been recorded although no answer says so. Send it again with the same `transaction_id`. */
    readonly isUnknown: boolean,
    /** What the service asked for. */
    readonly retryAfterSeconds: number | null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The event was not queued, or not sent before the queue was closed. */
export class QueueError extends TrackerError {
  override name = 'QueueError';

  constructor(readonly reason: 'full' | 'closed') {
    super(reason === 'full' ? 'The queue is full' : 'The queue is closed');
  }
}

/** Answer such a webhook 400, and do nothing else with it. */
export class WebhookError extends TrackerError {
  override name = 'WebhookError';

  constructor(readonly reason: 'missing_header' | 'timestamp' | 'signature' | 'body') {
    super(WEBHOOK_REASONS[reason]);
  }
}

const WEBHOOK_REASONS = {
  missing_header: 'A header of the webhook is missing',
  timestamp: "The webhook's timestamp is not of these minutes",
  signature: "The webhook's signature is wrong",
  body: "The webhook's body is no event",
};
