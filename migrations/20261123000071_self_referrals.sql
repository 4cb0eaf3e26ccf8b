-- Whether partners earn by their own purchases.
ALTER TABLE programs ADD COLUMN self_referrals text NOT NULL DEFAULT 'flag'
    CHECK (self_referrals IN ('flag', 'refuse'));

-- What the program had set when the sale was recorded: judged again, a sale is judged by that.
ALTER TABLE sale_events ADD COLUMN self_referrals text NOT NULL DEFAULT 'flag';
