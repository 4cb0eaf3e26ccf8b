-- What happened: customers and the click and lead events around them.
-- Event rows carry no foreign keys: key-share locks on a hot link or partner would cost more than the
-- insert. `ctl verify` watches what a foreign key would have watched.
-- Whether an event `converted` is not stored with it: it is the status of its customer.

-- Ingest leases blocks of customer ids, so that a click is answered without a round trip.
-- One number is one block; the block's size is a constant of common::storage::customer_ids.
CREATE SEQUENCE customer_id_blocks;

CREATE TABLE customers (
    -- Sequence number from a leased block; click_id shows a keyed permutation of it.
    id                     bigint PRIMARY KEY,
    program_id             bigint        NOT NULL,
    click_id               text          NOT NULL,
    -- The advertiser's own user id. Once bound it is never rebound.
    customer_key           text,
    -- Claimed by an unauthenticated lead where the program demands confirmation by its backend.
    proposed_customer_key  text,
    -- Keyed hash of the trimmed, lower-cased address, with the version of the key: `v1:<hex>`.
    email_hash             text,
    status                 text          NOT NULL DEFAULT 'click'
                           CHECK (status IN ('click', 'lead', 'conversion')),
    -- The anchor of the attribution window: the earliest click, whatever partner it came through.
    first_click_at         timestamptz   NOT NULL,
    first_referral_link_id bigint        NOT NULL,
    -- Distinct links, each with its latest click, in order of that click: the last one is the last click.
    touched_link_ids       bigint[]      NOT NULL,
    touched_at             timestamptz[] NOT NULL,
    signup_date            timestamptz,
    first_purchase_date    timestamptz,
    created_at             timestamptz   NOT NULL DEFAULT now(),
    CONSTRAINT one_time_per_touch CHECK (cardinality(touched_link_ids) = cardinality(touched_at)
                                         AND cardinality(touched_at) >= 1)
) WITH (fillfactor = 90);
-- Key first: a browser-mode lead knows no program and asks by key alone.
CREATE UNIQUE INDEX customers_customer_key ON customers (customer_key, program_id)
    WHERE customer_key IS NOT NULL;
CREATE INDEX customers_proposed_customer_key ON customers (proposed_customer_key, program_id)
    WHERE proposed_customer_key IS NOT NULL;

CREATE SEQUENCE click_events_id;
CREATE TABLE click_events (
    id                 bigint      NOT NULL DEFAULT nextval('click_events_id'),
    -- Minted at the edge. Unique with its time, so that a redelivered click changes nothing.
    event_id           uuid        NOT NULL,
    program_id         bigint      NOT NULL,
    referral_link_id   bigint      NOT NULL,
    customer_id        bigint      NOT NULL,
    click_timestamp    timestamptz NOT NULL,
    click_id           text        NOT NULL,
    -- The click_id the visitor held before and that this click did not reuse; kept for audit.
    previous_click_id  text,
    session_id         text,
    page_url           text,
    page_title         text,
    referrer_url       text,
    user_agent         text,
    screen_resolution  text,
    viewport_size      text,
    language           text,
    timezone           text,
    geo_country        text,
    geo_region         text,
    geo_city           text,
    device_type        text,
    device_os          text,
    browser_name       text,
    is_test            boolean     NOT NULL DEFAULT false,
    created_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, click_timestamp)
) PARTITION BY RANGE (click_timestamp);

CREATE SEQUENCE lead_events_id;
CREATE TABLE lead_events (
    id             bigint      NOT NULL DEFAULT nextval('lead_events_id'),
    event_id       uuid        NOT NULL,
    program_id     bigint      NOT NULL,
    customer_id    bigint      NOT NULL,
    lead_timestamp timestamptz NOT NULL,
    click_id       text        NOT NULL,
    customer_key   text,
    event_name     text,
    session_id     text,
    page_url       text,
    provisional    boolean     NOT NULL DEFAULT false,
    is_test        boolean     NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, lead_timestamp)
) PARTITION BY RANGE (lead_timestamp);

-- An event whose clock is far off is kept, not refused.
CREATE TABLE click_events_other PARTITION OF click_events DEFAULT;
CREATE TABLE lead_events_other PARTITION OF lead_events DEFAULT;

-- Months are UTC calendar months. Called by the worker ahead of time; repeating it is harmless.
CREATE FUNCTION ensure_event_partitions(first_day date, months integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    start_of_month date;
    parent         text;
    partition_name text;
BEGIN
    -- Two workers starting together must not create the same partition.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    FOR offset_months IN 0 .. months - 1 LOOP
        start_of_month := (date_trunc('month', first_day) + make_interval(months => offset_months))::date;
        FOREACH parent IN ARRAY ARRAY ['click_events', 'lead_events'] LOOP
            partition_name := parent || to_char(start_of_month, '"_y"YYYY"m"MM');
            IF to_regclass(partition_name) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                    partition_name, parent,
                    start_of_month::timestamp AT TIME ZONE 'UTC',
                    (start_of_month + interval '1 month')::timestamp AT TIME ZONE 'UTC');
            END IF;
        END LOOP;
    END LOOP;
END $$;

SELECT ensure_event_partitions((now() AT TIME ZONE 'UTC')::date, 3);
