//! The crate from outside: the program `drover` as people and programs run it.

mod cli;
