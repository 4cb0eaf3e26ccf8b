mod attribution;
mod claimed_keys;
mod late_leads;
mod models;
mod provisional;
mod window;
