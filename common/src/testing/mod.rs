//! What tests on real servers share. `cargo xtask test` provides the servers and says where they are.

mod database;
mod geoip;
mod nats;
mod postgres;
mod process;
mod redis;

use std::net::{SocketAddr, TcpListener};

use uuid::Uuid;

pub use self::database::TestDatabase;
pub use self::geoip::{Network, geoip_database};
pub use self::nats::OwnNats;
pub use self::postgres::OwnPostgres;
pub use self::process::Process;
pub use self::redis::OwnRedis;

/// A setting `cargo xtask test` exports.
pub fn from_environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run the tests with `cargo xtask test`, which provides the servers")
    })
}

/// Distinguishes everything one test creates on the shared servers.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's name for itself is no event and needs no clock"
)]
pub fn unique_name() -> String {
    format!("t{}", &Uuid::now_v7().simple().to_string()[12..])
}

/// A loopback address nobody listens on.
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
