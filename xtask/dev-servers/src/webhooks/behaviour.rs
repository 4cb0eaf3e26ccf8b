//! What the receiver answers from now on.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Behaviour {
    #[default]
    Accept,
    Slow,
    Fail,
    Gone,
    Hang,
}

impl Behaviour {
    pub const ALL: [Self; 5] = [Self::Accept, Self::Slow, Self::Fail, Self::Gone, Self::Hang];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Accept => "200",
            Self::Slow => "200 after 5 seconds",
            Self::Fail => "500",
            Self::Gone => "410",
            Self::Hang => "Nothing",
        }
    }

    /// What the sender makes of it.
    pub const fn effect(self) -> &'static str {
        match self {
            Self::Accept => "Delivered.",
            Self::Slow => "Delivered: the sender waits for 15 seconds.",
            Self::Fail => {
                "A failed attempt. The next one comes after 5 seconds, then 5 and 30 minutes, hours later ones."
            }
            Self::Gone => "The endpoint is disabled. Turn it on again on its page in the dashboard.",
            Self::Hang => "After 15 seconds the attempt has failed.",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}
