//! Windows of time, and the count of one caller in a window.

/// The time that a count covers: a minute or an hour of the clock, so that all ingests agree on its start and
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    Minute,
    Hour,
}

impl Window {
    pub const fn seconds(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3600,
        }
    }

    /// The number of the window at `now`, which is in seconds since 1970.
    pub const fn number(self, now: i64) -> i64 {
        now.div_euclid(self.seconds())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub window: Window,
    /// Requests in this window, including this one.
    pub used: u64,
    /// Seconds since 1970.
    pub now: i64,
}

impl Count {
    /// The end of the window, in seconds since 1970.
    pub const fn resets_at(self) -> i64 {
        (self.window.number(self.now) + 1) * self.window.seconds()
    }

    pub fn retry_after_seconds(self) -> i64 {
        (self.resets_at() - self.now).max(1)
    }
}
