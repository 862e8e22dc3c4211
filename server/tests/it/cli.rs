//! The command line, run as a program against a stub of the server with the same REST types.

mod clusters;
mod errors;
mod help;
mod hub;
mod image;
mod login;
mod plugin;
mod program;
mod roles;
mod stub;
mod terminal;
mod traces;
mod unit;
mod values;
