//! States of deployments and their roll-ups.

mod state;

pub use state::State;
