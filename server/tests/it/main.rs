//! Integration tests without Kubernetes. The tests run the program `drover`, or the server's
//! modules in the test process.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod proxy;
