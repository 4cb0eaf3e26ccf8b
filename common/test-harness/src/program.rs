//! Programs with partners, created in the tables.

use chrono::{DateTime, TimeZone, Utc};
use domain::earnings::commission::{CommissionType, Rate};
use domain::ids::{PartnerId, PartnerProgramId, ProgramId, ReferralLinkId};
use domain::money::BasisPoints;
use domain::name::Name;
use domain::programs::partner::{MembershipStatus, ShortCode};
use domain::programs::program::{ProgramSettings, ProgramStatus, Slug};
use domain::token::ProgramToken;
use domain::tracking::attribution::AttributionModel;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::people::workspaces;
use storage::program::links;
use storage::program::partners::{self, NewMembership, NewPartner};
use storage::program::policies::{self, NewPolicy};
use storage::program::program_settings::{self, NewProgram};

use crate::managed::PROGRAMS;
use crate::rows;
use crate::stack::Stack;

/// A program with two partners who have one link each. By default it pays 20 % of every payment for ever.
#[derive(Debug)]
pub struct Program {
    pub program_id: ProgramId,
    pub token: String,
    pub ada: Partner,
    pub bruno: Partner,
}

#[derive(Debug)]
pub struct Partner {
    pub partner_id: PartnerId,
    pub membership: PartnerProgramId,
    pub link: ReferralLinkId,
    pub code: String,
}

impl Program {
    /// The path of something below the program, such as `commissions`, or of the program itself.
    pub fn path(&self, below: &str) -> String {
        let path = format!("{PROGRAMS}/{}/{below}", self.program_id);
        path.trim_end_matches('/').to_owned()
    }
}

impl Stack {
    /// A running stack and a program.
    pub async fn with_program() -> (Self, Program) {
        let stack = Self::start().await;
        let program = stack.program().await;
        (stack, program)
    }

    /// As [`Self::with_program`], with the customer `user-1` on Ada's link.
    pub async fn with_customer() -> (Self, Program) {
        let stack = Self::start().await;
        let program = stack.program_with_customer().await;
        (stack, program)
    }

    /// As [`Self::with_customer`], on a clock that the test moves; it shows [`noon`]. The click is counted.
    pub async fn with_customer_at_noon() -> (Self, Program) {
        let stack = Self::start_with(Clock::manual(noon())).await;
        let program = stack.program_with_customer().await;
        rows::counted(&stack, program.ada.link, 1).await;
        (stack, program)
    }

    pub async fn program(&self) -> Program {
        self.program_paying(CommissionType::CpsLifetime).await
    }

    /// A program with the customer `user-1` on Ada's link.
    pub async fn program_with_customer(&self) -> Program {
        let program = self.program().await;
        self.customer(&program, &program.ada.code, "user-1").await;
        program
    }

    /// A program that pays commissions of this type.
    pub async fn program_paying(&self, kind: CommissionType) -> Program {
        self.program_with(AttributionModel::LastClick, kind, percentage(2_000))
            .await
    }

    pub async fn program_with(&self, model: AttributionModel, kind: CommissionType, rate: Rate) -> Program {
        self.program_founded(model, kind, rate, &[]).await
    }

    /// Creates a program and runs these statements about it (`$1`) in the same transaction, so no process
    /// sees the program without them.
    pub async fn program_founded(
        &self,
        model: AttributionModel,
        kind: CommissionType,
        rate: Rate,
        statements: &[&'static str],
    ) -> Program {
        let mut transaction = self.pool().begin().await.unwrap();
        let token = ProgramToken::generate(rand::random());
        let workspace_id = workspaces::create(&mut transaction, "Workspace").await.unwrap();
        let name = Name::parse("Program").unwrap();
        // The slug is random, because tests create many programs in one database.
        let slug = Slug::of_name(&format!("program {}", rand::random::<u64>()), rand::random());
        let settings = ProgramSettings {
            attribution_model: model,
            ..ProgramSettings::new(name, slug)
        };
        let new = NewProgram {
            workspace_id,
            settings: &settings,
            status: ProgramStatus::Live,
            token: &token,
            created_at: self.clock.now(),
        };
        let created = program_settings::create(&mut transaction, &new).await.unwrap();
        let program_id = created.unwrap();
        let policy = NewPolicy {
            program_id,
            product_id: None,
            effective_from: long_ago(),
            commission_type: kind,
            rate: &rate,
            created_at: self.clock.now(),
        };
        policies::create(&mut transaction, &policy).await.unwrap();
        let program = Program {
            program_id,
            token: token.expose().to_owned(),
            ada: partner_on(&mut transaction, program_id, "ada").await,
            bruno: partner_on(&mut transaction, program_id, "bruno").await,
        };
        for statement in statements {
            let statement = sqlx::query(*statement).bind(program_id.get());
            statement.execute(&mut *transaction).await.unwrap();
        }
        transaction.commit().await.unwrap();
        program
    }

    /// An approved partner of a program, with a link.
    pub async fn partner(&self, program_id: ProgramId, name: &str) -> Partner {
        let mut connection = self.pool().acquire().await.unwrap();
        partner_on(&mut connection, program_id, name).await
    }

    /// The amounts in US cents owed to Ada and to Bruno.
    pub async fn balances(&self, program: &Program) -> [i64; 2] {
        [
            self.balance(program.ada.membership).await,
            self.balance(program.bruno.membership).await,
        ]
    }

    /// The amount in US cents owed to a membership.
    pub async fn balance(&self, membership: PartnerProgramId) -> i64 {
        sqlx::query_scalar(
            "SELECT coalesce((SELECT balance_cents FROM partner_program_balances
                              WHERE partner_program_id = $1 AND currency = 'USD'), 0)",
        )
        .bind(membership.get())
        .fetch_one(self.pool())
        .await
        .unwrap()
    }
}

async fn partner_on(connection: &mut PgConnection, program_id: ProgramId, name: &str) -> Partner {
    let code = format!("{name}-{program_id}");
    let partner = NewPartner {
        program_id,
        name: &Name::parse(name).unwrap(),
        email: None,
        created_at: long_ago(),
    };
    let partner_id = partners::provide(connection, &partner).await.unwrap();
    let membership = NewMembership {
        program_id,
        partner_id,
        status: MembershipStatus::Approved,
        created_at: long_ago(),
    };
    let membership = partners::join(connection, &membership).await.unwrap().unwrap();
    let short_code = ShortCode::parse(&code).unwrap();
    let link = links::create(connection, membership, &short_code, long_ago())
        .await
        .unwrap()
        .unwrap();
    Partner {
        partner_id,
        membership,
        link,
        code,
    }
}

pub fn percentage(basis_points: u32) -> Rate {
    Rate::Percentage(BasisPoints::new(basis_points).unwrap())
}

/// A time before every time that a test's clock shows.
fn long_ago() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2000, 1, 1, 0, 0, 0).unwrap()
}

/// A fixed start time for tests that move the clock.
pub fn noon() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 1, 12, 0, 0).unwrap()
}
