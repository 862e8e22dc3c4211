//! Checks the properties of the fuzzers with their stored corpora, as ordinary tests.

use drover_fuzz_corpus::entries;
use drover_git::untrusted;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn replay(target: &str, property: fn(&[u8])) {
    let entries = entries(env!("CARGO_MANIFEST_DIR"), target, 5);
    for entry in &entries {
        property(entry);
    }
    // A small fuzzer for machines without libFuzzer.
    let changes = vec(
        (any::<prop::sample::Index>(), any::<u8>(), 0_usize..3),
        1..6,
    );
    let mut runner = TestRunner::new(Config::with_cases(300));
    runner
        .run(
            &(prop::sample::select(entries), changes),
            |(mut data, changes)| {
                for (index, byte, length) in changes {
                    if !data.is_empty() {
                        let at = index.index(data.len());
                        let end = (at + length).min(data.len());
                        data.splice(at..end, [byte]);
                    }
                }
                property(&data);
                Ok(())
            },
        )
        .unwrap();
}

#[test]
fn reference_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("references", untrusted::references);
}

#[test]
fn pack_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("pack", untrusted::pack);
}

#[test]
fn known_hosts_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("known_hosts", untrusted::known_hosts);
}

#[test]
fn private_key_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("private_key", untrusted::private_key);
}

#[test]
fn handshake_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("handshake", untrusted::handshake);
}

#[test]
fn gitmodules_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("modules", untrusted::modules);
}

#[test]
fn location_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("location", untrusted::location);
}

#[test]
fn selection_parser_property_tests_pass_for_the_fuzz_corpus() {
    replay("selection", untrusted::selection);
}
