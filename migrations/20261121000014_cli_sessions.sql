-- A command line is connected to one workspace, and acts in no other.
ALTER TABLE sessions
    ADD COLUMN workspace_id bigint REFERENCES workspaces (id),
    ADD CONSTRAINT cli_session_has_workspace CHECK ((kind = 'cli') = (workspace_id IS NOT NULL));

-- For forgetting logins that are over.
CREATE INDEX cli_logins_expires_at ON cli_logins (expires_at);

-- A command line may connect a program's payment processor with the program's own key: then the program acts.
ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_check,
    ADD CONSTRAINT audit_log_actor_check CHECK (actor IN ('user', 'key', 'program', 'operator'));

-- For the operator's list of what still waits to be looked at.
CREATE INDEX dead_letters_open ON dead_letters (id) WHERE replayed_at IS NULL;
