//! `cargo xtask stop`: ends what `dev --detach`, or a test run that was killed, left running.

use anyhow::Result;
use harness::area::Checkout;
use harness::progress::note;
use harness::stop::stop_area;

pub(crate) fn stop(checkout: &Checkout) -> Result<()> {
    let stopped = stop_area(&checkout.dev_area())?;
    // A test run that is still running holds the lock.
    let test = checkout.test_area();
    let left_by_test = match test.dir.is_dir().then(|| test.try_lock()).transpose()?.flatten() {
        Some(_lock) => stop_area(&test)?,
        None => false,
    };
    if !stopped && !left_by_test {
        note("nothing of this checkout is running");
    }
    Ok(())
}
