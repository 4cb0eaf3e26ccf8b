-- contract: the release before inserts commissions without ON CONFLICT, and the index of the migration before this one
-- refuses what this constraint refused, except a second commission beside a superseded one.
ALTER TABLE commissions DROP CONSTRAINT commissions_sale_id_partner_program_id_key;
