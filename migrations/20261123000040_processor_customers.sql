-- Whom a payment processor's customer is: the names that an event gave beside it, or that were bound by hand.
CREATE TABLE processor_customers (
    program_id            bigint      NOT NULL,
    processor_customer_id text        NOT NULL,
    customer_key          text,
    click_id              text,
    bound_at              timestamptz NOT NULL DEFAULT now(),
    -- An event named another customer of the program, which changed nothing.
    contested_at          timestamptz,
    PRIMARY KEY (program_id, processor_customer_id),
    CHECK (num_nonnulls(customer_key, click_id) > 0)
);

-- For erasures.
CREATE INDEX processor_customers_by_key ON processor_customers (program_id, customer_key) WHERE customer_key IS NOT NULL;
CREATE INDEX processor_customers_by_click ON processor_customers (program_id, click_id) WHERE click_id IS NOT NULL;
