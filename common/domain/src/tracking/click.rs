//! A click: a visitor arrived through a partner's referral link.

use serde::{Deserialize, Serialize};

use crate::text::{Label, LongText};

/// The browser's report about the visit. Everything is optional, and no decision depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Visit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_url: Option<LongText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_title: Option<LongText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer_url: Option<LongText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Label>,
    /// From the body, or else from the `User-Agent` header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<LongText>,
    /// `<width>x<height>` in CSS pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screen_resolution: Option<Label>,
    /// `<width>x<height>` in CSS pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport_size: Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Label>,
    /// IANA name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<Label>,
}
