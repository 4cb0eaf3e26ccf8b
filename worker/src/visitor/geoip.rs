//! A visitor's location: from the GeoIP database, else from a trusted proxy's header, else unknown.

use std::path::Path;
use std::sync::Once;

use anyhow::Context;
use domain::text::Label;
use domain::tracking::visitor::{ClientIp, CountryCode, Place};
use maxminddb::geoip2::City;
use maxminddb::{MaxMindDbError, Reader};

/// A city database, or a country database, which has fewer fields.
#[derive(Debug)]
pub struct GeoIpDatabase(Option<Reader<Vec<u8>>>);

impl GeoIpDatabase {
    /// Fails if the file cannot be read. A newer file is read at the next start.
    pub async fn load(geoip_db: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = geoip_db.map(Path::to_owned) else {
            return Ok(Self(None));
        };
        let shown = path.display().to_string();
        let read = tokio::task::spawn_blocking(move || Reader::open_readfile(path)).await?;
        let reader = read.with_context(|| format!("reading the database of places {shown}"))?;
        tracing::info!(
            path = shown,
            kind = reader.metadata().database_type,
            "places are known"
        );
        Ok(Self(Some(reader)))
    }

    pub fn of(&self, client_ip: Option<ClientIp>, country_hint: Option<CountryCode>) -> Place {
        let known = match (&self.0, client_ip) {
            (Some(reader), Some(client_ip)) => look_up(reader, client_ip).unwrap_or_else(|error| {
                warn_once(&error);
                None
            }),
            _ => None,
        };
        known.unwrap_or(Place {
            country: country_hint,
            ..Place::default()
        })
    }
}

/// Returns `None` if the database does not know the country.
fn look_up(reader: &Reader<Vec<u8>>, client_ip: ClientIp) -> Result<Option<Place>, MaxMindDbError> {
    let Some(found) = reader.lookup(client_ip.canonical())?.decode::<City<'_>>()? else {
        return Ok(None);
    };
    let country = found.country.iso_code.and_then(CountryCode::parse);
    Ok(country.map(|country| Place {
        country: Some(country),
        region: found
            .subdivisions
            .first()
            .and_then(|subdivision| label(subdivision.names.english)),
        city: label(found.city.names.english),
    }))
}

/// Leaves out a name that cannot be stored: a bad file must not stop clicks.
fn label(name: Option<&str>) -> Option<Label> {
    Label::parse(name?).ok()
}

/// Logs once, because a damaged database fails for every click. The error contains no address.
fn warn_once(error: &MaxMindDbError) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| tracing::warn!(%error, "GeoIP database is damaged; some locations stay unknown"));
}

#[cfg(test)]
mod tests {
    use testing::{Network, geoip_database};

    use super::*;

    fn places() -> GeoIpDatabase {
        let network = |address: &str, prefix, country, region, city| Network {
            address: address.parse().unwrap(),
            prefix,
            country,
            region,
            city,
        };
        let file = geoip_database(&[
            network("203.0.113.0", 24, Some("DE"), Some("Bavaria"), Some("Munich")),
            network("198.51.100.128", 25, Some("fr"), None, None),
            network("192.0.2.0", 24, None, None, Some("Nowhere\0")),
            network("2001:db8::", 32, Some("JP"), None, Some("Ky\u{14d}to")),
            network("2001:db9::", 32, Some("JP"), Some("a\0b"), Some("")),
        ]);
        GeoIpDatabase(Some(Reader::from_source(file).unwrap()))
    }

    fn of(places: &GeoIpDatabase, address: &str, hint: Option<&str>) -> [Option<String>; 3] {
        let client_ip = ClientIp::new(address.parse().unwrap());
        let place = places.of(Some(client_ip), hint.and_then(CountryCode::parse));
        [
            place.country.map(String::from),
            place.region.map(String::from),
            place.city.map(String::from),
        ]
    }

    fn parts(country: &str, region: &str, city: &str) -> [Option<String>; 3] {
        [country, region, city].map(|part| (!part.is_empty()).then(|| part.to_owned()))
    }

    #[test]
    fn the_network_of_an_address_tells_its_place() {
        let places = places();
        assert_eq!(of(&places, "203.0.113.9", None), parts("DE", "Bavaria", "Munich"));
        assert_eq!(
            of(&places, "::ffff:203.0.113.9", None),
            parts("DE", "Bavaria", "Munich")
        );
        assert_eq!(of(&places, "198.51.100.200", None), parts("FR", "", ""));
        assert_eq!(of(&places, "2001:db8:7::1", None), parts("JP", "", "Ky\u{14d}to"));
    }

    #[test]
    fn what_the_database_does_not_know_the_proxy_may() {
        let places = places();
        assert_eq!(of(&places, "198.51.100.1", Some("NL")), parts("NL", "", ""));
        assert_eq!(of(&places, "192.0.2.1", Some("NL")), parts("NL", "", ""));
        assert_eq!(of(&places, "203.0.113.9", Some("NL"))[0].as_deref(), Some("DE"));
        assert_eq!(of(&places, "198.51.100.1", None), parts("", "", ""));
        assert_eq!(
            of(&GeoIpDatabase(None), "203.0.113.9", Some("NL")),
            parts("NL", "", "")
        );
        assert_eq!(
            places.of(None, CountryCode::parse("NL")).country,
            CountryCode::parse("NL")
        );
    }

    #[test]
    fn names_that_cannot_be_stored_are_left_out() {
        assert_eq!(of(&places(), "2001:db9::1", None), parts("JP", "", ""));
    }

    #[test]
    fn a_damaged_database_costs_places_not_clicks() {
        let GeoIpDatabase(Some(reader)) = places() else {
            unreachable!()
        };
        let address = ClientIp::new("203.0.113.9".parse().unwrap());
        let mut file = geoip_database(&[Network {
            address: "203.0.113.0".parse().unwrap(),
            prefix: 24,
            country: Some("DE"),
            region: None,
            city: None,
        }]);
        assert!(look_up(&reader, address).unwrap().is_some());
        // Changes the first byte of the data: a map becomes a pointer far beyond the end.
        let tree = Reader::from_source(file.clone()).unwrap().metadata().node_count as usize * 6;
        file[tree + 16] = 0x3f;
        let damaged = GeoIpDatabase(Some(Reader::from_source(file).unwrap()));
        assert_eq!(damaged.of(Some(address), None), Place::default());
    }

    #[tokio::test]
    async fn a_missing_file_ends_the_start() {
        let error = GeoIpDatabase::load(Some(Path::new("/nonexistent/places.mmdb")))
            .await
            .unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent/places.mmdb"));
    }
}
