//! Runs the properties of the fuzz targets on their corpora.

#[path = "../../fuzz/properties/github.rs"]
mod github;
#[path = "../../fuzz/properties/ldap.rs"]
mod ldap;
#[path = "../../fuzz/properties/oidc.rs"]
mod oidc;

use drover_fuzz_corpus::replay;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn github_property_tests_pass_for_the_fuzz_corpora() {
    replay(PACKAGE, "link", github::link);
    replay(PACKAGE, "withheld", github::withheld);
    replay(PACKAGE, "callback", github::callback);
}

#[test]
fn ldap_property_tests_pass_for_the_fuzz_corpora() {
    replay(PACKAGE, "ldap_message", ldap::message);
    replay(PACKAGE, "ldap_filter", ldap::filter);
}

#[test]
fn openid_connect_property_tests_pass_for_the_fuzz_corpora() {
    replay(PACKAGE, "oidc_callback", oidc::callback);
    replay(PACKAGE, "oidc_id_token", oidc::id_token);
    replay(PACKAGE, "oidc_metadata", oidc::metadata);
    replay(PACKAGE, "oidc_keys", oidc::keys);
    replay(PACKAGE, "oidc_claims", oidc::claims);
}
