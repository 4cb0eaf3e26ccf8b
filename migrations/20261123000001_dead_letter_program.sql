-- Whose record a dead letter is, as the record names it. NULL: it names no program, or cannot be read; then no program's people
-- reach it, only an operator does.
ALTER TABLE dead_letters ADD COLUMN program_id bigint;

CREATE FUNCTION pg_temp.named_program(payload bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    named json;
BEGIN
    -- A NUL character may be why it is here, and PostgreSQL reads no JSON that holds one.
    named := replace(convert_from(payload, 'UTF8'), '\u0000', '')::json;
    RETURN coalesce(named ->> 'program_id', named #>> '{lead,mode,server,program_id}')::bigint;
EXCEPTION WHEN others THEN
    RETURN NULL;
END
$$;
UPDATE dead_letters SET program_id = pg_temp.named_program(payload) WHERE payload <> '';
-- A customer's letters are looked for among their program's.
CREATE INDEX dead_letters_program ON dead_letters (program_id, id);

-- What may not be changed may not be emptied either.
CREATE TRIGGER audit_log_kept BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_kept BEFORE TRUNCATE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
