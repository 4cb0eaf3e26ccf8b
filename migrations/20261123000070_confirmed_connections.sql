-- The platform's events reach a program whose claim of the account an operator has confirmed, while it is connected.
ALTER TABLE processor_connections
    -- When the claim of this account was confirmed; another account is confirmed anew.
    ADD COLUMN confirmed_at timestamptz;

-- What is connected to an account that no other workspace names goes on.
UPDATE processor_connections c SET confirmed_at = now()
FROM programs p
WHERE p.id = c.program_id AND c.status = 'connected'
  AND NOT EXISTS (SELECT 1 FROM processor_connections o JOIN programs q ON q.id = o.program_id
                  WHERE o.account_id = c.account_id AND q.workspace_id <> p.workspace_id);

-- Which programs the platform's events of an account are for.
CREATE VIEW receiving_connections AS
SELECT c.account_id, c.program_id, p.archived_at IS NOT NULL AS archived
FROM processor_connections c JOIN programs p ON p.id = c.program_id
WHERE c.status = 'connected' AND c.confirmed_at IS NOT NULL;

ALTER TABLE processor_events
    -- It came by the platform's endpoint, and not by its program's own.
    ADD COLUMN by_platform boolean NOT NULL DEFAULT false;
