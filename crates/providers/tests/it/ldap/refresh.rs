//! Tests of refreshing a user from an LDAP directory.

use drover_providers::error::Refusal;
use drover_providers::ldap::Directory;

use super::{directory, field, groups_of, refusal, secret};
use drover_testkit::slapd::{Slapd, group, person};

const JANE: &str = "uid=jane,ou=people,dc=example,dc=org";

#[tokio::test]
async fn renamed_and_moved_ldap_user_keeps_the_id() {
    let slapd = Slapd::with(&(person("jane", "") + &group("admins", &[JANE])));
    let directory = directory(&super::reaching(&slapd));
    let before = directory.sign_in("jane", &secret("password of jane")).await;
    let before = before.unwrap();
    slapd.change(&format!(
        "dn: {JANE}\nchangetype: modrdn\nnewrdn: uid=joan\ndeleteoldrdn: 1\n\n\
         dn: cn=admins,ou=groups,dc=example,dc=org\nchangetype: modify\nreplace: member\n\
         member: uid=joan,ou=people,dc=example,dc=org\n"
    ));
    let after = directory.refresh(&before.id).await.unwrap();
    assert_eq!(after.id, before.id);
    assert_eq!(after.login, "joan");
    assert_eq!(groups_of(&after), ["admins"]);
    let signed_in = directory.sign_in("joan", &secret("password of jane")).await;
    assert_eq!(signed_in.unwrap().id, before.id);
    let old = directory.sign_in("jane", &secret("password of jane")).await;
    assert_eq!(refusal(old), Refusal::Credentials);
}

#[tokio::test]
async fn recreated_ldap_user_has_a_different_id() {
    let slapd = Slapd::with(&["jane", "john"].map(|login| person(login, "")).concat());
    let directory = directory(&super::reaching(&slapd));
    let password = secret("password of jane");
    let before = directory.sign_in("jane", &password).await.unwrap();
    slapd.change(&format!("dn: {JANE}\nchangetype: delete\n"));
    assert_eq!(refusal(directory.refresh(&before.id).await), Refusal::Gone);
    assert_eq!(
        refusal(directory.sign_in("jane", &password).await),
        Refusal::Credentials
    );
    let again = person("jane", "").replacen("objectClass", "changetype: add\nobjectClass", 1);
    slapd.change(&again);
    let after = directory.sign_in("jane", &password).await.unwrap();
    assert_ne!(after.id, before.id);
    assert_eq!(refusal(directory.refresh(&before.id).await), Refusal::Gone);
}

#[tokio::test]
async fn disabled_expired_and_excluded_users_are_rejected_immediately() {
    let entries = ["jane", "john", "joan", "judy"].map(|login| person(login, "title: staff"));
    let slapd = Slapd::with(&entries.concat());
    let mut spec = super::reaching(&slapd);
    spec.users.filter = Some("(title=staff)".to_owned());
    let directory = directory(&spec);
    let dn = |login: &str| format!("uid={login},ou=people,dc=example,dc=org");
    for (login, change, expected) in [
        (
            "jane",
            "add: shadowExpire\nshadowExpire: 1",
            Refusal::Disabled,
        ),
        (
            "john",
            "add: pwdAccountLockedTime\npwdAccountLockedTime: 000001010000Z",
            Refusal::Disabled,
        ),
        ("joan", "replace: title\ntitle: guest", Refusal::Gone),
    ] {
        let password = secret(&format!("password of {login}"));
        let id = directory.sign_in(login, &password).await.unwrap().id;
        directory.refresh(&id).await.unwrap();
        slapd.change(&format!(
            "dn: {}\nchangetype: modify\n{change}\n",
            dn(login)
        ));
        assert_eq!(refusal(directory.refresh(&id).await), expected, "{login}");
    }
    // A temporary lock after wrong passwords does not reject the user.
    let id = directory.sign_in("judy", &secret("password of judy")).await;
    let id = id.unwrap().id;
    let lock = "add: pwdAccountLockedTime\npwdAccountLockedTime: 20261122000000Z";
    slapd.change(&format!("dn: {}\nchangetype: modify\n{lock}\n", dn("judy")));
    directory.refresh(&id).await.unwrap();
}

#[tokio::test]
async fn removed_group_membership_is_absent_after_the_next_refresh() {
    let slapd = Slapd::with(&(person("jane", "") + &group("admins", &[JANE, "cn=x"])));
    let directory = directory(&super::reaching(&slapd));
    let jane = directory.sign_in("jane", &secret("password of jane")).await;
    let jane = jane.unwrap();
    assert_eq!(groups_of(&jane), ["admins"]);
    slapd.change(&format!(
        "dn: cn=admins,ou=groups,dc=example,dc=org\nchangetype: modify\ndelete: member\n\
         member: {JANE}\n"
    ));
    assert!(directory.refresh(&jane.id).await.unwrap().groups.is_empty());
}

#[tokio::test]
async fn refresh_of_invalid_id_returns_error_gone() {
    let slapd = Slapd::with(&person("jane", ""));
    let directory = directory(&super::reaching(&slapd));
    for id in [
        "",
        "*",
        "jane",
        "*)(uid=jane",
        "00000000-0000-0000-0000-000000000000",
    ] {
        assert_eq!(refusal(directory.refresh(id).await), Refusal::Gone, "{id}");
    }
}

#[tokio::test]
async fn refresh_with_wrong_configuration_keeps_users_and_error_names_the_field() {
    let slapd = Slapd::with(&person("jane", ""));
    let id = directory(&super::reaching(&slapd))
        .sign_in("jane", &secret("password of jane"))
        .await
        .unwrap()
        .id;
    let wrong = Directory::new(&super::reaching(&slapd), secret("wrong")).unwrap();
    assert_eq!(field(wrong.refresh(&id).await).0, "ldap.bindPassword");

    let mut spec = super::reaching(&slapd);
    spec.users.base = "ou=nowhere,dc=example,dc=org".to_owned();
    let answer = directory(&spec).refresh(&id).await;
    assert_eq!(field(answer).0, "ldap.users.base");

    // Jane's own account can bind but not read entries, which does not reject Jane.
    let mut spec = super::reaching(&slapd);
    spec.bind_dn = JANE.to_owned();
    let blind = Directory::new(&spec, secret("password of jane")).unwrap();
    assert_eq!(field(blind.refresh(&id).await).0, "ldap.users.base");

    let mut spec = super::reaching(&slapd);
    spec.users.id_attribute = Some("employeeNumber".to_owned());
    let answer = directory(&spec)
        .sign_in("jane", &secret("password of jane"))
        .await;
    assert_eq!(field(answer).0, "ldap.users.idAttribute");
    // No user has the attribute, so an empty result does not mean that the user was deleted.
    let answer = directory(&spec).refresh(&id).await;
    assert_eq!(field(answer).0, "ldap.users.idAttribute");
    let mut spec = super::reaching(&slapd);
    spec.users.filter = Some("(employeeType=staff)".to_owned());
    let answer = directory(&spec).refresh(&id).await;
    assert_eq!(field(answer).0, "ldap.users.idAttribute");

    let mut spec = super::reaching(&slapd);
    spec.groups.as_mut().unwrap().base = "ou=nowhere,dc=example,dc=org".to_owned();
    let answer = directory(&spec).refresh(&id).await;
    assert_eq!(field(answer).0, "ldap.groups.base");
}
