//! Callers of management routes and their rights. Only this module turns a credential into rights.
//!
//! The type of a route's argument names the callers that the route serves. It is checked before anything else
//! of the request:
//!
//! | argument | serves |
//! |---|---|
//! | [`SignedIn`] | any dashboard session, even without a required second factor |
//! | [`AdvertiserUser`] | an advertiser's dashboard session, no key |
//! | [`PartnerUser`] | a partner's dashboard session |
//! | [`ListForAdvertiser`], [`ListForPartner`] | an [`AdvertiserUser`] or [`PartnerUser`] who asks for a page |
//! | [`Advertiser`] | an advertiser's dashboard session, or a management key |
//! | [`ReadProgram`], [`ListProgram`], [`WriteProgram`] | an [`Advertiser`] with this [right](right) |
//! | [`Write`] | any of the first four, with the transaction of a change |
//! | [`CliConfirmer`] | an advertiser's dashboard session; has an answer of its own for a suspended account |
//! | [`CliUser`] | a session of the command line |
//!
//! A missing or unusable credential, or one of another kind, is 401. A valid credential of the wrong caller
//! is 403. An unknown program is 404; a program of another workspace, or one without the permission, is 403.

mod cli;
mod csrf;
mod differences;
mod people;
mod program;
mod proof;
mod refusals;
pub mod right;
mod session;
mod source;
mod transaction;

pub use self::cli::{CliConfirmer, CliUser};
pub use self::csrf::same_origin;
pub use self::differences::differences;
pub use self::people::{Advertiser, AdvertiserUser, Caller, PartnerUser, Rights, SignedIn, User};
pub use self::program::{ARCHIVED, ProgramAccess, own_program};
pub use self::proof::{Proof, take_code};
pub use self::refusals::{FORBIDDEN, UNAUTHENTICATED};
pub use self::session::{end_cookie, session_cookie};
pub use self::source::{Audited, Source};
pub use self::transaction::{
    ListForAdvertiser, ListForPartner, ListProgram, ProgramIds, ReadProgram, Write, WriteProgram, commit,
};
