-- Which program a partner is invited to, and invitations that were taken back or replaced before anybody accepted them.

ALTER TABLE invitations
    ADD COLUMN program_id   bigint REFERENCES programs (id),
    ADD COLUMN withdrawn_at timestamptz,
    -- A partner comes through a program, a member into the workspace.
    ADD CONSTRAINT partners_come_through_a_program CHECK ((partner_id IS NULL) = (program_id IS NULL)),
    ADD CONSTRAINT one_end CHECK (num_nonnulls(accepted_at, withdrawn_at) <= 1);
-- For ending the one before.
CREATE INDEX invitations_partner ON invitations (partner_id, program_id) WHERE partner_id IS NOT NULL;

-- For lists, newest first: a program's partners, its links.
CREATE INDEX partner_programs_program ON partner_programs (program_id, id DESC);
CREATE INDEX referral_links_program ON referral_links (program_id, id DESC);
