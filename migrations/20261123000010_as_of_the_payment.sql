-- A payment is judged as of its own time, whenever its event arrives.

ALTER TABLE customers
    -- The clicks of the journey that are not their link's latest; those are in touched_link_ids and touched_at. NULL: none.
    ADD COLUMN earlier_link_ids   bigint[],
    ADD COLUMN earlier_at         timestamptz[],
    -- The latest sale by its own time: a click from before it changes whom that sale credits. NULL: not known.
    ADD COLUMN last_purchase_date timestamptz;

ALTER TABLE sale_events
    -- The model that credited it; a later change of the program's does not reach back. NULL: recorded before this column.
    ADD COLUMN attribution_model text CHECK (attribution_model IN ('last_click', 'first_click', 'linear'));

ALTER TABLE commissions
    -- The sale was credited again, because an earlier click or payment became known after it: this commission is taken back,
    -- and what is due instead is another row, or nothing.
    ADD COLUMN superseded_at timestamptz;

-- Subscriptions that began without a payment: a trial, or a full discount. Renewals follow whom the customer was credited to then.
CREATE TABLE subscription_starts (
    program_id      bigint      NOT NULL,
    subscription_id text        NOT NULL,
    started_at      timestamptz NOT NULL,
    PRIMARY KEY (program_id, subscription_id)
);
