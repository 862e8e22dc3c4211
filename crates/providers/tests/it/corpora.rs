//! Runs the properties of the fuzz targets on their corpora.

#[path = "../../fuzz/properties/github.rs"]
mod github;
#[path = "../../fuzz/properties/ldap.rs"]
mod ldap;
#[path = "../../fuzz/properties/oidc.rs"]
mod oidc;

fn replay(target: &str, property: fn(&[u8])) {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let mut seen = 0;
    for entry in std::fs::read_dir(&corpus).unwrap() {
        property(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen >= 5, "{} has only {seen} entries", corpus.display());
}

#[test]
fn github_property_tests_pass_for_the_fuzz_corpora() {
    replay("link", github::link);
    replay("withheld", github::withheld);
    replay("callback", github::callback);
}

#[test]
fn ldap_property_tests_pass_for_the_fuzz_corpora() {
    replay("ldap_message", ldap::message);
    replay("ldap_filter", ldap::filter);
}

#[test]
fn openid_connect_property_tests_pass_for_the_fuzz_corpora() {
    replay("oidc_callback", oidc::callback);
    replay("oidc_id_token", oidc::id_token);
    replay("oidc_metadata", oidc::metadata);
    replay("oidc_keys", oidc::keys);
    replay("oidc_claims", oidc::claims);
}
