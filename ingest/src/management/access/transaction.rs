//! A route's caller and program with the connection that the route works on, as one argument.
//!
//! The checks run in the order in which the contract reports mistakes: credential (401), ids of the path
//! (404), program (404), right (403), archived (409). The route then reads the body.

use std::marker::PhantomData;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::people::permission::Permission;
use domain::programs::outbound_event::OutboundEventType;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgTransaction, Postgres};
use storage::StorageResult;
use storage::people::second_factors::OwnFactors;

use super::people::{Advertiser, Caller, OfAdvertiser, OfPartner, Session, SessionOf, SignedIn};
use super::program::ProgramAccess;
use super::right::Right;
use super::source::Audited;
use crate::http::body::RequestBody;
use crate::management::answers::{Ids, Page};
use crate::management::prelude::*;

/// The ids of a program's path.
pub trait ProgramIds: DeserializeOwned + Copy + Send {
    fn program_id(self) -> ProgramId;
}

impl ProgramIds for ProgramId {
    fn program_id(self) -> ProgramId {
        self
    }
}

impl<T: DeserializeOwned + Copy + Send> ProgramIds for (ProgramId, T) {
    fn program_id(self) -> ProgramId {
        self.0
    }
}

impl<T: DeserializeOwned + Copy + Send, U: DeserializeOwned + Copy + Send> ProgramIds for (ProgramId, T, U) {
    fn program_id(self) -> ProgramId {
        self.0
    }
}

/// A program for which the caller has the right `R`.
#[derive(Debug)]
pub struct Program<R, I> {
    pub access: ProgramAccess,
    pub ids: I,
    right: PhantomData<R>,
}

impl<R: Right, I: ProgramIds> Program<R, I> {
    async fn granted(caller: &Advertiser, ids: I, connection: &mut PgConnection) -> Result<Self, ApiError> {
        let access = caller
            .rights
            .program(connection, ids.program_id(), R::PERMISSION)
            .await?;
        if !R::IN_ARCHIVED {
            access.for_change()?;
        }
        Ok(Self {
            access,
            ids,
            right: PhantomData,
        })
    }
}

/// A change: its caller, and the transaction that makes and audits it. `On` is its target: the ids of the
/// path, or a [`Program`].
#[derive(Debug)]
pub struct Write<C, On = ()> {
    pub app: App,
    pub caller: C,
    pub on: On,
    pub db: PgTransaction<'static>,
    body: RequestBody,
    /// The entries of the audit log, written with the commit.
    entries: Vec<Audited>,
}

pub type WriteProgram<R, I = ProgramId> = Write<Advertiser, Program<R, I>>;

impl<C, On> Write<C, On> {
    pub async fn begin(app: &App, caller: C, on: On, body: RequestBody) -> Result<Self, ApiError> {
        Ok(Self {
            app: app.clone(),
            caller,
            on,
            db: app.management.begin().await?,
            body,
            entries: Vec::new(),
        })
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.app.clock.now()
    }

    /// The body. It can be taken once.
    pub const fn body(&mut self) -> RequestBody {
        self.body.take()
    }
}

/// A commit without an answer may have happened: 500, while 503 says that nothing was changed.
pub async fn commit(transaction: PgTransaction<'_>) -> Result<(), ApiError> {
    transaction.commit().await.map_err(ApiError::unexpected)
}

impl<C: Caller, On> Write<C, On> {
    /// Like [`Caller::just_proved`].
    pub fn just_proved(&self) -> Result<(), ApiError> {
        self.caller.just_proved(&self.app)
    }

    /// Adds an entry to the audit log in the caller's name.
    pub fn record(&mut self, audited: Audited) {
        self.entries.push(audited);
    }

    pub async fn commit(mut self) -> Result<(), ApiError> {
        let (source, actor) = (self.caller.source(), self.caller.actor());
        for audited in self.entries {
            source.audit(&self.app, &mut self.db, actor, audited).await?;
        }
        commit(self.db).await
    }

    pub async fn answer<T>(self, answer: T) -> Result<T, ApiError> {
        self.commit().await?;
        Ok(answer)
    }
}

impl<R, I: ProgramIds> WriteProgram<R, I> {
    /// Requires another permission as well: 403 without it.
    pub async fn also(&mut self, permission: Permission) -> Result<(), ApiError> {
        let program_id = self.on.ids.program_id();
        let rights = &self.caller.rights;
        rights.program(&mut self.db, program_id, permission).await?;
        Ok(())
    }
}

impl<R, I> WriteProgram<R, I> {
    pub const fn wants(&self, event_type: OutboundEventType) -> bool {
        self.on.access.wanted_events.contains(event_type)
    }

    /// Adds an entry about the program to the audit log. The details must not contain a secret.
    pub fn audit(&mut self, action: &'static str, subject_id: impl Into<Option<i64>>, details: Value) {
        let audited = self.on.access.audited(action).with(details);
        let subject_id = subject_id.into();
        self.record(Audited {
            subject_id,
            ..audited
        });
    }
}

impl<On> Write<SignedIn, On> {
    /// Writes an entry about the caller's account to the audit log of every workspace in which the user
    /// works.
    pub async fn audit_account(&mut self, action: &'static str, details: Value) -> StorageResult<()> {
        self.caller.audit(&self.app, &mut self.db, action, details).await
    }

    /// Like [`User::proved_own_factor`](super::people::User::proved_own_factor).
    pub async fn proved_own_factor(&mut self) -> Result<OwnFactors, ApiError> {
        let user = self.caller.user;
        user.proved_own_factor(&self.app, &mut self.db).await
    }
}

impl<C: Caller> FromRequest<App> for Write<C> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let caller = C::from_request_parts(&mut parts, app).await?;
        let body = read(parts, body, app).await;
        Self::begin(app, caller, (), body).await
    }
}

impl<C: Caller, T: DeserializeOwned + Send> FromRequest<App> for Write<C, Ids<T>> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let caller = C::from_request_parts(&mut parts, app).await?;
        let ids = Ids::from_request_parts(&mut parts, app).await?;
        let body = read(parts, body, app).await;
        Self::begin(app, caller, ids, body).await
    }
}

impl<R: Right, I: ProgramIds> FromRequest<App> for WriteProgram<R, I> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let write = Write::<Advertiser, Ids<I>>::from_request(request, app).await?;
        let Write {
            app,
            caller,
            on,
            mut db,
            body,
            entries,
        } = write;
        let on = Program::granted(&caller, on.0, &mut db).await?;
        Ok(Self {
            app,
            caller,
            on,
            db,
            body,
            entries,
        })
    }
}

/// Reads the body before the transaction begins: a slow client must not hold a connection.
async fn read(parts: Parts, body: axum::body::Body, app: &App) -> RequestBody {
    let Ok(body) = RequestBody::from_request(Request::from_parts(parts, body), app).await;
    body
}

#[derive(Debug)]
pub struct ReadProgram<R, I = ProgramId> {
    pub caller: Advertiser,
    pub access: ProgramAccess,
    pub ids: I,
    pub db: PoolConnection<Postgres>,
    right: PhantomData<R>,
}

impl<R: Right, I: ProgramIds> ReadProgram<R, I> {
    async fn open(app: &App, caller: Advertiser, ids: I) -> Result<Self, ApiError> {
        let mut db = app.management.acquire().await?;
        let Program { access, ids, right } = Program::granted(&caller, ids, &mut db).await?;
        Ok(Self {
            caller,
            access,
            ids,
            db,
            right,
        })
    }
}

impl<R: Right, I: ProgramIds> FromRequestParts<App> for ReadProgram<R, I> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Advertiser::from_request_parts(parts, app).await?;
        let Ids(ids) = Ids::from_request_parts(parts, app).await?;
        Self::open(app, caller, ids).await
    }
}

/// A page of a list that is for the user of a session of kind `K`.
#[derive(Debug)]
pub struct ListFor<K> {
    pub session: Session<K>,
    pub page: Page,
    pub db: PoolConnection<Postgres>,
}

pub type ListForPartner = ListFor<OfPartner>;
pub type ListForAdvertiser = ListFor<OfAdvertiser>;

impl<K: SessionOf> FromRequestParts<App> for ListFor<K> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        Ok(Self {
            session: Session::from_request_parts(parts, app).await?,
            page: Page::from_request_parts(parts, app).await?,
            db: app.management.acquire().await?,
        })
    }
}

/// A page of a program's list. The page parameters are parsed before the right is checked.
#[derive(Debug)]
pub struct ListProgram<R> {
    pub program_id: ProgramId,
    pub page: Page,
    pub db: PoolConnection<Postgres>,
    right: PhantomData<R>,
}

impl<R: Right> FromRequestParts<App> for ListProgram<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Advertiser::from_request_parts(parts, app).await?;
        let Ids(program_id) = Ids::from_request_parts(parts, app).await?;
        let page = Page::from_request_parts(parts, app).await?;
        let read = ReadProgram::<R>::open(app, caller, program_id).await?;
        Ok(Self {
            program_id,
            page,
            db: read.db,
            right: PhantomData,
        })
    }
}
