//! The tunnel's two ends against each other, and each against a hostile other.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod load;
#[cfg(test)]
mod network;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod renewal;
#[cfg(test)]
mod requests;
mod response_budget;
#[cfg(test)]
mod upgrades;
#[cfg(test)]
mod websocket;
