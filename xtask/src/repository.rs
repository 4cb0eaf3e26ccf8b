//! What tests hold true of the repository's files.

mod documents;
mod features;
mod limits;
mod migrations;
