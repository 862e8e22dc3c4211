use drover_api::kinds::{LdapSpec, LdapUsers};

use super::*;
use crate::ldap::wire::ber;
use crate::ldap::wire::message::{Answer, Message};

const PROVIDER: &str = "ldaps://directory.example:636";
/// The date 2026-11-22 in days since 1970.
const DAYS: u64 = 20_779;
const GUID: [u8; 16] = [
    0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
];

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(DAYS * SECONDS_OF_A_DAY)
}

fn settings(schema: LdapSchema) -> Settings {
    Settings::of(&LdapSpec {
        schema,
        servers: vec!["ldaps://directory.example".to_owned()],
        bind_dn: "cn=drover,dc=example".to_owned(),
        users: LdapUsers {
            base: "dc=example".to_owned(),
            ..LdapUsers::default()
        },
        ..LdapSpec::default()
    })
    .unwrap()
}

fn entry(name: &str, attributes: &[(&str, &[u8])]) -> Entry {
    let attributes: Vec<u8> = attributes
        .iter()
        .flat_map(|(name, value)| {
            let values = ber::element(ber::SET, &[&ber::octets(value)]);
            ber::element(ber::SEQUENCE, &[&ber::octets(name.as_bytes()), &values])
        })
        .collect();
    let attributes = ber::element(ber::SEQUENCE, &[&attributes]);
    let entry = ber::element(0x64, &[&ber::octets(name.as_bytes()), &attributes]);
    let id = ber::number(ber::INTEGER, 1);
    let bytes = ber::element(ber::SEQUENCE, &[&id, &entry]);
    match Message::parse(&bytes).unwrap().answer {
        Answer::Entry(entry) => entry,
        other => panic!("{other:?}"),
    }
}

fn read(schema: LdapSchema, more: &[(&str, &[u8])]) -> Result<Account, ProviderError> {
    let mut attributes: Vec<(&str, &[u8])> = match schema {
        LdapSchema::Posix => vec![
            ("uid", b"jane"),
            ("entryUUID", b"B0E1B1F4-7B4C-103E-8F0A-6D2B1C1E3A55"),
        ],
        LdapSchema::ActiveDirectory => vec![("sAMAccountName", b"jane"), ("objectGUID", &GUID)],
    };
    attributes.extend_from_slice(more);
    let entry = entry("cn=jane", &attributes);
    Account::read(&entry, &settings(schema), PROVIDER, now())
}

#[test]
fn ldap_uuid_attribute_round_trips_between_id_text_and_bytes() {
    let id = |schema| read(schema, &[("userAccountControl", b"512")]).unwrap().id;
    let posix = id(LdapSchema::Posix);
    assert_eq!(posix, "b0e1b1f4-7b4c-103e-8f0a-6d2b1c1e3a55");
    let guid = id(LdapSchema::ActiveDirectory);
    assert_eq!(guid, "00112233-4455-6677-8899-aabbccddeeff");

    let attribute = settings(LdapSchema::ActiveDirectory).people.id;
    let filter = attribute.filter(&guid).unwrap();
    let bytes = crate::ldap::wire::filter::Filter::Equal("objectGUID".to_owned(), GUID.to_vec());
    assert_eq!(filter, bytes);
    for none in ["", "*", "jane", "00112233-4455-6677-8899-aabbccddeef"] {
        assert_eq!(attribute.filter(none), None, "{none}");
    }
}

#[test]
fn each_posix_lock_attribute_disables_the_account() {
    let tomorrow = (DAYS + 1).to_string();
    for (attribute, value, expected) in [
        ("cn", &b"Jane"[..], AccountStatus::Active),
        ("shadowExpire", b"-1", AccountStatus::Active),
        ("shadowExpire", tomorrow.as_bytes(), AccountStatus::Active),
        ("shadowExpire", b"20779", AccountStatus::Disabled),
        ("shadowExpire", b"0", AccountStatus::Disabled),
        ("shadowExpire", b"soon", AccountStatus::Disabled),
        ("nsAccountLock", b"TRUE", AccountStatus::Disabled),
        ("nsAccountLock", b"false", AccountStatus::Active),
        (
            "pwdAccountLockedTime",
            b"000001010000Z",
            AccountStatus::Disabled,
        ),
        // A temporary lock after wrong passwords does not disable the account.
        (
            "pwdAccountLockedTime",
            b"20261121235959Z",
            AccountStatus::Active,
        ),
    ] {
        let account = read(LdapSchema::Posix, &[(attribute, value)]).unwrap();
        assert_eq!(account.status, expected, "{attribute}: {value:?}");
    }
}

#[test]
fn active_directory_flags_and_expiry_disable_the_account() {
    // 2026-11-22, and one second later.
    let (then, later) = ("134397792000000000", "134397792010000000");
    for (control, expires, expected) in [
        ("512", "9223372036854775807", AccountStatus::Active),
        ("512", "0", AccountStatus::Active),
        ("512", later, AccountStatus::Active),
        ("512", then, AccountStatus::Disabled),
        ("512", "1", AccountStatus::Disabled),
        ("512", "-1", AccountStatus::Disabled),
        ("512", "never", AccountStatus::Disabled),
        ("514", "0", AccountStatus::Disabled),
        ("66050", "0", AccountStatus::Disabled),
        ("66048", "0", AccountStatus::Active),
    ] {
        let more: &[(&str, &[u8])] = &[
            ("userAccountControl", control.as_bytes()),
            ("accountExpires", expires.as_bytes()),
        ];
        let account = read(LdapSchema::ActiveDirectory, more).unwrap();
        assert_eq!(account.status, expected, "{control}, {expires}");
    }
    for more in [&[][..], &[("userAccountControl", &b"many"[..])]] {
        let error = read(LdapSchema::ActiveDirectory, more).unwrap_err();
        let field = "ldap.bindDn";
        assert!(
            matches!(error, ProviderError::Misconfigured { field: found, .. } if found == field)
        );
    }
}

#[test]
fn primary_group_sid_is_derived_from_the_object_sid() {
    let sid: &[u8] = &[1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 0x51, 4, 0, 0];
    let primary = |sid: &[u8], group: &[u8]| {
        let more: &[(&str, &[u8])] = &[
            ("userAccountControl", b"512"),
            ("objectSid", sid),
            ("primaryGroupID", group),
        ];
        read(LdapSchema::ActiveDirectory, more)
            .unwrap()
            .primary_group
    };
    let expected = vec![1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 2, 0, 0];
    assert_eq!(primary(sid, b"513"), Some(expected));
    for (sid, group) in [
        (&sid[..15], &b"513"[..]),
        (&[][..], b"513"),
        (&[1, 0, 0, 0, 0, 0, 0, 5][..], b"513"),
        (sid, b"-1"),
        (sid, b"4294967296"),
        (sid, b"users"),
    ] {
        assert_eq!(primary(sid, group), None, "{sid:?} {group:?}");
    }
}

#[test]
fn entry_without_name_login_or_id_returns_an_error() {
    let settings = settings(LdapSchema::Posix);
    let id: (&str, &[u8]) = ("entryUUID", b"b0e1b1f4-7b4c-103e-8f0a-6d2b1c1e3a55");
    let login: (&str, &[u8]) = ("uid", b"jane");
    for (name, attributes) in [
        ("", vec![login, id]),
        ("cn=jane", vec![id]),
        ("cn=jane", vec![("uid", &b"a\0b"[..]), id]),
        ("cn=jane", vec![login]),
        ("cn=jane", vec![login, ("entryUUID", b"jane")]),
    ] {
        let entry = entry(name, &attributes);
        let read = Account::read(&entry, &settings, PROVIDER, now());
        assert!(read.is_err(), "{name}: {attributes:?}");
    }
}

#[test]
fn ldap_values_with_control_or_invalid_characters_are_omitted() {
    for (name, expected) in [
        (&b" Jane Doe "[..], Some("Jane Doe")),
        ("Jäne".as_bytes(), Some("Jäne")),
        (b"Jane\x1b[2J", None),
        (b"\xff", None),
        (b"  ", None),
        (&[b'a'; 257], None),
    ] {
        let account = read(LdapSchema::Posix, &[("displayName", name)]).unwrap();
        assert_eq!(account.display_name.as_deref(), expected, "{name:?}");
    }
}
