mod credentials;
mod limits;
mod test_chain;
mod test_mode;
mod tracking_tokens;
