//! Tests of group memberships.

use std::fmt::Write as _;

use super::{directory, field, groups_of, secret};
use drover_testkit::slapd::{Slapd, group, person};

const JANE: &str = "uid=jane,ou=people,dc=example,dc=org";

fn named(name: &str) -> String {
    format!("cn={name},ou=groups,dc=example,dc=org")
}

/// Returns LDIF of nested groups. The first group contains the user `jane`.
fn chain(count: usize) -> String {
    let mut entries = person("jane", "");
    let mut member = JANE.to_owned();
    for number in 1..=count {
        let name = format!("level{number:02}");
        entries += &group(&name, &[&member]);
        member = named(&name);
    }
    entries
}

async fn jane_in(
    slapd: &Slapd,
    change: impl FnOnce(&mut drover_api::kinds::LdapGroups),
) -> Result<drover_providers::ProviderUser, drover_providers::ProviderError> {
    let mut spec = super::reaching(slapd);
    change(spec.groups.as_mut().unwrap());
    directory(&spec)
        .sign_in("jane", &secret("password of jane"))
        .await
}

#[tokio::test]
async fn posix_group_members_are_matched_by_login_name() {
    let posix = |name: &str, number: u32, members: &str| {
        format!(
            "\ndn: {}\nobjectClass: posixGroup\ncn: {name}\ngidNumber: {number}\n{members}\n",
            named(name)
        )
    };
    let entries = person("jane", "")
        + &posix("admins", 1, "memberUid: jane\nmemberUid: john")
        + &posix("others", 2, "memberUid: john\nmemberUid: janet");
    let slapd = Slapd::with(&entries);
    let jane = jane_in(&slapd, |groups| {
        groups.member_attribute = Some("memberUid".to_owned());
    });
    assert_eq!(groups_of(&jane.await.unwrap()), ["admins"]);
}

#[tokio::test]
async fn nested_groups_are_included_if_enabled_and_cycles_terminate() {
    // inner ⊂ middle ⊂ outer ⊂ inner, and middle ⊂ sibling.
    let entries = person("jane", "")
        + &group("inner", &[JANE, &named("outer")])
        + &group("middle", &[&named("inner")])
        + &group("outer", &[&named("middle"), &named("outer")])
        + &group("sibling", &[&named("middle")])
        + &group("unrelated", &["cn=nobody"]);
    let slapd = Slapd::with(&entries);
    let nested = jane_in(&slapd, |groups| groups.nested = true).await;
    assert_eq!(
        groups_of(&nested.unwrap()),
        ["inner", "middle", "outer", "sibling"]
    );
    let direct = jane_in(&slapd, |_| ()).await;
    assert_eq!(groups_of(&direct.unwrap()), ["inner"]);
    // Groups that the filter excludes do not count, but their parent groups can.
    let some = jane_in(&slapd, |groups| {
        groups.nested = true;
        groups.filter = Some("(|(cn=outer)(cn=unrelated))".to_owned());
    });
    assert_eq!(groups_of(&some.await.unwrap()), ["outer"]);
}

#[tokio::test]
async fn too_deeply_nested_groups_return_an_error() {
    let slapd = Slapd::with(&chain(15));
    let jane = jane_in(&slapd, |groups| groups.nested = true).await;
    assert_eq!(jane.unwrap().groups.len(), 15);

    let slapd = Slapd::with(&chain(20));
    let answer = jane_in(&slapd, |groups| groups.nested = true).await;
    let (field, problem) = field(answer);
    assert_eq!(field, "ldap.groups.nested");
    assert!(problem.contains("more than 15 nesting levels"), "{problem}");
    // Without nesting, only direct memberships count.
    let direct = jane_in(&slapd, |_| ()).await;
    assert_eq!(groups_of(&direct.unwrap()), ["level01"]);
}

fn many(count: usize) -> String {
    let mut entries = person("jane", "");
    for number in 0..count {
        write!(entries, "{}", group(&format!("group{number:04}"), &[JANE])).unwrap();
    }
    entries
}

#[tokio::test]
async fn paged_group_search_returns_all_groups() {
    let slapd = Slapd::with(&many(1_200));
    let jane = jane_in(&slapd, |_| ()).await.unwrap();
    let names = groups_of(&jane);
    assert_eq!(names.len(), 1_200);
    assert_eq!((names[0], names[1_199]), ("group0000", "group1199"));
    assert!(jane.groups.is_sorted_by(|one, next| one.id < next.id));

    let nested = jane_in(&slapd, |groups| groups.nested = true).await;
    let (field, problem) = field(nested);
    assert_eq!(field, "ldap.groups.nested");
    assert!(problem.contains("more than 1000 groups"), "{problem}");
}

#[tokio::test]
async fn ldap_groups_above_the_limit_return_an_error() {
    let slapd = Slapd::with(&many(5_001));
    let (field, problem) = field(jane_in(&slapd, |_| ()).await);
    assert_eq!(field, "ldap.groups.filter");
    assert!(problem.contains("more than 5000 entries"), "{problem}");
}

#[tokio::test]
async fn truncated_group_search_returns_an_error() {
    let slapd = Slapd::limited(&many(700), "size.prtotal=600");
    let (field, problem) = field(jane_in(&slapd, |_| ()).await);
    assert_eq!(field, "ldap.groups.filter");
    assert!(problem.contains("size.prtotal=unlimited"), "{problem}");
}

#[tokio::test]
async fn groups_excluded_by_the_filter_are_omitted() {
    let entries = person("jane", "")
        + &group("admins", &[JANE])
        + &group("team", &[JANE]).replace("cn: team", "cn: team\ndescription: drover");
    let slapd = Slapd::with(&entries);
    let jane = jane_in(&slapd, |groups| {
        groups.filter = Some("(description=drover)".to_owned());
    });
    assert_eq!(groups_of(&jane.await.unwrap()), ["team"]);
}

#[tokio::test]
async fn configuration_without_groups_returns_no_groups() {
    let slapd = Slapd::with(&(person("jane", "") + &group("admins", &[JANE])));
    let mut spec = super::reaching(&slapd);
    spec.groups = None;
    let jane = directory(&spec)
        .sign_in("jane", &secret("password of jane"))
        .await;
    assert!(jane.unwrap().groups.is_empty());
}
