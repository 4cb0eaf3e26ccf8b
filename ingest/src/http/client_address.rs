//! The client's address: the peer's, unless the peer is a trusted proxy.
//!
//! Behind trusted proxies the address is the first untrusted one of `X-Forwarded-For`, read from the right.
//! The client itself may have written any address further left, so those prove nothing.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The source of a request, for limits and derived data; never logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress {
    pub ip: IpAddr,
    /// True if the peer is a trusted proxy: then its headers about the client are used.
    pub by_proxy: bool,
}

impl ClientAddress {
    /// The address by which limits count a client: an IPv4 address, or the /64 network of an IPv6 subscriber.
    pub fn subscriber(self) -> IpAddr {
        match self.ip.to_canonical() {
            IpAddr::V4(v4) => IpAddr::V4(v4),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        }
    }
}

/// The proxies whose headers about the client are trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    pub fn new(networks: &[IpNet]) -> Self {
        Self(networks.into())
    }

    fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        if !self.trusts(peer) {
            return ClientAddress {
                ip: peer,
                by_proxy: false,
            };
        }
        // Read as bytes: a client may send any bytes, and the hops that our proxies append to them still
        // count.
        let lines = headers.get_all(FORWARDED_FOR).iter().rev();
        let hops = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        let mut ip = peer;
        for hop in hops {
            let Some(address) = parse(hop) else { break };
            ip = address;
            if !self.trusts(address) {
                break;
            }
        }
        ClientAddress { ip, by_proxy: true }
    }
}

fn parse(hop: &[u8]) -> Option<IpAddr> {
    let hop = str::from_utf8(hop.trim_ascii()).ok()?;
    hop.parse()
        .ok()
        .or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// Inserts the [`ClientAddress`] into the request's extensions.
pub fn insert_into(request: &mut Request, proxies: &TrustedProxies) {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    // Every connection has a peer. Only a test sends a request without one.
    let peer = peer.map_or(
        IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        |ConnectInfo(peer)| peer.ip(),
    );
    let client = proxies.client(peer, request.headers());
    request.extensions_mut().insert(client);
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client_of(peer: &str, forwarded: &[&[u8]]) -> String {
        let proxies = TrustedProxies::new(&["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(value).unwrap());
        }
        proxies.client(peer.parse().unwrap(), &headers).ip.to_string()
    }

    #[test]
    fn behind_proxies_the_first_untrusted_address_from_the_right_counts() {
        for (peer, forwarded, expected) in [
            // A stranger cannot say who it is.
            ("203.0.113.9", &["198.51.100.1"][..], "203.0.113.9"),
            (
                "10.0.0.1",
                &["198.51.100.1, 203.0.113.9, 10.0.0.2"],
                "203.0.113.9",
            ),
            ("10.0.0.1", &["198.51.100.1", "203.0.113.9:4711"], "203.0.113.9"),
            ("::1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("::ffff:10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            // Garbage ends the search.
            ("10.0.0.1", &["198.51.100.1, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &[], "10.0.0.1"),
        ] {
            let lines: Vec<&[u8]> = forwarded.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(client_of(peer, &lines), expected, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn a_bad_byte_ends_the_search_and_hides_nothing_to_its_right() {
        for bad in [
            &b"\xff, 203.0.113.9"[..],
            b"198.51.100.1\xff,203.0.113.9",
            b"a\tb,\xc3\x28 ,203.0.113.9",
        ] {
            assert_eq!(client_of("10.0.0.1", &[bad]), "203.0.113.9");
            assert_eq!(client_of("10.0.0.1", &[bad, b"10.0.0.2"]), "203.0.113.9");
        }
        assert_eq!(
            client_of("10.0.0.1", &[b"203.0.113.9, \xff, 10.0.0.2"]),
            "10.0.0.2"
        );
    }

    #[test]
    fn an_ipv6_subscriber_is_one_client() {
        let of = |ip: &str| {
            ClientAddress {
                ip: ip.parse().unwrap(),
                by_proxy: false,
            }
            .subscriber()
        };
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
