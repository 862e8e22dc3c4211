//! Properties of the crate `drover-kubeconfig` that are true for any input. The fuzzer checks the
//! properties with generated inputs, and `cargo test` checks the properties with the corpus.

use drover_kubeconfig::{HttpsUrl, parse};

/// Checks that an accepted kubeconfig has an https URL and a credential, and that its debug output and the
/// error contain no secret. In the corpus, secrets contain the text `s3cr3t`.
pub(crate) fn kubeconfig(data: &[u8]) {
    match parse(data) {
        Ok(access) => {
            let url = access.server.to_string();
            assert!(url.starts_with("https://"));
            assert_eq!(HttpsUrl::parse(&url).as_ref(), Ok(&access.server));
            assert!(access.authorization.is_some() || access.certificate.is_some());
            assert_eq!(
                access.authorities.is_empty(),
                access.authorities_pem.is_empty()
            );
            assert!(!format!("{:?}", access.authorization).contains("s3cr3t"));
        }
        Err(error) => assert!(!format!("{error} {error:?}").contains("s3cr3t")),
    }
}
