//! Who asks a management route, and what they may do: the one place that turns a credential into rights.
//!
//! A route names whom it serves by the type of its argument, before it looks at anything else of the request:
//!
//! | argument | serves |
//! |---|---|
//! | [`SignedIn`] | a dashboard session, an advertiser's or a partner's, also of one who must set up a second factor first |
//! | [`Advertiser`] | an advertiser's dashboard session, or a management key |
//! | [`AdvertiserUser`] | an advertiser's dashboard session, no key |
//! | [`PartnerUser`] | a partner's dashboard session |
//! | [`CliConfirmer`] | an advertiser's dashboard session, and says so when the account is suspended |
//! | [`CliUser`] | a session of the command line's |
//!
//! No usable credential, or one of another kind, is 401; a good one of the wrong person is 403. What is asked of one
//! program then goes through [`Advertiser::program`]: unknown is 404, not theirs or not permitted is 403.

mod cli;
mod csrf;
mod differences;
mod people;
mod program;
mod proof;
mod refusals;
mod session;
mod source;

pub use self::cli::{CliConfirmer, CliUser};
pub use self::csrf::same_origin;
pub use self::differences::differences;
pub use self::people::{Advertiser, AdvertiserUser, PartnerUser, Rights, SignedIn, User};
pub use self::program::{ProgramAccess, archived, own_program};
pub use self::proof::{Proof, take_code};
pub use self::refusals::{forbidden, nobody};
pub use self::session::{SessionCookie, end_cookie};
pub use self::source::{Audited, Source};
