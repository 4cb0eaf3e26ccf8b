-- Customers whose personal data was erased: the row stays, because the books refer to it, and says nothing about anybody.

ALTER TABLE customers ADD COLUMN erased_at timestamptz;
ALTER TABLE customers ADD CONSTRAINT erased_is_nobody
    CHECK (erased_at IS NULL OR num_nonnulls(customer_key, proposed_customer_key, email_hash) = 0) NOT VALID;
ALTER TABLE customers VALIDATE CONSTRAINT erased_is_nobody;
-- Whoever asks names themselves by their address, too.
CREATE INDEX customers_email_hash ON customers (email_hash) WHERE email_hash IS NOT NULL;
-- Claims that nobody will finish still hold what their caller told.
CREATE INDEX transaction_claims_dead ON transaction_claims (program_id) WHERE state = 'dead';
