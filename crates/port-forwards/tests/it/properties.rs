//! Properties that are true for any input.

use drover_fuzz_corpus::replay;
use proptest::prelude::*;

use crate::fuzz_properties;

proptest! {
    #[test]
    fn no_sequence_of_messages_violates_the_protocol_of_port_forwards(
        messages in prop::collection::vec(prop::collection::vec(0..=2_u8, 0..4), 0..6),
        confirms in any::<bool>(),
    ) {
        let mut all = if confirms { vec![vec![0, 0x90, 0x1F], vec![1, 0x90, 0x1F]] } else { vec![] };
        all.extend(messages);
        fuzz_properties::channel(&all.join(&0xFF));
    }

    #[test]
    fn no_other_host_reaches_a_port_forward(
        host in "[a-f0-9]{0,33}[.@:]{0,2}(forwards|FORWARDS)?[.]?(example)?[.:0-9]{0,6}",
    ) {
        fuzz_properties::host(host.as_bytes());
    }
}

#[test]
fn corpus_of_port_forwards_has_no_panic() {
    for (target, property) in [
        ("channel", fuzz_properties::channel as fn(&[u8])),
        ("host", fuzz_properties::host),
    ] {
        replay(env!("CARGO_MANIFEST_DIR"), target, property);
    }
}
