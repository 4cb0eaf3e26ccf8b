//! Notifications as their readers see them, and the request that marks them as read.

use chrono::{DateTime, Utc};
use messages::instant::{as_instant, as_instant_if_any};
use messages::notification::Deduction;
use serde_json::Value;
use storage::operations::notifications::{StoredNotification, Which};

use crate::http::field::Field;
use crate::management::id_list::id_list;
use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct NotificationView {
    id: i64,
    program_id: i64,
    /// Such as `commission_deducted`.
    kind: String,
    message: String,
    /// What it is about; null when that is no commission.
    commission_id: Option<i64>,
    /// The sale that earned the commission; null for partners.
    sale_id: Option<i64>,
    /// Of a refund's notification.
    deduction: Option<DeductionView>,
    #[serde(serialize_with = "as_instant_if_any")]
    read_at: Option<DateTime<Utc>>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// What a refund took.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeductionView {
    commission_id: i64,
    deducted_cents: i64,
    currency: String,
    /// The commission's, `refunded` or `reversed`.
    status: String,
    refund_reason: Option<String>,
}

/// The ids that a notification's details may contain, whatever its kind.
#[derive(Deserialize)]
struct Subject {
    commission_id: Option<i64>,
    sale_id: Option<i64>,
}

impl NotificationView {
    /// A partner must not see the sale: sales are the advertiser's data.
    pub fn of_partner(row: StoredNotification) -> Self {
        Self {
            sale_id: None,
            ..row.into()
        }
    }
}

impl From<StoredNotification> for NotificationView {
    fn from(row: StoredNotification) -> Self {
        let subject = Subject::deserialize(&row.details).ok();
        let deduction: Option<Deduction> = serde_json::from_value(row.details).ok();
        Self {
            id: row.id,
            program_id: row.program_id,
            kind: row.kind,
            message: row.message,
            commission_id: subject.as_ref().and_then(|subject| subject.commission_id),
            sale_id: subject.and_then(|subject| subject.sale_id),
            deduction: deduction.map(|deduction| DeductionView {
                commission_id: deduction.commission_id.get(),
                deducted_cents: deduction.deducted.get(),
                currency: deduction.currency.to_string(),
                status: deduction.status.as_str().to_owned(),
                refund_reason: deduction.refund_reason,
            }),
            read_at: row.read_at,
            created_at: row.created_at,
        }
    }
}

/// Either `ids` or `all`.
#[derive(Debug, Deserialize, ToSchema)]
pub struct MarkReadRequest {
    #[schema(value_type = Option<Vec<i64>>, min_items = 1, max_items = 1000)]
    ids: Option<Value>,
    #[schema(value_type = Option<bool>)]
    all: Field<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MarkedRead {
    /// How many had not been read before. Ids of others, or of nothing, are not counted.
    pub marked: u64,
}

/// The ids to mark; `None` marks all notifications.
#[derive(Debug)]
pub struct Wanted(Option<Vec<i64>>);

impl Wanted {
    pub fn which(&self) -> Which<'_> {
        match &self.0 {
            Some(ids) => Which::Ids(ids),
            None => Which::All,
        }
    }
}

impl MarkReadRequest {
    pub fn wanted(self) -> Result<Wanted, ApiError> {
        match (id_list(self.ids, "ids")?, self.all.flag("all")?) {
            (Some(ids), false) => Ok(Wanted(Some(ids))),
            (None, true) => Ok(Wanted(None)),
            _ => Err(NEITHER_OR_BOTH),
        }
    }
}

pub const NEITHER_OR_BOTH: ApiError = ApiError::refusal("ids or all is required, not both");
