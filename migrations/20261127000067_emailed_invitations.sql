-- Of an invitation that was e-mailed, only the mailbox has the link: accepting it verifies the address.
ALTER TABLE invitations ADD COLUMN emailed boolean NOT NULL DEFAULT false;
