//! The visitor's address and country, from which the worker derives the click's location.

use axum::http::{HeaderMap, HeaderName};
use clap::{ArgAction, Args};
use domain::tracking::visitor::{ClientIp, CountryCode};

use crate::http::client_address::ClientAddress;

/// Both are off by default: an address leaves the edge only where locations are wanted.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Visitors")]
pub struct OriginConfig {
    /// Whether the worker gets the visitor's address, to look up its location in GEOIP_DB_PATH. The address is stored in the
    /// stream's record, never in a table.
    #[arg(long, env = "SEND_CLIENT_IP", default_value_t = false, action = ArgAction::Set)]
    pub send_client_ip: bool,
    /// Header in which a trusted proxy names the visitor's country, such as CF-IPCountry.
    #[arg(long, env = "COUNTRY_HEADER")]
    pub country_header: Option<HeaderName>,
}

impl OriginConfig {
    pub fn client_ip(&self, client: ClientAddress) -> Option<ClientIp> {
        self.send_client_ip.then(|| ClientIp::new(client.ip))
    }

    /// Read only from a trusted proxy: any other peer could name any country.
    pub fn country(&self, client: ClientAddress, headers: &HeaderMap) -> Option<CountryCode> {
        let name = self.country_header.as_ref().filter(|_| client.by_proxy)?;
        CountryCode::parse(headers.get(name)?.to_str().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(by_proxy: bool) -> ClientAddress {
        ClientAddress {
            ip: "203.0.113.9".parse().unwrap(),
            by_proxy,
        }
    }

    fn country(config: &OriginConfig, by_proxy: bool, value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("cf-ipcountry", value.parse().unwrap());
        config.country(client(by_proxy), &headers).map(String::from)
    }

    #[test]
    fn a_proxy_names_the_country_and_nobody_else() {
        let config = OriginConfig {
            send_client_ip: false,
            country_header: Some(HeaderName::from_static("cf-ipcountry")),
        };
        assert_eq!(country(&config, true, "NL").as_deref(), Some("NL"));
        assert_eq!(country(&config, false, "NL"), None);
        assert_eq!(country(&config, true, "T1"), None);
        assert_eq!(config.country(client(true), &HeaderMap::new()), None);
        let nothing_is_wanted = OriginConfig {
            country_header: None,
            ..config
        };
        assert_eq!(country(&nothing_is_wanted, true, "NL"), None);
        assert_eq!(nothing_is_wanted.client_ip(client(true)), None);
    }
}
