//! Names that most of the worker uses. All other names are imported from their modules.

pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub use std::sync::Arc;
pub use std::time::Duration;

pub use chrono::{DateTime, TimeDelta, Utc};
pub use domain::ids::*;
pub use domain::money::{Cents, Currency};
pub use messages::subject::Subject;
pub use runtime::clock::Clock;
pub use runtime::crash_point::crash_point;
pub use runtime::lifecycle::Lifecycle;
pub use runtime::rounds::repeat;
pub use sqlx::{PgConnection, PgPool};
pub use storage::{StorageError, StorageResult};

pub use crate::outbound::OutboundEvents;
