//! Integration tests without Kubernetes: the program `drover` as users run it, and the modules of
//! the server in one process.

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
