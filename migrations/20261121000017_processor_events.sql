-- What a program's payment processor reports: its events, which ids belong to one payment, what was taken back.
-- Lock order: transaction_claims, processor_refs, customers, sale_events, commissions, balances; processor_events last.

-- The inbox. An event is here before its sender is told that it arrived, and its id makes every later copy of it a no-op.
CREATE TABLE processor_events (
    -- Minted on arrival; the records made of this event carry it, however often they are made.
    event_id           uuid        PRIMARY KEY,
    -- NULL: no program is bound to its account.
    program_id         bigint,
    processor_event_id text        NOT NULL,
    -- As the processor calls it: charge.refunded and the like.
    kind               text        NOT NULL,
    account_id         text,
    occurred_at        timestamptz NOT NULL,
    received_at        timestamptz NOT NULL,
    -- open: on its way through the pipeline. parked: waits for its other half. done. ignored: nothing of it concerns a program.
    -- review: a person must look. stuck: could not be translated, or was given up.
    state              text        NOT NULL DEFAULT 'open'
                       CHECK (state IN ('open', 'parked', 'done', 'ignored', 'review', 'stuck')),
    -- Why it is parked, ignored, stuck or to be reviewed; why nothing came of one that is done.
    reason             text,
    -- What it is parked for, when another event can end the wait: subscription:<id>.
    waits_for          text,
    -- Its sale and what it tells of a payment are handled apart; it is done when both are.
    sale_pending       boolean     NOT NULL DEFAULT false,
    payment_pending    boolean     NOT NULL DEFAULT false,
    -- When the relay takes it up (again); pushed back each time. NULL: not by itself.
    relay_after        timestamptz DEFAULT now() + interval '5 seconds',
    relays             smallint    NOT NULL DEFAULT 0,
    -- The event as it came; it holds personal data, and goes when the event is done or ignored.
    payload            text,
    UNIQUE NULLS NOT DISTINCT (processor_event_id, program_id),
    CONSTRAINT unfinished_has_payload CHECK (state IN ('done', 'ignored') OR payload IS NOT NULL)
);
-- The relay's queue.
CREATE INDEX processor_events_relay ON processor_events (relay_after) WHERE state IN ('open', 'parked') AND relay_after IS NOT NULL;
CREATE INDEX processor_events_waits_for ON processor_events (program_id, waits_for) WHERE waits_for IS NOT NULL;
-- What is forgotten after a while.
CREATE INDEX processor_events_finished ON processor_events (received_at) WHERE state IN ('done', 'ignored');
-- For the operator's list.
CREATE INDEX processor_events_unfinished ON processor_events (received_at) WHERE state IN ('open', 'parked', 'review', 'stuck');

-- Which ids of the processor (session, payment intent, invoice, charge) are names of one payment. The payment is called
-- after the least of its ids, so that it has the same name in whatever order the ids were told.
CREATE TABLE processor_refs (
    program_id bigint NOT NULL,
    reference  text   NOT NULL,
    payment    text   NOT NULL,
    PRIMARY KEY (program_id, reference)
);
CREATE INDEX processor_refs_payment ON processor_refs (program_id, payment);

-- What the processor took back, event by event, whether its sale is known or not.
CREATE TABLE processor_reversals (
    event_id     uuid        PRIMARY KEY,
    program_id   bigint      NOT NULL,
    -- One of its payment's ids.
    reference    text        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('refund', 'dispute')),
    -- The charge whose refunds are told as a running total, or the dispute.
    source       text        NOT NULL,
    -- refund: all that was refunded of the charge so far. dispute: what was withdrawn for it.
    amount_cents bigint      NOT NULL CHECK (amount_cents > 0),
    currency     text        NOT NULL,
    occurred_at  timestamptz NOT NULL,
    -- The sale it was counted on; NULL: waits for one.
    sale_id      bigint
);
CREATE INDEX processor_reversals_reference ON processor_reversals (program_id, reference);
-- For `ctl verify`, and for a sale that is undone.
CREATE INDEX processor_reversals_sale ON processor_reversals (sale_id) WHERE sale_id IS NOT NULL;

-- Subscriptions that were ended at the processor, perhaps before their first sale is known: what is paid for a later period
-- earns nothing.
CREATE TABLE subscription_ends (
    program_id      bigint      NOT NULL,
    subscription_id text        NOT NULL,
    ended_at        timestamptz NOT NULL,
    PRIMARY KEY (program_id, subscription_id)
);

ALTER TABLE sale_events
    -- The same payment, recorded under two ids before anybody could know: this sale was undone, that one stands.
    ADD COLUMN duplicate_of bigint;
CREATE INDEX sale_events_duplicates ON sale_events (duplicate_of) INCLUDE (id) WHERE duplicate_of IS NOT NULL;

ALTER TABLE processor_connections
    -- When the processor last told the account's state: an older tale changes nothing.
    ADD COLUMN account_told_at timestamptz;

-- The sums again, from the rows they count: a sale that was undone counts no more.
CREATE OR REPLACE VIEW recomputed_sums AS
SELECT program_id, referral_link_id, (click_timestamp AT TIME ZONE 'UTC')::date AS day, '' AS currency,
       count(*) AS clicks, 0::bigint AS leads, 0::bigint AS conversions, 0::bigint AS partners, 0::bigint AS sales,
       0::bigint AS revenue_cents, 0::bigint AS commission_cents
FROM click_events WHERE counted AND NOT is_test GROUP BY 1, 2, 3
UNION ALL
SELECT program_id, referral_link_id, day, '', clicks, 0, 0, 0, 0, 0, 0 FROM retired_clicks
UNION ALL
SELECT program_id, coalesce(signup_link_id, 0), (signup_date AT TIME ZONE 'UTC')::date, '', 0, count(*), 0, 0, 0, 0, 0
FROM customers WHERE signup_date IS NOT NULL GROUP BY 1, 2, 3
UNION ALL
SELECT program_id, coalesce(first_purchase_link_id, 0), (first_purchase_date AT TIME ZONE 'UTC')::date, '', 0, 0, count(*),
       0, 0, 0, 0
FROM customers WHERE first_purchase_date IS NOT NULL GROUP BY 1, 2, 3
UNION ALL
SELECT program_id, 0, (created_at AT TIME ZONE 'UTC')::date, '', 0, 0, 0, count(*), 0, 0, 0
FROM partner_programs GROUP BY 1, 3
UNION ALL
SELECT program_id, coalesce(referral_link_id, 0), (sale_date AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, count(*),
       sum(amount_cents), 0
FROM sale_events WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT program_id, referral_link_id, (created_at AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, 0, 0,
       sum(amount_cents)
FROM commissions c
WHERE NOT is_test AND NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = c.sale_id AND s.duplicate_of IS NOT NULL)
GROUP BY 1, 2, 3, 4;
