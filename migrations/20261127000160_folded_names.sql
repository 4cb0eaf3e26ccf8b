-- A name without its case, in any language, whatever the database's own: what lists are searched through by.
CREATE FUNCTION folded(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT lower($1 COLLATE "und-x-icu") $$;
