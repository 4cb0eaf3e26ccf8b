import type { Noun } from './bodies.js';

/**
 * What is wrong with a call, if the service's answer would hide it: a lead or sale of nobody is answered like that of a visitor without
 * a partner's link, and a refund of 0 takes back the whole sale. All other mistakes are the service's to name.
 */
export function mistakeOf(noun: Noun, body: unknown, testMode: boolean): string | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return `a ${noun} is an object`;
  const { customer_key, click_id, refund_amount_cents, additional_data } = body as Record<string, unknown>;
  const isTest = testMode || (additional_data as { test_mode?: unknown } | null | undefined)?.test_mode === true;
  const isOfNobody = isNothing(customer_key) && isNothing(click_id);
  if ((noun === 'lead' || noun === 'sale') && isOfNobody && !isTest) return 'customer_key or click_id is required';
  if (noun === 'refund' && (refund_amount_cents === 0 || isNull(refund_amount_cents))) {
    return 'refund_amount_cents must be positive; leave it out to refund the whole sale';
  }
  return undefined;
}

function isNothing(id: unknown): boolean {
  return id === undefined || id === null || id === '' || isNull(id);
}

/** NaN and the infinities are `null` in JSON. */
function isNull(value: unknown): boolean {
  return typeof value === 'number' && !Number.isFinite(value);
}
