-- How e-mails to partners about a program look, and where answers go.
SET LOCAL lock_timeout = '100ms';

ALTER TABLE programs
    -- https only.
    ADD COLUMN logo_url       text,
    ADD COLUMN reply_to_email text;
