//! Pages and files that the service serves beside the API.

pub mod dashboard;
pub mod docs;
pub mod openapi;
pub mod script_alias;
pub mod security_txt;
pub mod tracker_script;
