-- An invitation is good while its inviter may still make it.

ALTER TABLE invitations
    ADD COLUMN invited_by     bigint REFERENCES users (id),
    ADD COLUMN invited_by_key bigint REFERENCES management_keys (id),
    ADD CONSTRAINT one_inviter CHECK (num_nonnulls(invited_by, invited_by_key) <= 1);

UPDATE invitations i SET invited_by = a.actor_id
FROM audit_log a
WHERE a.workspace_id = i.workspace_id AND a.action = 'member.invited' AND a.actor = 'user' AND a.subject_id = i.id
  AND i.role IS NOT NULL;
-- The inviter of an open invitation to a partner is not known: it is made again.
UPDATE invitations SET withdrawn_at = now()
WHERE invited_by IS NULL AND accepted_at IS NULL AND withdrawn_at IS NULL;

-- A key acts for the person who created it, so the same is asked of that person.
CREATE FUNCTION inviter_may_invite(i invitations) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM workspace_members m
        JOIN users u ON u.id = m.user_id AND u.status = 'active'
        LEFT JOIN member_permissions g ON g.member_id = m.id AND g.program_id = i.program_id
        LEFT JOIN management_keys k ON k.id = i.invited_by_key
        WHERE m.workspace_id = i.workspace_id AND m.user_id = coalesce(i.invited_by, k.created_by)
          AND (i.invited_by_key IS NULL OR (k.status = 'active' AND m.role IN ('owner', 'admin')))
          AND (m.role = 'owner'
               OR (m.role = 'admin' AND i.role IS DISTINCT FROM 'owner')
               OR (i.role IS NULL AND 'program:update' = ANY (g.permissions))))
$$;

-- Owners and admins create keys, and a key lasts as long as its creator is one.
CREATE FUNCTION creator_runs_workspace(k management_keys) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM workspace_members m
        JOIN users u ON u.id = m.user_id AND u.status = 'active'
        WHERE m.workspace_id = k.workspace_id AND m.user_id = k.created_by AND m.role IN ('owner', 'admin'))
$$;
