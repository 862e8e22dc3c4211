//! The runner of `make check` and `make test`: runs compatible suites in parallel on few cores.
//!
//! A suite declares its dependencies and the resources that it uses. [`schedule`] decides in pure
//! code which suites start, [`run`] runs their commands, and [`suites`] contains all suites.

pub mod command;
pub mod programs;
pub mod repeat;
pub mod report;
pub mod run;
pub mod schedule;
pub mod suite;
pub mod suites;
