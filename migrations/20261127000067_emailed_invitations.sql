-- Of an invitation that was e-mailed, only the mailbox has the link: accepting it verifies the address.
SET LOCAL lock_timeout = '100ms';

ALTER TABLE invitations ADD COLUMN emailed boolean NOT NULL DEFAULT false;
