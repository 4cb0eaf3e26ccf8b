-- What an advertiser writes down about a partner in a program; partners never see it.
SET LOCAL lock_timeout = '100ms';

CREATE TABLE partner_notes (
    partner_program_id bigint PRIMARY KEY REFERENCES partner_programs (id) ON DELETE CASCADE,
    -- Personal: it goes with the partner's record.
    partner_id         bigint      NOT NULL REFERENCES partners (id) ON DELETE CASCADE,
    text               text        NOT NULL CHECK (text <> ''),
    updated_at         timestamptz NOT NULL
);
CREATE INDEX partner_notes_partner ON partner_notes (partner_id);
