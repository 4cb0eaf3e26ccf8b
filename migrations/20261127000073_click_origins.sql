-- Clicks by country, device and referrer, by UTC day: what a dashboard asks, and what years of raw clicks cannot answer in time.
-- Filled from here on: workers of the release before count none of it.
SET LOCAL lock_timeout = '2s';

CREATE TABLE click_origin_deltas (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id bigint NOT NULL,
    -- UTC.
    day        date   NOT NULL,
    -- country, device or referrer.
    origin     text   NOT NULL,
    -- Empty: none is known.
    value      text   NOT NULL,
    clicks     bigint NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
CREATE INDEX click_origin_deltas_program ON click_origin_deltas (program_id, origin, day);

-- So many values of a day and kind (storage::click_origins), and the rest as one.
CREATE TABLE click_origin_days (
    program_id bigint NOT NULL,
    origin     text   NOT NULL,
    day        date   NOT NULL,
    value      text   NOT NULL,
    clicks     bigint NOT NULL,
    PRIMARY KEY (program_id, origin, day, value)
) WITH (fillfactor = 70);
