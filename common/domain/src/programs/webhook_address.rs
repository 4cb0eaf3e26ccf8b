//! The addresses to which webhooks may be sent: public addresses, and those that the operator allows.
//!
//! An advertiser names the endpoint, and must not reach the internal network of this installation. So a table
//! lists the addresses that are not public. If an IPv6 address leads to an IPv4 address, the IPv4 address
//! decides, or the IPv6 address is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::Host;

/// Addresses that are not public by IANA's registry of special purposes, and one public address that a cloud
/// uses internally. RFC 6890, and the RFCs that it lists, describe them.
const NOT_PUBLIC_V4: [(Ipv4Net, &str); 19] = [
    (v4([0, 0, 0, 0], 8), "this network"),
    (v4([10, 0, 0, 0], 8), "private"),
    (v4([100, 64, 0, 0], 10), "carrier-grade NAT"),
    (v4([127, 0, 0, 0], 8), "loopback"),
    // Clouds serve their metadata at 169.254.169.254.
    (v4([169, 254, 0, 0], 16), "link-local"),
    // A public number; in Azure it is the host of the virtual machine that connects.
    (v4([168, 63, 129, 16], 32), "Azure's platform"),
    (v4([172, 16, 0, 0], 12), "private"),
    (v4([192, 0, 0, 0], 24), "protocol assignments"),
    (v4([192, 0, 2, 0], 24), "documentation"),
    (v4([192, 31, 196, 0], 24), "AS112"),
    (v4([192, 52, 193, 0], 24), "multicast relays"),
    (v4([192, 88, 99, 0], 24), "6to4 relays"),
    (v4([192, 168, 0, 0], 16), "private"),
    (v4([192, 175, 48, 0], 24), "AS112"),
    (v4([198, 18, 0, 0], 15), "benchmarking"),
    (v4([198, 51, 100, 0], 24), "documentation"),
    (v4([203, 0, 113, 0], 24), "documentation"),
    (v4([224, 0, 0, 0], 4), "multicast"),
    (v4([240, 0, 0, 0], 4), "reserved, and broadcast"),
];

/// Global unicast addresses. All others are loopback, link-local, unique-local (a cloud serves metadata at
/// fd00:ec2::254), multicast or unassigned.
const PUBLIC_V6: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// Parts of [`PUBLIC_V6`] that are not public.
const NOT_PUBLIC_V6: [(Ipv6Net, &str); 4] = [
    // Teredo (which leads to IPv4), benchmarking, and identifiers that are no addresses.
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "protocol assignments"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "documentation"),
    // Leads to any IPv4 address, through relays that no longer exist.
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "6to4"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "documentation"),
];

/// Leads to public IPv4 addresses in a network without IPv4. The IPv4 address inside decides.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

const fn v4(octets: [u8; 4], length: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(segments: [u16; 8], length: u8) -> Ipv6Net {
    let mut bits = 0;
    let mut rest: &[u16] = &segments;
    while let [segment, others @ ..] = rest {
        bits = bits << 16 | *segment as u128;
        rest = others;
    }
    Ipv6Net::new_assert(Ipv6Addr::from_bits(bits), length)
}

/// The addresses to which an installation sends webhooks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedAddresses {
    /// Loopback addresses, for a receiver on the developer's machine.
    pub loopback: bool,
    /// Networks that are allowed although they are not public.
    pub networks: Vec<IpNet>,
}

impl AllowedAddresses {
    /// Checks the host of a URL. The addresses of a name are checked later, when the sender connects.
    pub fn permits_host(&self, host: &Host<&str>) -> bool {
        match host {
            Host::Ipv4(address) => self.permits((*address).into()),
            Host::Ipv6(address) => self.permits((*address).into()),
            Host::Domain(name) => can_be_resolved(name) && (self.loopback || !is_localhost(name)),
        }
    }

    pub fn permits(&self, address: IpAddr) -> bool {
        let judged = inner(address);
        is_public(judged)
            || (self.loopback && judged.is_loopback())
            || self
                .networks
                .iter()
                .any(|network| network.contains(&address) || network.contains(&judged))
    }
}

/// A DNS name has no empty part, at most 63 characters in a part, and at most 253 in all (RFC 1035).
fn can_be_resolved(name: &str) -> bool {
    let name = without_root(name);
    name.len() <= 253 && name.split('.').all(|part| (1..=63).contains(&part.len()))
}

/// Removes the dot at the end of a name, which stands for the root.
fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn is_localhost(name: &str) -> bool {
    let name = without_root(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// The address that a connection really reaches.
fn inner(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) if NAT64.contains(&v6) => {
            let [.., high, low] = v6.segments();
            IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
        }
        // Converts only `::ffff:0:0/96`. IPv4-compatible addresses (`::/96`) are not public.
        other => other.to_canonical(),
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !NOT_PUBLIC_V4.iter().any(|(network, _)| network.contains(&v4)),
        IpAddr::V6(v6) => {
            PUBLIC_V6.contains(&v6) && !NOT_PUBLIC_V6.iter().any(|(network, _)| network.contains(&v6))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn permitted(address: &str, rules: &AllowedAddresses) -> bool {
        rules.permits(address.parse().unwrap())
    }

    #[test]
    fn what_is_not_public_is_refused() {
        let v4 = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.8.8.8 \
                  169.254.0.1 169.254.169.254 168.63.129.16 172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.170 \
                  192.0.2.1 192.88.99.1 192.168.0.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 \
                  203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255";
        let mapped_and_compatible = ":: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 \
                                     ::127.0.0.1 ::8.8.8.8";
        // Only the prefix `64:ff9b::/96` is known.
        let translated = "64:ff9b::10.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::8.8.8.8 \
                          ::ffff:0:8.8.8.8";
        let teredo_and_6to4 = "2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2002:a00:1::1 2002:7f00:1::1 \
                               2002:808:808::1";
        // Benchmarking, ORCHID, documentation, discard.
        let reserved = "2001:2::1 2001:20::1 2001:db8::1 3fff::1 100::1";
        // Unique-local, link-local, site-local, multicast, SRv6.
        let local = "fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 5f00::1 4000::1";
        for addresses in [
            v4,
            mapped_and_compatible,
            translated,
            teredo_and_6to4,
            reserved,
            local,
        ] {
            for address in addresses.split_whitespace() {
                assert!(!permitted(address, &AllowedAddresses::default()), "{address}");
            }
        }
    }

    #[test]
    fn what_is_public_is_permitted() {
        let v4 = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 \
                  169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255 198.17.255.255 198.20.0.0 \
                  223.255.255.255";
        let v6 = "2606:4700::1111 2001:4860:4860::8888 2a00:1450:4001::1 ::ffff:1.1.1.1 64:ff9b::1.1.1.1";
        for address in v4.split_whitespace().chain(v6.split_whitespace()) {
            assert!(permitted(address, &AllowedAddresses::default()), "{address}");
        }
    }

    #[test]
    fn loopback_alone_is_allowed_by_its_switch() {
        let rules = AllowedAddresses {
            loopback: true,
            networks: Vec::new(),
        };
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(permitted(address, &rules), "{address}");
        }
        for address in ["10.0.0.1", "0.0.0.0", "::", "169.254.169.254", "fe80::1"] {
            assert!(!permitted(address, &rules), "{address}");
        }
    }

    #[test]
    fn a_host_is_refused_by_its_url_where_that_shows_enough() {
        let host_of = |text: &str| url::Url::parse(text).unwrap().host().unwrap().to_owned();
        let permitted = |text: &str, loopback| {
            let rules = AllowedAddresses {
                loopback,
                networks: Vec::new(),
            };
            let host = host_of(text);
            rules.permits_host(&match &host {
                Host::Domain(name) => Host::Domain(name.as_str()),
                Host::Ipv4(address) => Host::Ipv4(*address),
                Host::Ipv6(address) => Host::Ipv6(*address),
            })
        };
        for text in [
            "https://10.0.0.1/",
            "https://0x0a.1/",
            "https://169.254.169.254/",
            "https://[fd00:ec2::254]/",
            "https://[::ffff:10.0.0.1]/",
        ] {
            assert!(!permitted(text, true), "{text}");
        }
        for text in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://[::1]/",
            "https://localhost/",
            "https://LOCALHOST./",
            "https://x.localhost/",
        ] {
            assert!(!permitted(text, false) && permitted(text, true), "{text}");
        }
        for text in [
            "https://hooks.example/",
            "https://localhost.example/",
            "https://1.1.1.1/",
        ] {
            assert!(permitted(text, false), "{text}");
        }
    }

    #[test]
    fn an_operator_allows_networks() {
        let rules = AllowedAddresses {
            loopback: false,
            networks: vec!["10.1.0.0/16".parse().unwrap(), "fd12::/16".parse().unwrap()],
        };
        for address in ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd12::9"] {
            assert!(permitted(address, &rules), "{address}");
        }
        for address in ["10.2.0.1", "::ffff:10.2.0.1", "127.0.0.1", "fd13::9"] {
            assert!(!permitted(address, &rules), "{address}");
        }
    }

    proptest! {
        #[test]
        fn an_ipv4_address_is_judged_the_same_in_any_form(octets: [u8; 4]) {
            let rules = AllowedAddresses::default();
            let plain = Ipv4Addr::from(octets);
            let translated = format!("64:ff9b::{plain}").parse().unwrap();
            prop_assert_eq!(rules.permits(plain.into()), rules.permits(plain.to_ipv6_mapped().into()));
            prop_assert_eq!(rules.permits(plain.into()), rules.permits(IpAddr::V6(translated)));
        }
    }
}
