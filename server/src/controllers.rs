//! What keeps clusters as the hub wants them: observe → decide (pure) → act.

pub mod access;
