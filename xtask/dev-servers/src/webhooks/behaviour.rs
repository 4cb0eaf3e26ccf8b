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

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}
