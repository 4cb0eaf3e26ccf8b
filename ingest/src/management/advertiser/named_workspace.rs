//! A workspace that a body names.

use domain::ids::WorkspaceId;
use serde::Deserialize;

use crate::http::body;
use crate::http::error::ApiError;
use crate::http::field::{Field, refused};

/// The workspace a body names beside other fields. Those are parsed by themselves: a [`Field`] reads the text that stands
/// there, which a flattened one is not given.
pub fn named_workspace(bytes: &[u8]) -> Result<Option<WorkspaceId>, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        workspace_id: Field<i64>,
    }
    let named: Named = body::parse(bytes)?;
    match named.workspace_id {
        Field::Absent => Ok(None),
        Field::Given(id) => Ok(Some(WorkspaceId::new(id))),
        Field::WrongType => Err(refused("workspace_id", "must be an integer")),
    }
}
