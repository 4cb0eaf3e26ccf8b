//! Cargo, run from inside `cargo run`.

use std::env;
use std::process::Command;

use crate::area::Checkout;

/// The cargo that runs us, in the root of the checkout.
pub fn cargo(checkout: &Checkout) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(&checkout.root);
    // `cargo run` sets variables of our package. Build scripts that watch them would rebuild their crates
    // each time a build is started differently.
    for (name, _) in env::vars_os() {
        let describes_us = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        });
        if describes_us {
            command.env_remove(name);
        }
    }
    command
}
