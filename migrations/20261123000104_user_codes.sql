-- What a command line waits with collects its token; what its user compares in a browser confirms it, and is another code. Of logins that
-- began before the upgrade there is none: they are begun again.
ALTER TABLE cli_logins
    ADD COLUMN user_code_hash bytea UNIQUE CHECK (octet_length(user_code_hash) = 32),
    -- Where it was begun, for who is asked to confirm it.
    ADD COLUMN address        text,
    ADD COLUMN user_agent     text;
