-- What a click's user agent shows beyond device and browser: whether it was a person at all.

-- Off by default: every recorded click counts unless the advertiser wants it otherwise.
ALTER TABLE programs ADD COLUMN exclude_bots boolean NOT NULL DEFAULT false;

ALTER TABLE click_events
    -- A crawler, or a service that shows a preview of the link.
    ADD COLUMN is_bot  boolean NOT NULL DEFAULT false,
    -- False: counters and attribution did not move. Stored, because the program's setting may change later while
    -- the counters keep what was true then.
    ADD COLUMN counted boolean NOT NULL DEFAULT true,
    ADD CONSTRAINT only_bots_do_not_count CHECK (counted OR is_bot);
