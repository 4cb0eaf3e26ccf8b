//! A workspace that a body names.

use domain::ids::WorkspaceId;

use crate::http::body;
use crate::http::field::Field;
use crate::management::prelude::*;

/// The workspace that a body names beside other fields. It is parsed separately: a [`Field`] reads raw JSON,
/// which serde does not pass to flattened fields.
pub fn named_workspace(bytes: &[u8]) -> Result<Option<WorkspaceId>, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        workspace_id: Field<i64>,
    }
    let named: Named = body::parse(bytes)?;
    Ok(named.workspace_id.integer("workspace_id")?.map(WorkspaceId::new))
}
