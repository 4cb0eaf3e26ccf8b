-- no-transaction
-- The same by how their address begins. The unique index has the order of the database's language.
CREATE INDEX CONCURRENTLY partners_by_email ON partners (workspace_id, (lower(email) COLLATE "C")) WHERE email IS NOT NULL;
