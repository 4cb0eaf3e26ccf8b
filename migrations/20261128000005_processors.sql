-- What a program's payment processor reports: its account, its events, which ids belong to one payment, and
-- what was taken back.

-- The payment processor's account of a program.
CREATE TABLE processor_connections (
    program_id                     bigint      PRIMARY KEY REFERENCES programs (id),
    account_id                     text        NOT NULL,
    status                         text        NOT NULL DEFAULT 'pending'
                                   CHECK (status IN ('pending', 'connected', 'disconnected')),
    charges_enabled                boolean     NOT NULL DEFAULT false,
    payouts_enabled                boolean     NOT NULL DEFAULT false,
    details_submitted              boolean     NOT NULL DEFAULT false,
    connected_at                   timestamptz,
    -- When an operator confirmed that this account is the program's; another account must be confirmed again.
    confirmed_at                   timestamptz,
    -- When the processor last reported the account's state: an older report changes nothing.
    account_told_at                timestamptz,
    webhook_endpoint_id            text,
    -- The previous secret is accepted until it expires.
    webhook_secret_sealed          bytea,
    previous_webhook_secret_sealed bytea,
    previous_webhook_secret_until  timestamptz,
    updated_at                     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT previous_secret_is_whole
        CHECK ((previous_webhook_secret_sealed IS NULL) = (previous_webhook_secret_until IS NULL))
);
-- For a platform's webhooks, which name the account they are about.
CREATE INDEX processor_connections_account ON processor_connections (account_id);

-- The programs that receive the platform's events of an account.
CREATE VIEW receiving_connections AS
SELECT c.account_id, c.program_id, p.archived_at IS NOT NULL AS archived
FROM processor_connections c JOIN programs p ON p.id = c.program_id
WHERE c.status = 'connected' AND c.confirmed_at IS NOT NULL;

-- The inbox. An event is stored here before its sender gets an answer, and by its id each later copy changes
-- nothing.
CREATE TABLE processor_events (
    -- Generated on arrival; the records made from this event carry it, however often they are made.
    event_id           uuid        PRIMARY KEY,
    -- NULL: no program is connected to its account.
    program_id         bigint,
    processor_event_id text        NOT NULL,
    -- The processor's name of its type: charge.refunded and the like.
    kind               text        NOT NULL,
    account_id         text,
    -- It came by the platform's endpoint, and not by its program's own.
    by_platform        boolean     NOT NULL DEFAULT false,
    occurred_at        timestamptz NOT NULL,
    received_at        timestamptz NOT NULL,
    -- open: in the pipeline. parked: waits for its other half. done. ignored: nothing in it concerns a
    -- program. review: an operator must look. stuck: could not be translated, or was given up.
    state              text        NOT NULL DEFAULT 'open'
                       CHECK (state IN ('open', 'parked', 'done', 'ignored', 'review', 'stuck')),
    -- Why it is parked, ignored, stuck or to be reviewed; why one that is done had no effect.
    reason             text,
    -- Where another event can end the wait: subscription:<id>.
    waits_for          text,
    -- Its sale and the facts about its payment are settled apart; it is done when both are.
    sale_pending       boolean     NOT NULL DEFAULT false,
    payment_pending    boolean     NOT NULL DEFAULT false,
    -- When the relay handles it (again); moved ahead each time. NULL: not by itself.
    relay_after        timestamptz DEFAULT now() + interval '5 seconds',
    relays             smallint    NOT NULL DEFAULT 0,
    -- When the program's members were notified that it waits for a person.
    noticed_at         timestamptz,
    -- The event as it came. It holds personal data, and is deleted when the event is done or ignored.
    payload            text,
    UNIQUE NULLS NOT DISTINCT (processor_event_id, program_id),
    CONSTRAINT unfinished_has_payload CHECK (state IN ('done', 'ignored') OR payload IS NOT NULL)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_freeze_min_age = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
-- The relay's queue.
CREATE INDEX processor_events_relay ON processor_events (relay_after)
    WHERE state IN ('open', 'parked') AND relay_after IS NOT NULL;
CREATE INDEX processor_events_waits_for ON processor_events (program_id, waits_for) WHERE waits_for IS NOT NULL;
-- For retention, which deletes finished events.
CREATE INDEX processor_events_finished ON processor_events (received_at) WHERE state IN ('done', 'ignored');
-- For the operator's list.
CREATE INDEX processor_events_unfinished ON processor_events (received_at)
    WHERE state IN ('open', 'parked', 'review', 'stuck');
-- For notices to the program's members.
CREATE INDEX processor_events_not_noticed ON processor_events (program_id, received_at)
    WHERE state IN ('review', 'stuck') AND noticed_at IS NULL;
-- For the types of events that a program's processor sends: one lookup each.
CREATE INDEX processor_events_kinds ON processor_events (program_id, kind);

-- Which ids of the processor (session, payment intent, invoice, charge) name one payment. The payment is
-- named after the least of its ids, so that it has the same name in whatever order they arrive.
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
    -- The charge whose refunds are reported as a running total, or the dispute.
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

-- The customer behind a payment processor's customer: as an event named them, or as bound by hand.
CREATE TABLE processor_customers (
    program_id            bigint      NOT NULL,
    processor_customer_id text        NOT NULL,
    customer_key          text,
    click_id              text,
    bound_at              timestamptz NOT NULL DEFAULT now(),
    -- An event named another customer of the program, which changed nothing.
    contested_at          timestamptz,
    PRIMARY KEY (program_id, processor_customer_id),
    CHECK (num_nonnulls(customer_key, click_id) > 0)
);
-- For erasures.
CREATE INDEX processor_customers_by_key ON processor_customers (program_id, customer_key)
    WHERE customer_key IS NOT NULL;
CREATE INDEX processor_customers_by_click ON processor_customers (program_id, click_id) WHERE click_id IS NOT NULL;
