//! Providers, real ones and faithful fakes: who somebody is, and what is not believed.

#[cfg(test)]
mod fuzz_corpora;
#[cfg(test)]
mod github;
