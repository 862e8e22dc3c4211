//! Properties for arbitrary bytes. The fuzzer checks the properties, and `cargo test` checks the
//! properties on the corpus.

use drover_providers::ldap::wire::filter::Filter;
use drover_providers::ldap::wire::message::{
    self, Answer, MAX_MESSAGE_BYTES, Message, Query, Scope,
};

/// Checks that the parser parses each message completely or rejects the message. Also checks that
/// no parsed value is longer than the message.
pub(crate) fn message(data: &[u8]) {
    let Ok(Some(length)) = message::length(data) else {
        return;
    };
    assert!((2..=MAX_MESSAGE_BYTES).contains(&length));
    let Some(bytes) = data.get(..length) else {
        return;
    };
    // A message with trailing bytes is rejected.
    assert!(length == data.len() || Message::parse(data).is_err());
    let Ok(message) = Message::parse(bytes) else {
        return;
    };
    match message.answer {
        Answer::BindResult(outcome) | Answer::Extended(outcome) | Answer::Done { outcome, .. } => {
            assert!(!outcome.diagnostic.contains(char::is_control));
        }
        Answer::Entry(entry) => assert!(entry.name.len() < length),
        Answer::Reference => {}
    }
}

/// Checks that a parsed filter is encoded as one element.
pub(crate) fn filter(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(filter) = Filter::parse(text) else {
        return;
    };
    assert!(text.starts_with('(') && text.ends_with(')'));
    let query = Query {
        base: "",
        scope: Scope::Base,
        filter: &filter,
        attributes: &[],
        size_limit: 0,
        time_limit: 0,
    };
    let request = message::search(1, &query, None);
    assert_eq!(message::length(&request), Ok(Some(request.len())));
}
