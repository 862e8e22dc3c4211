//! Tests of the agent's end and the server's end of a tunnel, with each other and with hostile
//! peers.

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
