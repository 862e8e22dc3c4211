//! Properties of the crate `drover-port-forwards` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use bytes::Bytes;
use drover_port_forwards::channel::{Decoder, Received};
use drover_port_forwards::{Destination, ForwardDomain, destination};
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Uri};

/// Checks that the decoder returns no data before the cluster has confirmed the port, and that
/// errors have a limited length and no control characters. The byte 255 separates the messages.
pub(crate) fn channel(data: &[u8]) {
    let mut decoder = Decoder::new(0x1F90);
    let mut confirmed = false;
    for message in data.split(|byte| *byte == 0xFF) {
        match decoder.decode(Bytes::copy_from_slice(message)) {
            Ok(Received::Data(bytes)) => {
                assert!(confirmed && !bytes.is_empty());
                assert_eq!(message[0], 0);
            }
            Ok(Received::Failed(text)) => {
                assert!(text.chars().count() <= 1024 && !text.chars().any(char::is_control));
                assert_eq!(message[0], 1);
            }
            Ok(Received::Nothing) => confirmed |= message == [0, 0x90, 0x1F],
            Err(_) => {}
        }
    }
}

/// Checks that a host reaches a port forward only if the host ends with the forward domain, and that
/// a label has 32 hexadecimal digits.
pub(crate) fn host(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else {
        return;
    };
    let Ok(domain) = "forwards.example".parse::<ForwardDomain>() else {
        return;
    };
    let headers = HeaderMap::from_iter([(HOST, value)]);
    let uri = Uri::from_static("/");
    let text = String::from_utf8_lossy(data).to_ascii_lowercase();
    match destination(Some(&domain), &uri, &headers) {
        Destination::Drover => {
            let is_below = text == "forwards.example" || text.ends_with(".forwards.example");
            // A colon starts the port.
            assert!(!is_below || text.contains(':'), "{text}");
        }
        Destination::Forward(label) => {
            assert!(text.contains("forwards.example"), "{text}");
            if let Some(label) = label {
                let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
                assert!(label.len() == 32 && label.chars().all(is_digit), "{label}");
                assert!(
                    text.starts_with(&format!("{label}.forwards.example")),
                    "{text}"
                );
            }
        }
        Destination::Ambiguous => unreachable!("the request has one host"),
    }
}
