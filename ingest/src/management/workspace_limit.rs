//! A concurrency limit for long responses, with a limit for each workspace: a workspace that opens many
//! cannot use up the permits of the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::WorkspaceId;

use crate::management::prelude::*;

#[derive(Debug, Clone)]
pub struct WorkspaceLimit {
    all: usize,
    share: usize,
    held: Arc<Held>,
}

/// How many permits each workspace holds. Workspaces without a permit have no entry.
#[derive(Debug, Default)]
struct Held(Mutex<HashMap<WorkspaceId, usize>>);

#[derive(Debug)]
pub struct WorkspacePermit {
    workspace_id: WorkspaceId,
    held: Arc<Held>,
}

impl WorkspaceLimit {
    pub fn new(all: usize, share: usize) -> Self {
        Self {
            all,
            share,
            held: Arc::default(),
        }
    }

    pub fn take(&self, workspace_id: WorkspaceId) -> Result<WorkspacePermit, ApiError> {
        let mut held = self.held.lock();
        let own = held.get(&workspace_id).copied().unwrap_or_default();
        if own >= self.share || held.values().sum::<usize>() >= self.all {
            return Err(ApiError::Overloaded);
        }
        held.insert(workspace_id, own + 1);
        Ok(WorkspacePermit {
            workspace_id,
            held: Arc::clone(&self.held),
        })
    }
}

impl Drop for WorkspacePermit {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        if let Some(own) = held.get_mut(&self.workspace_id) {
            *own -= 1;
            if *own == 0 {
                held.remove(&self.workspace_id);
            }
        }
    }
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<WorkspaceId, usize>> {
        // A panic cannot leave a count half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_its_share_and_all_together_have_all() {
        let limit = WorkspaceLimit::new(5, 2);
        let [a, b, c] = [1, 2, 3].map(WorkspaceId::new);
        let mut taken: Vec<_> = [a, a, b, b].map(|id| limit.take(id).unwrap()).into();
        assert!(limit.take(a).is_err(), "its share is taken");
        taken.push(limit.take(c).unwrap());
        assert!(limit.take(c).is_err(), "all are taken");
        drop(taken.swap_remove(0));
        assert!(limit.take(c).is_ok());
        assert!(limit.take(a).is_ok());
        drop(taken);
        assert!(limit.held.lock().is_empty());
    }
}
