-- What happened: customers, their clicks, leads and sales, and the claims of sales. Event rows carry no
-- foreign keys: key-share locks on a link or partner with much traffic would cost more than the insert. `ctl
-- verify` checks what a foreign key would have checked. Whether an event `converted` is not stored with it:
-- it is the status of its customer.
--
-- Lock order everywhere: transaction_claims, processor_refs, customers, sale_events, commissions,
-- partner_program_balances, partner_balances, processor_events; within a table by ascending key.
--
-- Large tables are vacuumed by the number of rows, not by their share: a fifth of 10^8 claims, each of which
-- leaves a dead row with its whole message, would be 16 GB. Rows that never change again are frozen by their
-- first vacuum, so that no pass over years of them is needed before transaction ids run out. They are
-- analysed after a fiftieth of the table has changed: with a fixed number, a table that has not reached it
-- counts as empty.

-- Ingest leases blocks of customer ids, so that a click is answered without a round trip. One number is one
-- block; the block's size is a constant of storage::tracking::customer_ids.
CREATE SEQUENCE customer_id_blocks;

-- The timeline of this database, which a restore, a promotion or a copy begins: <system identifier>/<oid of
-- the database>/<timeline>. Unlike the log, pg_control_checkpoint() names the old one until the first
-- checkpoint after a promotion.
CREATE FUNCTION current_timeline() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT concat_ws('/', system_identifier, d.oid, left(pg_walfile_name(pg_current_wal_lsn()), 8))
    FROM pg_control_system(), pg_database d WHERE d.datname = current_database()
$$;

-- Timelines on which customer ids were leased. On any other, blocks may be in use that the sequence does not
-- know: storage::tracking::customer_ids moves it far ahead first.
CREATE TABLE customer_id_timelines (
    timeline text        PRIMARY KEY,
    since    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE customers (
    -- From a leased block; click_id shows a keyed permutation of it.
    id                     bigint        PRIMARY KEY,
    program_id             bigint        NOT NULL,
    click_id               text          NOT NULL,
    -- The advertiser's own user id.
    customer_key           text,
    -- Sent by a lead without a credential, where the program requires its backend to confirm it.
    proposed_customer_key  text,
    -- Keyed hash of the trimmed, lower-cased address, with the version of the key: `v1:<hex>`.
    email_hash             text,
    status                 text          NOT NULL DEFAULT 'click'
                           CHECK (status IN ('click', 'lead', 'conversion')),
    -- A browser bound the key, and no authenticated call has. Such a call may still bind it to another
    -- customer.
    key_from_browser       boolean       NOT NULL DEFAULT false,
    -- Two customers were named with one key. Shown with their commissions.
    key_contested          boolean       NOT NULL DEFAULT false,
    -- The customer's lead was one of many of one link or address within an hour, without a credential. Shown
    -- with their commissions.
    many_leads             boolean       NOT NULL DEFAULT false,
    -- The start of the attribution window: the earliest click, on any partner's link.
    first_click_at         timestamptz   NOT NULL,
    first_referral_link_id bigint        NOT NULL,
    -- Distinct links, each with its latest click, in order of that click: the last one is the last click.
    touched_link_ids       bigint[]      NOT NULL,
    touched_at             timestamptz[] NOT NULL,
    -- The other clicks of the journey. NULL: none.
    earlier_link_ids       bigint[],
    earlier_at             timestamptz[],
    signup_date            timestamptz,
    first_purchase_date    timestamptz,
    -- The latest sale by its own time: a click from before it changes whom that sale credits.
    last_purchase_date     timestamptz,
    -- The link under which each of these was counted; NULL: none. A later click changes the attribution, not
    -- what was counted.
    signup_link_id         bigint,
    first_purchase_link_id bigint,
    -- When personal data was erased: the row stays, because the books refer to it, and identifies nobody.
    erased_at              timestamptz,
    created_at             timestamptz   NOT NULL DEFAULT now(),
    CONSTRAINT one_time_per_touch CHECK (cardinality(touched_link_ids) = cardinality(touched_at)
                                         AND cardinality(touched_at) >= 1),
    CONSTRAINT erased_is_nobody CHECK (
        erased_at IS NULL OR num_nonnulls(customer_key, proposed_customer_key, email_hash) = 0)
) WITH (
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_freeze_min_age = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
-- Key first: a lead from a browser does not know its program, and looks for the key alone.
CREATE UNIQUE INDEX customers_customer_key ON customers (customer_key, program_id) WHERE customer_key IS NOT NULL;
CREATE INDEX customers_proposed_customer_key ON customers (proposed_customer_key, program_id)
    WHERE proposed_customer_key IS NOT NULL;
-- For exports and erasures, which may name a customer by their address.
CREATE INDEX customers_email_hash ON customers (email_hash) WHERE email_hash IS NOT NULL;
-- For the list of those who signed up or paid, the latest first. Most customers only clicked.
CREATE INDEX customers_of_program ON customers (program_id, least(signup_date, first_purchase_date), id)
    WHERE status <> 'click';

-- Texts that the clicks of many visitors bring (user agents, page titles): they are nobody's, and never
-- deleted.
CREATE TABLE shared_texts (
    -- The beginning of its SHA-256, which is the same in every database: an id that a process cached before a
    -- restore means the same text after it.
    id   bigint PRIMARY KEY,
    text text   NOT NULL
);

-- Test events are rows of the event tables with is_test set and without a customer: nothing that counts, pays
-- or attributes reads them.
CREATE SEQUENCE click_events_id;
CREATE TABLE click_events (
    id                 bigint      NOT NULL DEFAULT nextval('click_events_id'),
    -- Generated at the edge. Unique with its time, so that a redelivered click changes nothing.
    event_id           uuid        NOT NULL,
    program_id         bigint      NOT NULL,
    referral_link_id   bigint,
    customer_id        bigint,
    click_timestamp    timestamptz NOT NULL,
    click_id           text,
    -- The click_id that the visitor had before, where this click did not reuse it.
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
    -- By its user agent, a crawler or a service that shows a preview of the link.
    is_bot             boolean     NOT NULL DEFAULT false,
    -- False: counters and attribution did not change. Stored, because the program's setting may change later,
    -- while the counters keep what was true at the time.
    counted            boolean     NOT NULL DEFAULT true,
    created_at         timestamptz NOT NULL DEFAULT now(),
    -- Of shared_texts, instead of user_agent and page_title.
    user_agent_id      bigint,
    page_title_id      bigint,
    PRIMARY KEY (event_id, click_timestamp),
    CONSTRAINT real_click_is_whole CHECK (is_test OR num_nulls(referral_link_id, customer_id, click_id) = 0),
    CONSTRAINT only_bots_do_not_count CHECK (counted OR is_bot)
) PARTITION BY RANGE (click_timestamp);
-- For a program's latest clicks, their number since yesterday, and a customer's clicks by their times.
CREATE INDEX click_events_real ON click_events (program_id, click_timestamp DESC) WHERE NOT is_test;
-- For the check of an installation, which reads a program's latest test events.
CREATE INDEX click_events_test ON click_events (program_id, click_timestamp DESC) WHERE is_test;
-- For the clicks of a link, newest first.
CREATE INDEX click_events_link ON click_events (referral_link_id, click_timestamp DESC) WHERE counted AND NOT is_test;
-- For exports and erasures: the clicks whose times the customer's row does not have. A browser had this
-- click_id and was taken for a new customer; few clicks have one.
CREATE INDEX click_events_held ON click_events (previous_click_id) WHERE previous_click_id IS NOT NULL;
-- The same, for clicks of bots that their program excludes.
CREATE INDEX click_events_uncounted ON click_events (customer_id) WHERE NOT counted;

CREATE SEQUENCE lead_events_id;
CREATE TABLE lead_events (
    id             bigint      NOT NULL DEFAULT nextval('lead_events_id'),
    event_id       uuid        NOT NULL,
    program_id     bigint      NOT NULL,
    customer_id    bigint,
    lead_timestamp timestamptz NOT NULL,
    click_id       text,
    customer_key   text,
    event_name     text,
    session_id     text,
    page_url       text,
    provisional    boolean     NOT NULL DEFAULT false,
    is_test        boolean     NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, lead_timestamp),
    CONSTRAINT real_lead_is_whole CHECK (is_test OR num_nulls(customer_id, click_id) = 0)
) PARTITION BY RANGE (lead_timestamp);
-- As the same indexes of click_events.
CREATE INDEX lead_events_real ON lead_events (program_id, lead_timestamp DESC) WHERE NOT is_test;
CREATE INDEX lead_events_test ON lead_events (program_id, lead_timestamp DESC) WHERE is_test;
-- For exports and erasures. A customer may have many provisional leads, and others under their key.
CREATE INDEX lead_events_customer ON lead_events (customer_id);
CREATE INDEX lead_events_customer_key ON lead_events (customer_key) WHERE customer_key IS NOT NULL;

-- An event whose clock is far off is kept, not refused.
CREATE TABLE click_events_other PARTITION OF click_events DEFAULT WITH (
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
    autovacuum_freeze_min_age = 0);
CREATE TABLE lead_events_other PARTITION OF lead_events DEFAULT WITH (
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
    autovacuum_freeze_min_age = 0);

-- Makes a table and attaches it, which locks writers out of the default partition alone, and for half a
-- second at most. `CREATE TABLE … PARTITION OF` would lock the whole event table, and all clicks would wait
-- with it.
CREATE FUNCTION attach_event_partition(parent text, partition_name text, first_day date, next_day date) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
BEGIN
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN;
    END IF;
    -- Vacuumed by the number of rows, and frozen at once: they do not change again.
    EXECUTE format(
        'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH (
             autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
             autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
             autovacuum_freeze_min_age = 0)',
        partition_name, parent);
    EXECUTE format(
        'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, partition_name, first_day::timestamp AT TIME ZONE 'UTC', next_day::timestamp AT TIME ZONE 'UTC');
END $$;

-- The partitions of click and lead events, and the days they are for. The default partitions are for no days.
CREATE VIEW event_partitions AS
SELECT parent, name, first_day,
       CASE WHEN name ~ 'd[0-9]{2}$' THEN first_day + 1 ELSE (first_day + interval '1 month')::date END AS next_day
FROM (SELECT p.relname::text AS parent, c.relname::text AS name,
             to_date(substring(c.relname FROM '_y(.*)$'), 'YYYY"m"MM"d"DD') AS first_day
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
      WHERE p.oid IN ('click_events'::regclass, 'lead_events'::regclass)
        AND c.relname ~ '_y[0-9]{4}m[0-9]{2}(d[0-9]{2})?$') AS named;

-- The functions below run with the owner's rights: services make partitions ahead of time and drop old ones
-- without owning the tables.

-- Makes sure that the partitions of UTC calendar months exist: one for each, or its days where some exist
-- already.
CREATE FUNCTION ensure_event_partitions(first_day date, months integer) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    month       date;
    day         date;
    parent_name text;
BEGIN
    -- Two workers that start together must not create the same partition.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    FOR offset_months IN 0 .. months - 1 LOOP
        month := (date_trunc('month', first_day) + make_interval(months => offset_months))::date;
        FOREACH parent_name IN ARRAY ARRAY ['click_events', 'lead_events'] LOOP
            IF EXISTS (SELECT FROM event_partitions p
                       WHERE p.parent = parent_name AND p.first_day >= month
                         AND p.next_day <= month + interval '1 month' AND p.next_day = p.first_day + 1) THEN
                FOR day IN SELECT month + n
                           FROM generate_series(0, (month + interval '1 month')::date - month - 1) AS n LOOP
                    PERFORM attach_event_partition(
                        parent_name, parent_name || to_char(day, '"_y"YYYY"m"MM"d"DD'), day, day + 1);
                END LOOP;
            ELSE
                PERFORM attach_event_partition(
                    parent_name, parent_name || to_char(month, '"_y"YYYY"m"MM'), month,
                    (month + interval '1 month')::date);
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- Makes sure that the partitions of UTC days exist, except for days of a month that has a partition of its
-- own. An empty month in the future, made before events were kept by days, is replaced by its days.
--
-- At thousands of clicks a second, a day is hundreds of gigabytes: a month would be too much to keep before
-- the first is dropped.
CREATE FUNCTION ensure_event_days(first_day date, days integer) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    day         date;
    parent_name text;
    month       record;
    is_empty    boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    FOR month IN SELECT parent, name FROM event_partitions p
                 WHERE p.first_day > ensure_event_days.first_day
                   AND p.first_day < ensure_event_days.first_day + days AND p.next_day > p.first_day + 1
    LOOP
        -- The drop takes this lock, too. Taken after the month's, it could wait for readers that wait for the
        -- month.
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', month.parent);
        EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I)', month.name) INTO is_empty;
        IF is_empty THEN
            EXECUTE format('DROP TABLE %I', month.name);
        END IF;
    END LOOP;
    FOR day IN SELECT ensure_event_days.first_day + n FROM generate_series(0, days - 1) AS n LOOP
        FOREACH parent_name IN ARRAY ARRAY ['click_events', 'lead_events'] LOOP
            IF NOT EXISTS (SELECT FROM event_partitions p
                           WHERE p.parent = parent_name AND p.first_day <= day AND day < p.next_day) THEN
                PERFORM attach_event_partition(
                    parent_name, parent_name || to_char(day, '"_y"YYYY"m"MM"d"DD'), day, day + 1);
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- Clicks whose events were dropped by retention: they stay in all counts.
CREATE TABLE retired_clicks (
    referral_link_id bigint      NOT NULL,
    -- UTC.
    day              date        NOT NULL,
    program_id       bigint      NOT NULL,
    clicks           bigint      NOT NULL,
    last_clicked     timestamptz NOT NULL,
    PRIMARY KEY (referral_link_id, day, program_id)
);
CREATE INDEX retired_clicks_program ON retired_clicks (program_id);

-- Drops the oldest event partition that ends before `horizon`, and keeps of its clicks what counters and
-- rollups need. Returns its name, or NULL if there is none.
--
-- An attacker who has taken over a service must not drop current or future days with it. Nor may a click be
-- dropped that the streams, which keep seven days, may deliver again: it would count twice.
CREATE FUNCTION retire_event_partition(horizon date) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    oldest record;
BEGIN
    IF horizon > (now() AT TIME ZONE 'UTC')::date - 8 THEN
        RAISE EXCEPTION 'events of the last 8 days are kept: % is too late a horizon', horizon;
    END IF;
    -- One worker at a time, and not while partitions are made.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    SELECT parent, name INTO oldest FROM event_partitions WHERE next_day <= horizon ORDER BY next_day, name LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- No late click may come between its sum and the drop.
    EXECUTE format('LOCK TABLE %I IN SHARE MODE', oldest.name);
    IF oldest.parent = 'click_events' THEN
        EXECUTE format(
            'INSERT INTO retired_clicks AS r
             SELECT referral_link_id, (click_timestamp AT TIME ZONE ''UTC'')::date, program_id, count(*),
                    max(click_timestamp)
             FROM %I WHERE counted AND NOT is_test GROUP BY 1, 2, 3
             ON CONFLICT (referral_link_id, day, program_id) DO UPDATE SET
                 clicks = r.clicks + excluded.clicks, last_clicked = greatest(r.last_clicked, excluded.last_clicked)',
            oldest.name);
    END IF;
    -- The drop locks the whole table for an instant, and every click waits behind it: each attempt gives up
    -- soon. The sums, which take minutes, are kept from one attempt to the next.
    FOR attempt IN 1 .. 20 LOOP
        BEGIN
            EXECUTE format('DROP TABLE %I', oldest.name);
            RETURN oldest.name;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.5);
        END;
    END LOOP;
    RAISE EXCEPTION '% is in use', oldest.name USING ERRCODE = 'lock_not_available';
END $$;

-- roles.sql grants services what they need of these.
REVOKE EXECUTE ON FUNCTION attach_event_partition(text, text, date, date) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION ensure_event_partitions(date, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION ensure_event_days(date, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION retire_event_partition(date) FROM PUBLIC;

SELECT ensure_event_partitions((now() AT TIME ZONE 'UTC')::date, 3);

-- How far the worker is in dropping visitors: customers who only clicked, and whose events are gone
-- (storage::tracking::visitor_retention). One row, which a worker locks while it looks at some customers.
CREATE TABLE visitor_retention (
    is_only_row   boolean     PRIMARY KEY DEFAULT true CHECK (is_only_row),
    -- Customers with ids up to this were looked at in this round.
    after         bigint      NOT NULL DEFAULT 0,
    -- When the next round may begin with the first customer.
    next_round_at timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO visitor_retention DEFAULT VALUES;

-- A lead or refund that was refused stays refused when its message is delivered again: the caller has had the
-- answer. Rows are deleted once the stream no longer holds messages of their age.
CREATE TABLE refused_events (
    event_id   uuid        PRIMARY KEY,
    outcome    text        NOT NULL,
    refused_at timestamptz NOT NULL DEFAULT now()
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_freeze_min_age = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
CREATE INDEX refused_events_refused_at ON refused_events (refused_at);

-- The idempotency key of a sale and, while open, its outbox: the row holds the whole message until a worker
-- has recorded or refused the sale. Not partitioned: the key is unique for ever.
CREATE TABLE transaction_claims (
    transaction_id text        PRIMARY KEY,
    program_id     bigint      NOT NULL,
    -- The record that holds the claim; a late copy of an earlier, refused attempt has another one.
    event_id       uuid        NOT NULL,
    state          text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'recorded', 'dead')),
    -- Inbox of the edge that waits for the outcome.
    reply_to       text,
    -- JSON text of the record, exactly as published. Deleted once recorded.
    payload        text,
    sale_id        bigint,
    claimed_at     timestamptz NOT NULL DEFAULT now(),
    -- When the relay may publish it (again); moved ahead each time, so that a backlog gets no copies.
    relay_after    timestamptz NOT NULL DEFAULT now() + interval '2 seconds',
    relays         smallint    NOT NULL DEFAULT 0,
    CONSTRAINT recorded_has_sale CHECK ((state = 'recorded') = (sale_id IS NOT NULL)),
    CONSTRAINT unrecorded_has_payload CHECK (state = 'recorded' OR payload IS NOT NULL)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_freeze_min_age = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
-- The relay's queue.
CREATE INDEX transaction_claims_open ON transaction_claims (relay_after) WHERE state = 'open';
-- For exports and erasures: claims that will never be finished still hold what their caller sent.
CREATE INDEX transaction_claims_dead ON transaction_claims (program_id) WHERE state = 'dead';

-- Not partitioned by month, unlike clicks and leads: sales are the books and never expire, and refunds find
-- them by id for years.
CREATE TABLE sale_events (
    id                       bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    event_id                 uuid        NOT NULL UNIQUE,
    program_id               bigint      NOT NULL,
    customer_id              bigint,
    -- The caller's transaction_id.
    processor_event_id       text        NOT NULL,
    -- Zero is a test sale for which no amount was given.
    amount_cents             bigint      NOT NULL
                             CONSTRAINT sale_events_amount_cents_check
                             CHECK (amount_cents > 0 OR (is_test AND amount_cents = 0)),
    -- The part that earns, without tax and the like. NULL: the whole amount.
    commissionable_cents     bigint,
    currency                 text        NOT NULL,
    sale_type                text        NOT NULL CHECK (sale_type IN ('payment', 'subscription')),
    payment_status           text        NOT NULL DEFAULT 'paid',
    is_recurring             boolean     NOT NULL,
    subscription_id          text,
    subscription_interval    text        CHECK (subscription_interval IN ('monthly', 'quarterly', 'annual')),
    product_id               text,
    line_items               jsonb,
    sale_date                timestamptz NOT NULL,
    -- The last link that the sale credited, also where no commission was due.
    referral_link_id         bigint,
    -- The program's settings by which it was recorded: later changes do not apply to it.
    attribution_model        text        NOT NULL DEFAULT 'last_click'
                             CHECK (attribution_model IN ('last_click', 'first_click', 'linear')),
    self_referrals           text        NOT NULL DEFAULT 'flag',
    -- Why an attributed sale has no commission.
    no_commission_reason     text,
    -- The two refund channels, kept apart: amounts sent to the API, and the processor's running total.
    -- The effective refund is the greater of the two, at most amount_cents.
    api_refunded_cents       bigint      NOT NULL DEFAULT 0,
    processor_refunded_cents bigint      NOT NULL DEFAULT 0,
    -- The same payment was recorded under two ids: this sale was undone, that one is in force.
    duplicate_of             bigint,
    is_test                  boolean     NOT NULL DEFAULT false,
    created_at               timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT real_sale_is_whole CHECK (is_test OR customer_id IS NOT NULL),
    CONSTRAINT commissionable_within_amount CHECK (commissionable_cents BETWEEN 0 AND amount_cents),
    CONSTRAINT refunds_within_sale CHECK (api_refunded_cents BETWEEN 0 AND amount_cents
                                          AND processor_refunded_cents BETWEEN 0 AND amount_cents)
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_freeze_min_age = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
-- A transaction_id is unique among real sales; test sales may use any, again and again.
CREATE UNIQUE INDEX sale_events_real_processor_event_id ON sale_events (processor_event_id) WHERE NOT is_test;
-- For a program's latest sales, and their number since yesterday.
CREATE INDEX sale_events_real ON sale_events (program_id, sale_date DESC) WHERE NOT is_test;
-- For the check of an installation, as click_events_test.
CREATE INDEX sale_events_test ON sale_events (program_id, sale_date DESC) WHERE is_test;
-- For exports, erasures and `ctl verify`, which compares a customer with its sales.
CREATE INDEX sale_events_customer ON sale_events (customer_id);
CREATE INDEX sale_events_duplicates ON sale_events (duplicate_of) INCLUDE (id) WHERE duplicate_of IS NOT NULL;

-- A subscription keeps the partner of its first payment, and its first payment starts the time of a recurring
-- commission.
CREATE TABLE subscriptions (
    program_id        bigint      NOT NULL,
    subscription_id   text        NOT NULL,
    customer_id       bigint      NOT NULL,
    first_sale_id     bigint      NOT NULL,
    first_payment_at  timestamptz NOT NULL,
    -- Renewals are judged by the click that led to the first payment.
    first_click_at    timestamptz NOT NULL,
    -- The links credited with the first payment, in the attribution model's order.
    credited_link_ids bigint[]    NOT NULL,
    PRIMARY KEY (program_id, subscription_id)
);

-- Subscriptions that began without a payment: a trial, or a full discount. Renewals credit the partner of
-- that time.
CREATE TABLE subscription_starts (
    program_id      bigint      NOT NULL,
    subscription_id text        NOT NULL,
    started_at      timestamptz NOT NULL,
    PRIMARY KEY (program_id, subscription_id)
);

-- Subscriptions that ended at the processor, perhaps before their first sale is known: payments for a later
-- period earn nothing.
CREATE TABLE subscription_ends (
    program_id      bigint      NOT NULL,
    subscription_id text        NOT NULL,
    ended_at        timestamptz NOT NULL,
    PRIMARY KEY (program_id, subscription_id)
);
