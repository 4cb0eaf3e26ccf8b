-- When a management key was last used, to the hour: one that nobody uses can be revoked.
ALTER TABLE management_keys ADD COLUMN last_used_at timestamptz;
