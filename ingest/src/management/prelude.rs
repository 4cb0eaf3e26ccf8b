//! Names that nearly every management route uses.

pub use axum::extract::State;
pub use serde::{Deserialize, Serialize};
pub use serde_json::json;
pub use utoipa::ToSchema;

pub use crate::app::App;
pub use crate::http::body::RequestBody;
pub use crate::http::error::ApiError;
pub use crate::http::field::{Field, Object, refused, stated};
pub use crate::http::openapi::envelopes::{PlatformError, RateLimited};
pub use crate::http::openapi::examples::Examples;
pub use crate::http::query::{NO_TEXT, Query};
pub use crate::management::access::right::*;
pub use crate::management::access::{
    Advertiser, AdvertiserUser, Audited, Caller, CliConfirmer, CliUser, ListProgram, PartnerUser,
    ProgramAccess, ProgramIds, Proof, ReadProgram, Rights, SignedIn, Source, Write, WriteProgram, archived,
    differences, forbidden,
};
pub use crate::management::answers::{
    Answer, Created, Data, Ids, List, Listed, OrderQuery, Page, PageQuery, created, data,
};
pub use messages::instant::{as_instant, as_instant_if_any, instant};

pub(crate) use crate::management::answers::view;
