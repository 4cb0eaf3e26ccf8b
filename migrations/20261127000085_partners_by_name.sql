-- no-transaction
-- Partners are searched by how their name begins. Byte by byte: in no other order are the texts with one beginning together.
CREATE INDEX CONCURRENTLY partners_by_name ON partners (workspace_id, (lower(name) COLLATE "C"));
