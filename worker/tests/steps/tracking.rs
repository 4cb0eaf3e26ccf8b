mod claimed_keys;
mod late_leads;
mod provisional;
