//! The crate from outside: the program `drover` as people and programs run it, and the server's
//! modules together in one process, without a Kubernetes.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod road;
