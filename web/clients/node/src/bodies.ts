import type { components, webhooks } from './generated/openapi.js';

/** The tracking calls. */
export type Noun = 'click' | 'lead' | 'sale' | 'refund';

type Schemas = components['schemas'];
/** Beside the fields that mean something to the service, any others. */
type AdditionalData = Schemas['AdditionalFields'] & { [field: string]: unknown };
/** `undefined` is as good as absence. */
type Body<T> = { [field in keyof T]: (field extends 'additional_data' ? AdditionalData | null : T[field]) | undefined };
/** Of a payment, which test mode does without. */
type Required<T, Fields extends keyof T> = Omit<Body<T>, Fields> & { [field in Fields]-?: NonNullable<T[field]> };

export type Click = Body<Schemas['ClickRequest']> & { affiliate_url: string };
export type Lead = Body<Schemas['LeadRequest']>;
export type Sale = Required<Schemas['SaleRequest'], 'transaction_id' | 'amount_cents'>;
export type Refund = Required<Schemas['RefundRequest'], 'transaction_id'>;

export interface Bodies {
  click: Click;
  lead: Lead;
  sale: Sale;
  refund: Refund;
}

/** In the answers to a key that must be replaced. */
export type RotationWarning = Schemas['RotationWarning'];

/** What the service sends to an endpoint. `type` says which `data` it has. */
export type WebhookEvent = {
  [type in keyof webhooks]: webhooks[type]['post']['requestBody']['content']['application/json'];
}[keyof webhooks];
