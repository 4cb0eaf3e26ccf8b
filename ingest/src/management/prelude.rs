//! Names that nearly every management route uses. All other names are imported from their modules.

pub use domain::people::permission::{Permission, Role};
pub use sqlx::PgConnection;

pub use crate::http::prelude::*;
pub use crate::management::access::right::*;
pub use crate::management::access::{
    AdvertiserUser, Audited, ListForAdvertiser, ListForPartner, ListProgram, PartnerUser, ReadProgram,
    SignedIn, Source, Write, WriteProgram, archived, commit,
};
pub(crate) use crate::management::answers::view;
pub use crate::management::answers::{
    Answer, Created, Data, Ids, List, Listed, OrderQuery, Page, PageQuery, created, data,
};
