mod configuration;
mod health;
mod metrics;
mod outages;
mod overload;
mod traces;
mod transport;
