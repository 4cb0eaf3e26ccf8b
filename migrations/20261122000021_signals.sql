-- What is odd about a sale, for a person to look at. It changes nothing of what is paid.
ALTER TABLE commissions ADD COLUMN signals text[] NOT NULL DEFAULT '{}'
    CHECK (signals <@ ARRAY['self_referral', 'fast_sale']);
