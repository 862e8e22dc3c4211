//! Tests with the schema of Active Directory in slapd. slapd lacks only Active Directory's matching
//! rule.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_api::kinds::{LdapSchema, LdapSpec};
use drover_providers::error::Refusal;

use super::{directory, field, groups_of, refusal, secret};
use drover_testkit::slapd::Slapd;

const NEVER: i64 = i64::MAX;
const DOMAIN_SID: [u8; 12] = [1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0];

fn guid(number: u8) -> String {
    STANDARD.encode([
        number, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 1, 2, 3, 4, 5, 6, 7, number,
    ])
}

fn sid(number: u32) -> String {
    STANDARD.encode([&DOMAIN_SID[..], &number.to_le_bytes()].concat())
}

fn user(login: &str, number: u8, control: u32, expires: i64) -> String {
    format!(
        "
dn: cn={login} of the tests,ou=people,dc=example,dc=org
objectClass: user
cn: {login} of the tests
sn: Tests
sAMAccountName: {login}
objectGUID:: {}
userAccountControl: {control}
accountExpires: {expires}
objectSid:: {}
primaryGroupID: 513
userPassword: password of {login}
",
        guid(number),
        sid(1000 + u32::from(number))
    )
}

fn group(name: &str, number: u8, members: &[&str]) -> String {
    let members: Vec<String> = members.iter().map(|dn| format!("member: {dn}\n")).collect();
    format!(
        "\ndn: cn={name},ou=groups,dc=example,dc=org\nobjectClass: group\ncn: {name}\n\
         objectGUID:: {}\nobjectSid:: {}\n{}",
        guid(number),
        sid(500 + u32::from(number)),
        members.concat()
    )
}

fn active(slapd: &Slapd) -> LdapSpec {
    let mut spec = super::reaching(slapd);
    spec.schema = LdapSchema::ActiveDirectory;
    spec.groups.as_mut().unwrap().nested = true;
    spec
}

#[tokio::test]
async fn active_directory_user_id_is_the_guid_and_groups_include_the_primary_group() {
    let entries = user("jane", 0x33, 512, NEVER)
        + &group("Domain Users", 13, &[])
        + &group(
            "everybody",
            14,
            &["cn=Domain Users,ou=groups,dc=example,dc=org"],
        )
        + &group(
            "team",
            15,
            &["cn=jane of the tests,ou=people,dc=example,dc=org"],
        )
        + &group("teams", 16, &["cn=team,ou=groups,dc=example,dc=org"])
        + &group(
            "others",
            17,
            &["cn=john of the tests,ou=people,dc=example,dc=org"],
        );
    let slapd = Slapd::with(&entries);
    let directory = directory(&active(&slapd));
    let jane = directory.sign_in("JANE", &secret("password of jane")).await;
    let jane = jane.unwrap();
    assert_eq!(jane.login, "jane");
    assert_eq!(jane.id, "00112233-4455-6677-0102-030405060733");
    assert_eq!(
        groups_of(&jane),
        ["Domain Users", "everybody", "team", "teams"]
    );
    assert_eq!(directory.refresh(&jane.id).await.unwrap(), jane);
    assert_eq!(
        refusal(
            directory
                .refresh("00112233-4455-6677-0102-030405060734")
                .await
        ),
        Refusal::Gone
    );
}

#[tokio::test]
async fn disabled_and_expired_accounts_are_rejected() {
    // 2021-01-01.
    let past = 132_539_328_000_000_000;
    let entries = [
        user("active", 1, 512, NEVER),
        user("disabled", 2, 514, NEVER),
        user("expired", 3, 512, past),
    ];
    let slapd = Slapd::with(&entries.concat());
    let directory = directory(&active(&slapd));
    for login in ["disabled", "expired"] {
        let password = secret(&format!("password of {login}"));
        let right = directory.sign_in(login, &password).await;
        let wrong = directory
            .sign_in(login, &secret("password of active"))
            .await;
        assert_eq!(refusal(right), Refusal::Disabled, "{login}");
        assert_eq!(refusal(wrong), Refusal::Credentials, "{login}");
    }
    let id = directory
        .sign_in("active", &secret("password of active"))
        .await;
    let id = id.unwrap().id;
    for (attribute, value) in [("userAccountControl", "66050"), ("accountExpires", "1")] {
        let set = |value: &str| {
            slapd.change(&format!(
                "dn: cn=active of the tests,ou=people,dc=example,dc=org\nchangetype: modify\n\
                 replace: {attribute}\n{attribute}: {value}\n"
            ));
        };
        set(value);
        assert_eq!(refusal(directory.refresh(&id).await), Refusal::Disabled);
        set(if attribute == "accountExpires" {
            "0"
        } else {
            "512"
        });
        directory.refresh(&id).await.unwrap();
    }
}

#[tokio::test]
async fn unreadable_account_control_is_a_configuration_error() {
    let unreadable = user("jane", 1, 512, NEVER).replace("userAccountControl: 512\n", "");
    let slapd = Slapd::with(&unreadable);
    let directory = directory(&active(&slapd));
    let answer = directory.sign_in("jane", &secret("password of jane")).await;
    let (field, problem) = field(answer);
    assert_eq!(field, "ldap.bindDn");
    assert!(problem.contains("userAccountControl"), "{problem}");
}

#[tokio::test]
async fn groups_and_computers_cannot_sign_in() {
    let password = "\nuserPassword: password of jane\n";
    let computer = user("host$", 2, 512, NEVER).replace("Class: user", "Class: computer");
    let team = group("team", 3, &[]).trim_end().to_owned() + "\nsAMAccountName: team" + password;
    let slapd = Slapd::with(&(user("jane", 1, 512, NEVER) + &computer + &team));
    let directory = directory(&active(&slapd));
    directory
        .sign_in("jane", &secret("password of jane"))
        .await
        .unwrap();
    for (login, password) in [("host$", "password of host$"), ("team", "password of jane")] {
        let answer = directory.sign_in(login, &secret(password)).await;
        assert_eq!(refusal(answer), Refusal::Credentials, "{login}");
    }
}
