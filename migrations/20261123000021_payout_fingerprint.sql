-- What a payout with an Idempotency-Key was asked for: the key with another request is refused. Null where nothing was kept.
ALTER TABLE payouts ADD COLUMN request_hash bytea;
