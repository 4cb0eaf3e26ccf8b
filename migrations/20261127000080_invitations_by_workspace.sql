-- One workspace's invitations take nothing of what other workspaces may send to the same address.
SET LOCAL lock_timeout = '100ms';

-- Whose invitation it is. Null in other e-mails, and in invitations that processes of the release before write: they count for no workspace.
ALTER TABLE emails ADD COLUMN workspace_id bigint;
