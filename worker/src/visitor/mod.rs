//! What a click shows of its visitor, derived before the click's transaction begins.
//!
//! User agents go through a bounded cache; those it does not hold are read off the async threads, because the
//! patterns take a moment to build and long texts to match. Places come from memory.

mod bot;
mod geo;
mod user_agent;

use std::path::Path;

use common::domain::visitor::Visitor;
use common::messages::click::ClickRecord;
use tokio::task::JoinError;

use self::geo::Places;
use self::user_agent::UserAgents;

#[derive(Debug)]
pub struct Visitors {
    user_agents: UserAgents,
    places: Places,
}

impl Visitors {
    /// Reads the whole database of places into memory, where one is given.
    pub async fn load(geoip_db: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self {
            user_agents: UserAgents::new(),
            places: Places::load(geoip_db).await?,
        })
    }

    /// One visitor a click, in their order.
    pub async fn of(&self, clicks: &[&ClickRecord]) -> Result<Vec<Visitor>, JoinError> {
        let texts = clicks
            .iter()
            .map(|click| click.visit.user_agent.as_ref().map(AsRef::as_ref));
        let software = self.user_agents.read(texts).await?;
        Ok(clicks
            .iter()
            .zip(software)
            .map(|(click, software)| Visitor {
                software,
                place: self.places.of(click.client_ip, click.country_hint),
            })
            .collect())
    }
}
