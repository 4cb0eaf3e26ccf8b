mod concurrency;
mod crashes;
mod dead_letters;
mod delivery;
mod held_rows;
mod stream_trim;
mod taken_ids;
mod upkeep;
