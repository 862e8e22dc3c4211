//! Integration tests without Kubernetes. They run the program `drover`, or the modules of the
//! server in the test process.

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
