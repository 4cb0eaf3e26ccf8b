mod attribution;
mod claimed_keys;
mod models;
mod provisional;
mod window;
