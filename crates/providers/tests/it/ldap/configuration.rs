//! Tests that an invalid LDAP configuration is rejected.

use drover_api::kinds::LdapSpec;
use drover_providers::ldap::Directory;

use super::{field, secret, spec};
use drover_testkit::authority::Authority;

/// The field that the error names, and the function that makes this field invalid.
type Wrong = (&'static str, fn(&mut LdapSpec));

#[test]
fn invalid_ldap_configuration_error_names_the_field() {
    let wrong: &[Wrong] = &[
        ("ldap.servers", |spec| spec.servers.clear()),
        ("ldap.servers", |spec| spec.servers[0] = "directory".into()),
        ("ldap.servers", |spec| {
            spec.servers[0] = "ldapi://%2Frun%2Fslapd".into();
        }),
        ("ldap.servers", |spec| {
            spec.servers[0] = "http://directory".into();
        }),
        ("ldap.servers", |spec| spec.servers[0] = "ldaps://".into()),
        ("ldap.servers", |spec| {
            spec.servers[0] = "ldaps:///dc=example".into();
        }),
        ("ldap.servers", |spec| {
            spec.servers[0] = "ldaps://drover:secret@directory".into();
        }),
        ("ldap.servers", |spec| {
            spec.servers[0] = "ldaps://directory/dc=example".into();
        }),
        ("ldap.servers", |spec| {
            spec.servers[0] = "ldaps://directory?uid".into();
        }),
        ("ldap.servers", |spec| {
            spec.servers[0] = "ldaps://directory:99999".into();
        }),
        ("ldap.servers", |spec| {
            spec.servers.push("ldaps://a b".into());
        }),
        ("ldap.caBundle", |spec| spec.ca_bundle = Some(String::new())),
        ("ldap.caBundle", |spec| {
            spec.ca_bundle = Some("certificate".into());
        }),
        ("ldap.caBundle", |spec| {
            let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
            spec.ca_bundle = Some(text.into());
        }),
        ("ldap.bindDn", |spec| spec.bind_dn = "drover".into()),
        ("ldap.bindDn", |spec| spec.bind_dn = String::new()),
        ("ldap.users.base", |spec| spec.users.base = "people".into()),
        ("ldap.users.filter", |spec| {
            spec.users.filter = Some("uid=*".into());
        }),
        ("ldap.users.filter", |spec| {
            spec.users.filter = Some("(uid=*))".into());
        }),
        ("ldap.users.loginAttribute", |spec| {
            spec.users.login_attribute = Some("uid)(cn".into());
        }),
        ("ldap.users.idAttribute", |spec| {
            spec.users.id_attribute = Some(String::new());
        }),
        ("ldap.groups.base", |spec| {
            spec.groups.as_mut().unwrap().base = String::new();
        }),
        ("ldap.groups.filter", |spec| {
            spec.groups.as_mut().unwrap().filter = Some("(&(cn=a)".into());
        }),
        ("ldap.groups.memberAttribute", |spec| {
            spec.groups.as_mut().unwrap().member_attribute = Some("*".into());
        }),
        ("ldap.groups.idAttribute", |spec| {
            spec.groups.as_mut().unwrap().id_attribute = Some("entry UUID".into());
        }),
        ("ldap.groups.nested", |spec| {
            let groups = spec.groups.as_mut().unwrap();
            groups.member_attribute = Some("memberUid".into());
            groups.nested = true;
        }),
    ];
    let authority = Authority::new().pem();
    for (number, (expected, change)) in wrong.iter().enumerate() {
        let mut spec = spec(&["ldaps://directory".to_owned()], &authority);
        Directory::new(&spec, secret("a password")).unwrap();
        change(&mut spec);
        let (field, problem) = field(Directory::new(&spec, secret("a password")));
        assert_eq!(field, *expected, "{number}: {problem}");
        assert!(!problem.contains("secret"), "{problem}");
    }
}

#[test]
fn ldap_server_url_with_ip_address_or_without_port_is_accepted() {
    let authority = Authority::new().pem();
    for (server, shown) in [
        ("ldaps://directory.example", "ldaps://directory.example:636"),
        ("ldap://Directory.Example/", "ldap://directory.example:389"),
        ("ldaps://127.0.0.1:6360", "ldaps://127.0.0.1:6360"),
        ("ldaps://[::1]", "ldaps://[::1]:636"),
    ] {
        let spec = spec(&[server.to_owned()], &authority);
        let directory = Directory::new(&spec, secret("a password")).unwrap();
        assert_eq!(format!("{directory:?}"), format!("Directory({shown:?})"));
    }
}
