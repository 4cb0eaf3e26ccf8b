-- What makes the pipeline exact: parked work, remembered refusals, the outbox, dead letters.

-- A refund whose sale is claimed but not yet recorded. The sale's own transaction applies it.
CREATE TABLE parked_refunds (
    event_id       uuid PRIMARY KEY,
    program_id     bigint      NOT NULL,
    transaction_id text        NOT NULL,
    reply_to       text,
    payload        text        NOT NULL,
    parked_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX parked_refunds_transaction_id ON parked_refunds (transaction_id);

-- A lead or refund that was refused stays refused when its message is delivered again: the caller has
-- been told. Rows are dropped once the stream no longer holds messages of their age.
CREATE TABLE refused_events (
    event_id   uuid PRIMARY KEY,
    outcome    text        NOT NULL,
    refused_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX refused_events_refused_at ON refused_events (refused_at);

-- Messages that must follow a commit. The relay publishes them and then deletes them.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    noun       text        NOT NULL,
    payload    text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE notifications (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id   uuid        NOT NULL,
    program_id bigint      NOT NULL,
    recipient  text        NOT NULL CHECK (recipient IN ('partner', 'advertiser')),
    -- NULL for the advertiser.
    partner_id bigint,
    kind       text        NOT NULL,
    message    text        NOT NULL,
    details    jsonb       NOT NULL,
    read_at    timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (event_id),
    CONSTRAINT partner_recipient_has_partner CHECK ((recipient = 'partner') = (partner_id IS NOT NULL))
);
CREATE INDEX notifications_partner ON notifications (partner_id, id) WHERE partner_id IS NOT NULL;
CREATE INDEX notifications_program ON notifications (program_id, id);

-- Records that no retry will fix, with everything needed to look at them and to replay them.
CREATE TABLE dead_letters (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subject     text        NOT NULL,
    event_id    uuid,
    payload     bytea       NOT NULL,
    reason      text        NOT NULL,
    deliveries  integer     NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    replayed_at timestamptz
);
-- One record is one dead letter, however often its message is delivered again.
CREATE UNIQUE INDEX dead_letters_event ON dead_letters (subject, event_id) WHERE replayed_at IS NULL;
