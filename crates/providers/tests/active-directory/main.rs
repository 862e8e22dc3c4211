//! Tests against Samba as an Active Directory domain controller.

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
use drover_providers::{ProviderError, ProviderUser};
use samba::{Samba, USERS};
use secrecy::SecretString;

/// Password of all users. The password policy of the domain accepts this password.
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
    // Deeper than Drover's own limit, with a cycle at the end.
    entries += &group("level01", &["jane"]);
    for level in 2..=20 {
        let below = format!("level{:02}", level - 1);
        entries += &group(&format!("level{level:02}"), &[&below]);
    }
    entries += &group("cycle", &["level20"]);
    write!(
        entries,
        "dn: CN=level01,{USERS}\nchangetype: modify\nadd: member\nmember: CN=cycle,{USERS}\n\n"
    )
    .unwrap();
    entries += &group("others", &["john"]);
    for number in 0..600 {
        entries += &group(&format!("many{number:03}"), &["joan"]);
    }
    entries
}

fn refusal(answer: Result<ProviderUser, ProviderError>) -> Refusal {
    match answer {
        Err(ProviderError::Refused(refusal)) => refusal,
        other => panic!("expected a refusal: {other:?}"),
    }
}

fn names(person: &ProviderUser) -> Vec<&str> {
    person
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect()
}

/// Runs all cases in one test, because creating a domain takes 15 seconds. The cases are
/// independent.
#[tokio::test]
async fn active_directory_users_can_sign_in_and_be_refreshed() {
    let samba = Samba::start();
    samba.change(&entries());
    let directory = Directory::new(&spec(&samba, samba.ldaps()), secret(PASSWORD)).unwrap();
    nested_groups_and_the_primary_group_count(&samba, &directory).await;
    parents_of_excluded_groups_count(&samba).await;
    group_search_returns_all_pages(&directory).await;
    only_the_correct_password_reveals_the_disabled_account(&directory).await;
    login_name_cannot_inject_a_filter_or_name_a_group(&directory).await;
    connection_test_passes_and_wrong_service_account_fails(&samba, &directory).await;
    renamed_user_keeps_the_id_and_recreated_user_does_not(&samba, &directory).await;
    user_disabled_after_the_sign_in_is_rejected(&samba, &directory).await;
}

async fn nested_groups_and_the_primary_group_count(samba: &Samba, directory: &Directory) {
    let jane = directory.sign_in("jane", &secret(PASSWORD)).await.unwrap();
    assert_eq!(jane.display_name.as_deref(), Some("jane of the tests"));
    assert_eq!(jane.id.len(), 36);
    let mut expected: Vec<String> = (1..=20).map(|level| format!("level{level:02}")).collect();
    // The primary group and its parent groups.
    expected.extend(["cycle", "Domain Users", "Users"].map(str::to_owned));
    expected.sort();
    let mut found = names(&jane);
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(directory.refresh(&jane.id).await.unwrap(), jane);

    let by_starttls = Directory::new(&spec(samba, samba.ldap()), secret(PASSWORD)).unwrap();
    assert_eq!(by_starttls.refresh(&jane.id).await.unwrap(), jane);
}

/// Tests the search with which Drover resolves nested groups without support of the directory.
async fn parents_of_excluded_groups_count(samba: &Samba) {
    let mut spec = spec(samba, samba.ldaps());
    let counted = "(|(cn=level20)(cn=Users)(cn=others))";
    spec.groups.as_mut().unwrap().filter = Some(counted.to_owned());
    let directory = Directory::new(&spec, secret(PASSWORD)).unwrap();
    let jane = directory.sign_in("jane", &secret(PASSWORD)).await.unwrap();
    let mut found = names(&jane);
    found.sort_unstable();
    assert_eq!(found, ["Users", "level20"]);
}

async fn group_search_returns_all_pages(directory: &Directory) {
    let joan = directory.sign_in("joan", &secret(PASSWORD)).await.unwrap();
    let many = names(&joan)
        .iter()
        .filter(|name| name.starts_with("many"))
        .count();
    assert_eq!(many, 600);
}

async fn only_the_correct_password_reveals_the_disabled_account(directory: &Directory) {
    for login in ["disabled", "expired", "must-change"] {
        let right = directory.sign_in(login, &secret(PASSWORD)).await;
        let wrong = directory.sign_in(login, &secret("Wrong horse 1")).await;
        assert_eq!(refusal(right), Refusal::Disabled, "{login}");
        assert_eq!(refusal(wrong), Refusal::Credentials, "{login}");
    }
}

async fn login_name_cannot_inject_a_filter_or_name_a_group(directory: &Directory) {
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
    // Groups also have the login attribute.
    let group = directory.sign_in("Domain Users", &secret(PASSWORD)).await;
    assert_eq!(refusal(group), Refusal::Credentials);
    let empty = directory.sign_in("jane", &secret("")).await;
    assert_eq!(refusal(empty), Refusal::Credentials);
}

async fn connection_test_passes_and_wrong_service_account_fails(
    samba: &Samba,
    directory: &Directory,
) {
    let password = secret(PASSWORD);
    let test = directory.check(Some(("jane", &password))).await;
    assert!(test.works() && test.person.is_some(), "{test:?}");

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

async fn renamed_user_keeps_the_id_and_recreated_user_does_not(
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

async fn user_disabled_after_the_sign_in_is_rejected(samba: &Samba, directory: &Directory) {
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
