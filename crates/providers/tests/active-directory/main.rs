//! Active Directory as Samba is it: a domain of its own, made and started by the test.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod samba;

use std::fmt::Write as _;

use drover_api::kinds::{LdapGroups, LdapSchema, LdapSpec, LdapUsers};
use drover_providers::error::Refusal;
use drover_providers::ldap::Directory;
use drover_providers::{Person, ProviderError};
use samba::{Samba, USERS};
use secrecy::SecretString;

/// A password for anybody, as the domain's rules want it.
const PASSWORD: &str = "Right horse 1";

fn secret(text: &str) -> SecretString {
    SecretString::from(text)
}

fn spec(samba: &Samba, server: String) -> LdapSpec {
    LdapSpec {
        schema: LdapSchema::ActiveDirectory,
        servers: vec![server],
        ca_bundle: Some(samba.authority()),
        bind_dn: format!("CN=drover,{USERS}"),
        users: LdapUsers {
            base: USERS.to_owned(),
            ..LdapUsers::default()
        },
        groups: Some(LdapGroups {
            base: "DC=dir,DC=test".to_owned(),
            nested: true,
            ..LdapGroups::default()
        }),
        ..LdapSpec::default()
    }
}

fn user(login: &str, more: &str) -> String {
    format!(
        "dn: CN={login},{USERS}\nchangetype: add\nobjectClass: user\nsAMAccountName: {login}\n\
         displayName: {login} of the tests\nuserAccountControl: 512\nunicodePwd:: {}\n{more}\n",
        samba::unicode_password(PASSWORD)
    )
}

fn group(name: &str, members: &[&str]) -> String {
    let mut text = format!(
        "dn: CN={name},{USERS}\nchangetype: add\nobjectClass: group\nsAMAccountName: {name}\n"
    );
    for member in members {
        writeln!(text, "member: CN={member},{USERS}").unwrap();
    }
    text + "\n"
}

fn entries() -> String {
    let mut entries = ["drover", "jane", "john", "joan"]
        .map(|login| user(login, ""))
        .concat();
    entries += &user("disabled", "").replace("Control: 512", "Control: 514");
    entries += &user("expired", "accountExpires: 132539328000000000\n");
    entries += &user("must-change", "pwdLastSet: 0\n");
    // Deeper than Drover would follow by itself, with a circle at the end.
    entries += &group("level01", &["jane"]);
    for level in 2..=20 {
        let below = format!("level{:02}", level - 1);
        entries += &group(&format!("level{level:02}"), &[&below]);
    }
    entries += &group("circle", &["level20"]);
    write!(
        entries,
        "dn: CN=level01,{USERS}\nchangetype: modify\nadd: member\nmember: CN=circle,{USERS}\n\n"
    )
    .unwrap();
    entries += &group("others", &["john"]);
    for number in 0..600 {
        entries += &group(&format!("many{number:03}"), &["joan"]);
    }
    entries
}

fn refusal(answer: Result<Person, ProviderError>) -> Refusal {
    match answer {
        Err(ProviderError::Refused(refusal)) => refusal,
        other => panic!("it should say no: {other:?}"),
    }
}

fn names(person: &Person) -> Vec<&str> {
    person
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect()
}

/// One test, for a domain takes a quarter of a minute to make; its parts do not need each other.
#[tokio::test]
async fn people_of_active_directory_are_who_it_says_they_are() {
    let samba = Samba::start();
    samba.change(&entries());
    let directory = Directory::new(&spec(&samba, samba.ldaps()), secret(PASSWORD)).unwrap();
    groups_of_groups_and_the_primary_group_count(&samba, &directory).await;
    what_the_filter_leaves_out_is_still_a_way_to_what_counts(&samba).await;
    groups_come_in_pages(&directory).await;
    an_account_that_is_disabled_is_told_to_its_right_password_only(&directory).await;
    nothing_that_is_typed_is_part_of_a_filter_or_another_kind(&directory).await;
    a_trial_works_and_a_wrong_service_account_does_not(&samba, &directory).await;
    whoever_is_renamed_stays_and_whoever_comes_again_is_new(&samba, &directory).await;
    whoever_is_disabled_later_is_refused(&samba, &directory).await;
}

async fn groups_of_groups_and_the_primary_group_count(samba: &Samba, directory: &Directory) {
    let jane = directory.sign_in("jane", &secret(PASSWORD)).await.unwrap();
    assert_eq!(jane.display_name.as_deref(), Some("jane of the tests"));
    assert_eq!(jane.id.len(), 36);
    let mut expected: Vec<String> = (1..=20).map(|level| format!("level{level:02}")).collect();
    // The primary group, and what it is in.
    expected.extend(["circle", "Domain Users", "Users"].map(str::to_owned));
    expected.sort();
    let mut found = names(&jane);
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(directory.refresh(&jane.id).await.unwrap(), jane);

    let by_starttls = Directory::new(&spec(samba, samba.ldap()), secret(PASSWORD)).unwrap();
    assert_eq!(by_starttls.refresh(&jane.id).await.unwrap(), jane);
}

/// As in a directory where Drover goes from group to group itself.
async fn what_the_filter_leaves_out_is_still_a_way_to_what_counts(samba: &Samba) {
    let mut spec = spec(samba, samba.ldaps());
    let counted = "(|(cn=level20)(cn=Users)(cn=others))";
    spec.groups.as_mut().unwrap().filter = Some(counted.to_owned());
    let directory = Directory::new(&spec, secret(PASSWORD)).unwrap();
    let jane = directory.sign_in("jane", &secret(PASSWORD)).await.unwrap();
    let mut found = names(&jane);
    found.sort_unstable();
    assert_eq!(found, ["Users", "level20"]);
}

async fn groups_come_in_pages(directory: &Directory) {
    let joan = directory.sign_in("joan", &secret(PASSWORD)).await.unwrap();
    let many = names(&joan)
        .iter()
        .filter(|name| name.starts_with("many"))
        .count();
    assert_eq!(many, 600);
}

async fn an_account_that_is_disabled_is_told_to_its_right_password_only(directory: &Directory) {
    for login in ["disabled", "expired", "must-change"] {
        let right = directory.sign_in(login, &secret(PASSWORD)).await;
        let wrong = directory.sign_in(login, &secret("Wrong horse 1")).await;
        assert_eq!(refusal(right), Refusal::Disabled, "{login}");
        assert_eq!(refusal(wrong), Refusal::Credentials, "{login}");
    }
}

async fn nothing_that_is_typed_is_part_of_a_filter_or_another_kind(directory: &Directory) {
    for login in [
        "*",
        "j*",
        "nobody",
        "jane)(cn=*",
        r"jan\65",
        "jane\0",
        "*)(cn=*",
    ] {
        let answer = directory.sign_in(login, &secret(PASSWORD)).await;
        assert_eq!(refusal(answer), Refusal::Credentials, "{login:?}");
    }
    // A group, which has the login attribute too.
    let group = directory.sign_in("Domain Users", &secret(PASSWORD)).await;
    assert_eq!(refusal(group), Refusal::Credentials);
    let empty = directory.sign_in("jane", &secret("")).await;
    assert_eq!(refusal(empty), Refusal::Credentials);
}

async fn a_trial_works_and_a_wrong_service_account_does_not(samba: &Samba, directory: &Directory) {
    let password = secret(PASSWORD);
    let trial = directory.check(Some(("jane", &password))).await;
    assert!(trial.works() && trial.person.is_some(), "{trial:?}");

    let wrong = Directory::new(&spec(samba, samba.ldaps()), secret("Wrong horse 1")).unwrap();
    let answer = wrong.sign_in("jane", &password).await;
    assert!(
        matches!(
            answer,
            Err(ProviderError::Misconfigured {
                field: "ldap.bindPassword",
                ..
            })
        ),
        "{answer:?}"
    );
}

async fn whoever_is_renamed_stays_and_whoever_comes_again_is_new(
    samba: &Samba,
    directory: &Directory,
) {
    let before = directory.sign_in("john", &secret(PASSWORD)).await.unwrap();
    samba.change(&format!(
        "dn: CN=john,{USERS}\nchangetype: modrdn\nnewrdn: CN=jack\ndeleteoldrdn: 1\n\n\
         dn: CN=jack,{USERS}\nchangetype: modify\nreplace: sAMAccountName\nsAMAccountName: jack\n"
    ));
    let after = directory.refresh(&before.id).await.unwrap();
    assert_eq!(
        (after.login.as_str(), &after.groups),
        ("jack", &before.groups)
    );

    samba.change(&format!("dn: CN=jack,{USERS}\nchangetype: delete\n"));
    assert_eq!(refusal(directory.refresh(&before.id).await), Refusal::Gone);
    samba.change(&user("jack", ""));
    let again = directory.sign_in("jack", &secret(PASSWORD)).await.unwrap();
    assert_ne!(again.id, before.id);
    assert!(!names(&again).contains(&"others"));
    assert_eq!(refusal(directory.refresh(&before.id).await), Refusal::Gone);
}

async fn whoever_is_disabled_later_is_refused(samba: &Samba, directory: &Directory) {
    let jane = directory.sign_in("jane", &secret(PASSWORD)).await.unwrap();
    samba.change(&format!(
        "dn: CN=jane,{USERS}\nchangetype: modify\nreplace: userAccountControl\n\
         userAccountControl: 514\n"
    ));
    assert_eq!(
        refusal(directory.refresh(&jane.id).await),
        Refusal::Disabled
    );
}
