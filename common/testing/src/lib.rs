//! Shared parts of tests on real servers. `cargo xtask test` starts the servers and exports their addresses.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod database;
mod folder;
mod geoip;
mod nats;
mod postgres;
mod process;
mod redis;
mod tls;

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

/// Re-exported so that this crate depends on it, and not the tests. It turns on features of serde_json and
/// hashbrown. As a dev-dependency of tests it did so in test builds only, so every crate was compiled again
/// for them.
pub use jsonschema;

pub use self::database::{READS, SERVICE, TestDatabase, as_role};
pub use self::folder::Folder;
pub use self::geoip::{Network, geoip_database};
pub use self::nats::OwnNats;
pub use self::postgres::OwnPostgres;
pub use self::process::{Process, signal};
pub use self::redis::OwnRedis;
pub use self::tls::{Authority, Certificate};

/// A setting that `cargo xtask test` exports.
pub fn from_environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run the tests with `cargo xtask test`, which provides the servers")
    })
}

/// A name that distinguishes everything a test creates on the shared servers.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's name for itself is no event and needs no clock"
)]
pub fn unique_name() -> String {
    format!("t{}", &Uuid::now_v7().simple().to_string()[12..])
}

/// Runs a future to its end where code cannot await, as in `Drop`, on its own thread and runtime.
pub fn block_on<T: Send>(future: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(future)
        });
        thread.join().unwrap()
    })
}

/// Ports below the system's ephemeral range.
const PORTS: Range<u16> = 12_000..32_000;

/// A free loopback address that no other test gets while this one runs. A service that is started with it may
/// listen later, and its requests must not reach another test's service.
pub fn free_address() -> SocketAddr {
    static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());
    let directory = std::env::temp_dir().join("referral-tracker-test-ports");
    fs::create_dir_all(&directory).unwrap();
    loop {
        let port = rand::random_range(PORTS);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let held = File::create(directory.join(port.to_string())).unwrap();
        if held.try_lock().is_ok() && TcpListener::bind(address).is_ok() {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(held);
            return address;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_address_is_given_twice() {
        let given: HashSet<SocketAddr> = (0..200).map(|_| free_address()).collect();
        assert_eq!(given.len(), 200);
    }
}
