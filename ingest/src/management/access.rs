//! Callers of management routes and their rights. Only this module turns a credential into rights.
//!
//! A route names whom it serves by the type of its argument, before it looks at anything else of the request:
//!
//! | argument | serves |
//! |---|---|
//! | [`SignedIn`] | a dashboard session, an advertiser's or a partner's, also of one who must set up a second factor first |
//! | [`AdvertiserUser`] | an advertiser's dashboard session, no key |
//! | [`PartnerUser`] | a partner's dashboard session |
//! | [`Advertiser`] | an advertiser's dashboard session, or a management key |
//! | [`ReadProgram`], [`ListProgram`], [`WriteProgram`] | an [`Advertiser`] who has this [right](right) to the program of the path |
//! | [`Write`] | any of the first four, with the transaction of a change |
//! | [`CliConfirmer`] | an advertiser's dashboard session, and says so when the account is suspended |
//! | [`CliUser`] | a session of the command line's |
//!
//! No usable credential, or one of another kind, is 401; a good one of the wrong person is 403. Of one program, unknown is 404,
//! not theirs or not permitted is 403.

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
pub use self::program::{ProgramAccess, archived, own_program};
pub use self::proof::{Proof, take_code};
pub use self::refusals::{forbidden, unauthenticated};
pub use self::session::{SessionCookie, end_cookie};
pub use self::source::{Audited, Source};
pub use self::transaction::{ListProgram, ProgramIds, ReadProgram, Write, WriteProgram};
