//! The parts of the API server, from the outside.

mod access;
