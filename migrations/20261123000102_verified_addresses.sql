-- When it was shown that an account's address is its owner's. The link of an invitation shows nothing: who invited has seen it.
ALTER TABLE users ADD COLUMN verified_at timestamptz;
-- The others were made by operators.
UPDATE users u SET verified_at = now()
WHERE NOT EXISTS (SELECT FROM invitations i WHERE i.accepted_at IS NOT NULL AND lower(i.email) = lower(u.email));
