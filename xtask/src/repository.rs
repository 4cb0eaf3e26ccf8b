//! What tests hold true of the repository's files.

mod documents;
mod limits;
mod migrations;
