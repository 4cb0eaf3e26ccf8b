-- Addresses are stored in lower case as the service folds them (common/src/domain/account.rs), whatever the database's collation
-- does with letters beyond ASCII. The unique indexes on lower(email) stay: of folded text they are indexes of the text itself.
-- Addresses of ASCII letters are found by them as they are. The others are folded here as far as this server can; one whose
-- folded form is taken stays as it is, for an operator to decide.
DO $$
DECLARE
    collation_name text := (SELECT collname FROM pg_collation WHERE collname IN ('pg_c_utf8', 'und-x-icu') ORDER BY collname LIMIT 1);
    folded text := CASE WHEN collation_name IS NULL THEN 'lower(%1$s.email)'
                        ELSE format('lower(%%1$s.email COLLATE %I)', collation_name) END;
BEGIN
    EXECUTE format(
        'UPDATE users u SET email = %1$s
         WHERE u.email ~ ''[^[:ascii:]]'' AND u.email <> %1$s
           AND NOT EXISTS (SELECT FROM users o WHERE o.id <> u.id AND %2$s = %1$s)',
        format(folded, 'u'), format(folded, 'o'));
    EXECUTE format(
        'UPDATE partners p SET email = %1$s
         WHERE p.email ~ ''[^[:ascii:]]'' AND p.email <> %1$s
           AND NOT EXISTS (SELECT FROM partners o
                           WHERE o.workspace_id = p.workspace_id AND o.id <> p.id AND %2$s = %1$s)',
        format(folded, 'p'), format(folded, 'o'));
    EXECUTE format(
        'UPDATE invitations i SET email = %1$s WHERE i.email ~ ''[^[:ascii:]]'' AND i.email <> %1$s',
        format(folded, 'i'));
END $$;

-- Who turned a link off: what its advertiser turns off, its partner cannot turn on.
ALTER TABLE referral_links ADD COLUMN turned_off_by text CHECK (turned_off_by IN ('advertiser', 'partner'));
-- The advertiser's entries say what was before, the partner's do not.
UPDATE referral_links l SET turned_off_by = CASE
    WHEN (SELECT a.details ? 'before' FROM audit_log a
          WHERE a.workspace_id = g.workspace_id AND a.action = 'referral_link.updated' AND a.subject_id = l.id
          ORDER BY a.id DESC LIMIT 1) IS FALSE THEN 'partner'
    ELSE 'advertiser' END
FROM programs g WHERE g.id = l.program_id AND l.status = 'inactive';
