-- Tries at an account that failed since somebody last came in, and when the audit log last said so: it has one line an hour,
-- however many there are.
CREATE TABLE failed_sign_ins (
    user_id  bigint      PRIMARY KEY REFERENCES users (id),
    failed   integer     NOT NULL,
    noted_at timestamptz NOT NULL
);
