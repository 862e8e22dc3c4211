//! Tests of the command line. The tests run the program with a stub of the server that uses the
//! same REST types.

mod allocator;
mod clusters;
mod errors;
mod help;
mod hub;
mod image;
mod login;
mod objects;
mod plugin;
mod program;
mod roles;
mod stub;
mod terminal;
mod traces;
mod unit;
mod values;
