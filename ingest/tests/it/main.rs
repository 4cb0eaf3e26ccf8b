//! The pipeline as its users see it: HTTP answers and rows, on real PostgreSQL and NATS.

mod stack;

mod funnel;
