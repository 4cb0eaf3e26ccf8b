//! Creates a case's programs with its terms.

use domain::earnings::commission::{CommissionType, Rate as CommissionRate};
use domain::money::{Cents, Currency};
use domain::programs::partner::ShortCode;
use domain::tracking::attribution::AttributionModel;
use storage::program::links;

use super::Service;
use crate::calls::{Attribution, Due, Rate, Terms};
use test_harness::{Program, percentage};

impl Service {
    pub async fn program(&self, terms: &Terms) -> Program {
        let attribution = match terms.attribution {
            Attribution::LastClick => AttributionModel::LastClick,
            Attribution::FirstClick => AttributionModel::FirstClick,
            Attribution::Linear => AttributionModel::Linear,
        };
        let due = match terms.due {
            Due::Always => CommissionType::CpsLifetime,
            Due::FirstPayment => CommissionType::CpsOneTime,
            Due::Months(months) => CommissionType::CpsRecurring { months },
        };
        let rate = match terms.rate {
            Rate::Percent(share) => percentage(u32::try_from(share).unwrap()),
            Rate::Fixed(cents, currency) => CommissionRate::Fixed {
                amount: Cents::new(cents),
                currency: Currency::parse(currency).unwrap(),
            },
        };
        let mut founding = vec![LINK_OFF, LINK_WITHOUT_PARTNER];
        if terms.backends_word {
            founding.push("UPDATE programs SET lead_auth = 'server_required' WHERE id = $1");
        }
        founding.push(match terms.window_days {
            2 => "UPDATE programs SET attribution_window_days = 2 WHERE id = $1",
            30 => "UPDATE programs SET attribution_window_days = 30 WHERE id = $1",
            60 => "UPDATE programs SET attribution_window_days = 60 WHERE id = $1",
            days => {
                assert_eq!(days, 365);
                "UPDATE programs SET attribution_window_days = 365 WHERE id = $1"
            }
        });
        if terms.pro {
            founding.push(PRO_POLICY);
        }
        let program = self
            .stack
            .program_founded(attribution, due, rate, &founding)
            .await;
        let mut connection = self.stack.pool().acquire().await.unwrap();
        let code = ShortCode::parse(&format!("ada-too-{}", program.program_id)).unwrap();
        let now = self.stack.clock.now();
        let made = links::create(&mut connection, program.ada.membership, &code, now).await;
        made.unwrap().unwrap();
        program
    }

    /// A key with which the program's advertiser pays.
    pub async fn key(&self, program: &Program) -> String {
        let statement = format!(
            "INSERT INTO workspace_members (workspace_id, user_id, role)
                 SELECT workspace_id, {}, 'owner' FROM programs WHERE id = {} ON CONFLICT DO NOTHING",
            self.owner.user_id, program.program_id
        );
        self.stack.execute(&statement).await;
        self.stack.key(program, &self.owner, "{*}").await
    }
}

const LINK_OFF: &str =
    "INSERT INTO referral_links (short_code, program_id, partner_id, partner_program_id, status)
     SELECT 'off-' || program_id, program_id, partner_id, id, 'inactive'
     FROM partner_programs WHERE program_id = $1 ORDER BY id LIMIT 1";
const LINK_WITHOUT_PARTNER: &str = "INSERT INTO referral_links (short_code, program_id, partner_program_id)
     SELECT 'orphan-' || program_id, program_id, id FROM partner_programs WHERE program_id = $1 ORDER BY id LIMIT 1";
/// The share is [`PRO`](crate::calls::PRO).
const PRO_POLICY: &str =
    "INSERT INTO commission_policies (program_id, product_id, effective_from, commission_type, rate_bps)
     VALUES ($1, 'pro', '2000-01-01', 'cps_lifetime', 777)";
