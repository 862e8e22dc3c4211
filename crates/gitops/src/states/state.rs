//! The state of a bundle deployment.

/// The state of a bundle deployment. A larger state is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The agent deployed the bundle, and all objects are ready.
    Ready,
    /// The agent deployed the bundle, and objects are not ready.
    NotReady,
    /// The deployment does not exist yet.
    Pending,
    /// A newer deployment is staged, and the rollout has not released it yet.
    OutOfSync,
    /// Objects differ from the bundle.
    Modified,
    /// The agent has not deployed the bundle yet.
    WaitApplied,
    /// The agent cannot deploy the bundle.
    ErrApplied,
}

impl State {
    /// All states, the best first.
    pub const ALL: [Self; 7] = [
        Self::Ready,
        Self::NotReady,
        Self::Pending,
        Self::OutOfSync,
        Self::Modified,
        Self::WaitApplied,
        Self::ErrApplied,
    ];

    /// Returns the name of the state in objects.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::NotReady => "NotReady",
            Self::Pending => "Pending",
            Self::OutOfSync => "OutOfSync",
            Self::Modified => "Modified",
            Self::WaitApplied => "WaitApplied",
            Self::ErrApplied => "ErrApplied",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}
