-- What the dashboard reads instead of counting events.
--
-- Every batch that writes events appends what they add up to, one row a program, link, day and currency, in its own
-- transaction: nothing is updated, so no row is hot, and the sums are as exact as the events. The worker folds these deltas
-- into the days they belong to, each delta once; a reader adds the days and the deltas that are left, in one statement.

CREATE TABLE rollup_deltas (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id       bigint NOT NULL,
    -- The link that is credited; 0 for what is no link's.
    referral_link_id bigint NOT NULL DEFAULT 0,
    -- UTC.
    day              date   NOT NULL,
    -- Of the amounts; empty for rows that only count.
    currency         text   NOT NULL DEFAULT '',
    clicks           bigint NOT NULL DEFAULT 0,
    leads            bigint NOT NULL DEFAULT 0,
    conversions      bigint NOT NULL DEFAULT 0,
    partners         bigint NOT NULL DEFAULT 0,
    sales            bigint NOT NULL DEFAULT 0,
    revenue_cents    bigint NOT NULL DEFAULT 0,
    commission_cents bigint NOT NULL DEFAULT 0
);
CREATE INDEX rollup_deltas_program ON rollup_deltas (program_id, day);

-- A program's day: the sum over its links.
CREATE TABLE program_days (
    program_id       bigint NOT NULL,
    day              date   NOT NULL,
    currency         text   NOT NULL,
    clicks           bigint NOT NULL,
    leads            bigint NOT NULL,
    conversions      bigint NOT NULL,
    partners         bigint NOT NULL,
    sales            bigint NOT NULL,
    revenue_cents    bigint NOT NULL,
    commission_cents bigint NOT NULL,
    PRIMARY KEY (program_id, day, currency)
) WITH (fillfactor = 70);

-- A link's day. A partner's is the sum over the links of their membership.
CREATE TABLE link_days (
    referral_link_id bigint NOT NULL,
    day              date   NOT NULL,
    currency         text   NOT NULL,
    program_id       bigint NOT NULL,
    clicks           bigint NOT NULL,
    leads            bigint NOT NULL,
    conversions      bigint NOT NULL,
    sales            bigint NOT NULL,
    revenue_cents    bigint NOT NULL,
    commission_cents bigint NOT NULL,
    PRIMARY KEY (referral_link_id, day, currency)
) WITH (fillfactor = 70);
CREATE INDEX link_days_program ON link_days (program_id, day);
