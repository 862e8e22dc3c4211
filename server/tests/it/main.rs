//! The crate from outside: the program `drover` as people and programs run it.

#[cfg(test)]
mod cli;
