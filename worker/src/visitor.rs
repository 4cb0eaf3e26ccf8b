//! Facts about the visitor of a click, derived before its transaction begins.
//!
//! User agents go through a bounded cache. Those not in the cache are parsed in a blocking task, because
//! building the patterns and matching long texts take some time. GeoIP lookups run in memory.

mod bot;
mod geoip;
mod user_agent;

use std::path::Path;

use domain::text::LongText;
use domain::tracking::visitor::{ClientIp, CountryCode, Visitor};
use messages::click::ClickRecord;
use messages::test_event::TestClick;
use tokio::task::JoinError;

use self::geoip::GeoIpDatabase;
use self::user_agent::UserAgents;

#[derive(Debug)]
pub struct Visitors {
    user_agents: UserAgents,
    geoip: GeoIpDatabase,
}

impl Visitors {
    /// Reads the GeoIP database into memory, if one is configured.
    pub async fn load(geoip_db: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self {
            user_agents: UserAgents::new(),
            geoip: GeoIpDatabase::load(geoip_db).await?,
        })
    }

    /// Returns the visitors in the order of the clicks.
    pub async fn of<'a>(
        &self,
        clicks: impl IntoIterator<Item = Traces<'a>>,
    ) -> Result<Vec<Visitor>, JoinError> {
        let clicks: Vec<Traces<'a>> = clicks.into_iter().collect();
        let texts = clicks.iter().map(|click| click.user_agent.map(LongText::as_str));
        let software = self.user_agents.read(texts).await?;
        Ok(clicks
            .iter()
            .zip(software)
            .map(|(click, software)| Visitor {
                software,
                place: self.geoip.of(click.client_ip, click.country_hint),
            })
            .collect())
    }
}

/// The facts of a click from which its visitor is derived.
#[derive(Debug, Clone, Copy)]
pub struct Traces<'a> {
    user_agent: Option<&'a LongText>,
    client_ip: Option<ClientIp>,
    country_hint: Option<CountryCode>,
}

impl<'a> From<&'a ClickRecord> for Traces<'a> {
    fn from(click: &'a ClickRecord) -> Self {
        Self {
            user_agent: click.visit.user_agent.as_ref(),
            client_ip: click.client_ip,
            country_hint: click.country_hint,
        }
    }
}

impl<'a> From<&'a TestClick> for Traces<'a> {
    fn from(click: &'a TestClick) -> Self {
        Self {
            user_agent: click.visit.user_agent.as_ref(),
            client_ip: click.client_ip,
            country_hint: click.country_hint,
        }
    }
}
