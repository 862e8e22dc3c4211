//! Tests of sign-ins with login name and password.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_providers::error::Refusal;
use drover_providers::ldap::Directory;
use tokio::net::TcpListener;

use super::fake::Relay;
use super::{directory, field, groups_of, refusal, secret};
use drover_testkit::slapd::{Slapd, group, person};

const JANE: &str = "uid=jane,ou=people,dc=example,dc=org";

#[tokio::test]
async fn sign_in_returns_the_directory_id_over_ldaps_and_starttls() {
    let entries = person("jane", "displayName: Jane Doe") + &group("admins", &[JANE]);
    let slapd = Slapd::with(&entries);
    let mut ids = Vec::new();
    for server in [slapd.ldaps(), slapd.ldap()] {
        let mut spec = super::reaching(&slapd);
        spec.servers = vec![server];
        let jane = directory(&spec)
            .sign_in("jane", &secret("password of jane"))
            .await
            .unwrap();
        assert_eq!(jane.login, "jane");
        assert_eq!(jane.display_name.as_deref(), Some("Jane Doe"));
        assert_eq!(jane.email.as_deref(), Some("jane@example.org"));
        assert_eq!(groups_of(&jane), ["admins"]);
        assert_eq!((jane.id.len(), jane.groups[0].id.len()), (36, 36));
        ids.push(jane.id);
    }
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test]
async fn wrong_password_and_unknown_login_are_indistinguishable() {
    let slapd = Slapd::with(&person("jane", ""));
    let mut conversations = Vec::new();
    for (login, password) in [
        ("jane", "password of john"),
        ("john", "password of john"),
        ("jane ", "password of jane "),
    ] {
        let relay = Relay::to(slapd.port()).await;
        let mut spec = super::reaching(&slapd);
        spec.servers = vec![relay.ldap()];
        let answer = directory(&spec).sign_in(login, &secret(password)).await;
        assert_eq!(refusal(answer), Refusal::Credentials, "{login}");
        conversations.push(relay.connections());
    }
    assert_eq!(conversations, [2, 2, 2]);
}

#[tokio::test]
async fn empty_password_is_rejected_without_a_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("ldap://{}", listener.local_addr().unwrap());
    let authority = drover_testkit::authority::Authority::new();
    let directory = directory(&super::spec(&[server], &authority.pem()));
    let long = "x".repeat(1025);
    for (login, password) in [
        ("jane", ""),
        ("jane", "\0"),
        ("jane", "password of jane\0"),
        ("jane", long.as_str()),
        ("", "password of jane"),
        // Some directories ignore the text after a zero byte.
        ("jane\0", "password of jane"),
        ("jane\n", "password of jane"),
        ("  ", "password of jane"),
        (long.as_str(), "password of jane"),
    ] {
        let answer = directory.sign_in(login, &secret(password)).await;
        assert_eq!(refusal(answer), Refusal::Credentials, "{login:?}");
    }
    let connected = tokio::select! {
        biased;
        connected = listener.accept() => Some(connected),
        () = std::future::ready(()) => None,
    };
    assert!(connected.is_none());
}

#[tokio::test]
async fn empty_service_account_password_is_a_configuration_error() {
    let authority = drover_testkit::authority::Authority::new();
    let spec = super::spec(&["ldaps://localhost".to_owned()], &authority.pem());
    let (field, _) = field(Directory::new(&spec, secret("")));
    assert_eq!(field, "ldap.bindPassword");
}

#[tokio::test]
async fn login_name_cannot_inject_an_ldap_filter() {
    let odd = [
        "star*",
        "(paren)",
        r"back\\slash",
        "Jürgen",
        "日本",
        "a=b,c",
    ];
    let mut entries = person("jane", "");
    for (number, login) in odd.iter().enumerate() {
        let login = login.replace(r"\\", r"\");
        let more = format!("uid:: {}", STANDARD.encode(&login));
        entries += &person(&format!("odd{number}"), &more);
    }
    let slapd = Slapd::with(&entries);
    let directory = directory(&super::reaching(&slapd));
    for injection in [
        "*",
        "j*",
        "*)(uid=*",
        "*)(uid=jane",
        "jane)(uid=*",
        "jane)(|(uid=*)",
        "jane)(objectClass=*",
        r"jan\65",
        r"\2a",
        "jane\0",
        "\0",
        "star",
        "paren",
        "odd\u{fffd}",
        "uid=jane,ou=people,dc=example,dc=org",
        ")",
        "(",
        "\\",
        "jane)(&",
        "*)(|(mail=*",
    ] {
        let answer = directory
            .sign_in(injection, &secret("password of jane"))
            .await;
        assert_eq!(refusal(answer), Refusal::Credentials, "{injection:?}");
    }
    for (number, login) in odd.iter().enumerate() {
        let login = login.replace(r"\\", r"\");
        let password = secret(&format!("password of odd{number}"));
        let person = directory.sign_in(&login, &password).await.unwrap();
        assert_eq!(
            person.email,
            Some(format!("odd{number}@example.org")),
            "{login}"
        );
    }
}

#[tokio::test]
async fn ambiguous_login_name_is_a_configuration_error() {
    let twin = person("jane", "").replace("uid=jane,", "cn=jane of the tests,");
    let slapd = Slapd::with(&(person("jane", "") + &twin));
    let answer = directory(&super::reaching(&slapd))
        .sign_in("jane", &secret("password of jane"))
        .await;
    let (field, problem) = field(answer);
    assert_eq!(field, "ldap.users.loginAttribute");
    assert!(problem.contains("narrow ldap.users.base"), "{problem}");
}

#[tokio::test]
async fn user_excluded_by_the_filter_cannot_sign_in() {
    let entries = person("jane", "employeeType: staff") + &person("john", "");
    let slapd = Slapd::with(&entries);
    let mut spec = super::reaching(&slapd);
    spec.users.filter = Some("(&(objectClass=inetOrgPerson)(employeeType=staff))".to_owned());
    let directory = directory(&spec);
    let jane = directory.sign_in("jane", &secret("password of jane")).await;
    let john = directory.sign_in("john", &secret("password of john")).await;
    assert_eq!(jane.unwrap().login, "jane");
    assert_eq!(refusal(john), Refusal::Credentials);
}

#[tokio::test]
async fn correct_password_reveals_a_disabled_account() {
    // slapd checks the password but not shadowExpire.
    let slapd = Slapd::with(&person("jane", "shadowExpire: 1"));
    let directory = directory(&super::reaching(&slapd));
    let right = directory.sign_in("jane", &secret("password of jane")).await;
    let wrong = directory.sign_in("jane", &secret("password of john")).await;
    assert_eq!(refusal(right), Refusal::Disabled);
    assert_eq!(refusal(wrong), Refusal::Credentials);
}

#[tokio::test]
async fn locked_account_cannot_sign_in() {
    let locked = "pwdAccountLockedTime: 000001010000Z";
    let slapd = Slapd::with(&(person("jane", locked) + &person("john", "")));
    let directory = directory(&super::reaching(&slapd));
    // slapd does not return the reason of the rejection.
    let jane = directory.sign_in("jane", &secret("password of jane")).await;
    let john = directory.sign_in("john", &secret("password of john")).await;
    assert_eq!(refusal(jane), Refusal::Credentials);
    assert_eq!(john.unwrap().login, "john");
}

#[tokio::test]
async fn errors_and_debug_output_contain_no_password() {
    let slapd = Slapd::with(&person("jane", ""));
    let mut spec = super::reaching(&slapd);
    let good = directory(&spec);
    spec.users.base = "ou=nowhere,dc=example,dc=org".to_owned();
    let bad = directory(&spec);
    let wrong = Directory::new(&super::reaching(&slapd), secret("wrong for the service")).unwrap();
    for directory in [&good, &bad, &wrong] {
        let answer = directory.sign_in("jane", &secret("typed by jane")).await;
        let text = format!("{directory:?} {answer:?} {}", answer.as_ref().unwrap_err());
        for password in [
            "typed by jane",
            "of the service account",
            "wrong for the service",
        ] {
            assert!(!text.contains(password), "{text}");
        }
    }
}
