//! A tiny database in MaxMind's format, version 2, for tests of code that reads real ones.
//!
//! The file has three parts: a binary tree over the bits of an address, the data that its leaves point to,
//! and metadata after a marker.

use std::net::IpAddr;

const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";
/// Zero bytes between tree and data. Pointers into the data include them.
const SEPARATOR: u32 = 16;

/// A network and its place, in the form of a city database.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    pub address: IpAddr,
    /// Number of leading bits of the address that define the network.
    pub prefix: u8,
    pub country: Option<&'static str>,
    pub region: Option<&'static str>,
    pub city: Option<&'static str>,
}

/// The bytes of a database with these networks. None may contain another.
pub fn geoip_database(networks: &[Network]) -> Vec<u8> {
    let mut nodes = vec![[Edge::Nowhere; 2]];
    let mut data = Vec::new();
    for network in networks {
        let leaf = Edge::Data(u32::try_from(data.len()).unwrap());
        data.extend(record(network));
        insert(&mut nodes, network, leaf);
    }
    let count = u32::try_from(nodes.len()).unwrap();
    let mut file: Vec<u8> = nodes
        .iter()
        .flatten()
        .flat_map(|edge| match edge {
            Edge::Nowhere => three_bytes(count),
            Edge::Node(index) => three_bytes(*index),
            Edge::Data(offset) => three_bytes(count + SEPARATOR + offset),
        })
        .collect();
    file.extend([0; SEPARATOR as usize]);
    file.extend(data);
    file.extend(MARKER);
    file.extend(metadata(count));
    file
}

#[derive(Clone, Copy)]
enum Edge {
    Nowhere,
    Node(u32),
    Data(u32),
}

fn insert(nodes: &mut Vec<[Edge; 2]>, network: &Network, leaf: Edge) {
    // IPv4 addresses are the first 2^32 addresses of the IPv6 tree.
    let (bits, length) = match network.address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), network.prefix + 96),
        IpAddr::V6(v6) => (v6.to_bits(), network.prefix),
    };
    let mut node = 0;
    for depth in 0..length {
        let side = usize::from(bits >> (127 - depth) & 1 == 1);
        if depth + 1 == length {
            nodes[node][side] = leaf;
        } else if let Edge::Node(next) = nodes[node][side] {
            node = next as usize;
        } else {
            nodes[node][side] = Edge::Node(u32::try_from(nodes.len()).unwrap());
            node = nodes.len();
            nodes.push([Edge::Nowhere; 2]);
        }
    }
}

fn three_bytes(value: u32) -> [u8; 3] {
    let [_, bytes @ ..] = value.to_be_bytes();
    bytes
}

fn record(network: &Network) -> Vec<u8> {
    let named = |name: &str| map(&[("names", map(&[("en", text(name))]))]);
    let mut parts = Vec::new();
    if let Some(country) = network.country {
        parts.push(("country", map(&[("iso_code", text(country))])));
    }
    if let Some(region) = network.region {
        parts.push(("subdivisions", array(&[named(region)])));
    }
    if let Some(city) = network.city {
        parts.push(("city", named(city)));
    }
    map(&parts)
}

fn metadata(node_count: u32) -> Vec<u8> {
    map(&[
        ("binary_format_major_version", unsigned(UINT16, 2)),
        ("binary_format_minor_version", unsigned(UINT16, 0)),
        ("build_epoch", unsigned(UINT64, 1_700_000_000)),
        ("database_type", text("Test-City")),
        ("description", map(&[("en", text("Networks of a test"))])),
        ("ip_version", unsigned(UINT16, 6)),
        ("languages", array(&[text("en")])),
        ("node_count", unsigned(UINT32, node_count)),
        ("record_size", unsigned(UINT16, 24)),
    ])
}

const TEXT: u8 = 2;
const UINT16: u8 = 5;
const UINT32: u8 = 6;
const MAP: u8 = 7;
const UINT64: u8 = 9;
const ARRAY: u8 = 11;

/// The first bytes of a value: type and size. Types above seven need a byte of their own. Sizes that need
/// more bytes do not occur in tests.
fn control(kind: u8, size: usize) -> Vec<u8> {
    let size = u8::try_from(size).unwrap();
    assert!(size < 29);
    if kind <= 7 {
        vec![kind << 5 | size]
    } else {
        vec![size, kind - 7]
    }
}

fn text(text: &str) -> Vec<u8> {
    [control(TEXT, text.len()), text.as_bytes().to_vec()].concat()
}

fn unsigned(kind: u8, value: u32) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let significant = &bytes[(value.leading_zeros() / 8) as usize..];
    [control(kind, significant.len()), significant.to_vec()].concat()
}

fn array(items: &[Vec<u8>]) -> Vec<u8> {
    [control(ARRAY, items.len()), items.concat()].concat()
}

fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = control(MAP, entries.len());
    for (key, value) in entries {
        bytes.extend(text(key));
        bytes.extend(value);
    }
    bytes
}
