//! Tests of the identity and the groups of users.

use drover_providers::ProviderError;

use super::{github, groups, now, outcome, sign_in};
use drover_testkit::github::{Fake, Fault};

#[tokio::test]
async fn renamed_account_keeps_its_user_id() {
    let fake = Fake::start().await;
    fake.world().account(1, "alice");
    let github = github(&fake);
    let before = sign_in(&fake, &github, 1).await.unwrap();
    fake.world().account(1, "Alice-Liddell");
    let after = github
        .refresh(&before.access_token, "1", now())
        .await
        .unwrap();
    assert_eq!(
        (&*after.person.id, &*after.person.login),
        ("1", "Alice-Liddell")
    );
    let again = sign_in(&fake, &github, 1).await.unwrap();
    assert_eq!(again.person, after.person);
}

#[tokio::test]
async fn account_with_a_reused_login_has_a_different_user_id() {
    let fake = Fake::start().await;
    fake.world().account(1, "alice");
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    fake.world().account(1, "alice2");
    fake.world().account(666, "alice");
    let mallory = sign_in(&fake, &github, 666).await.unwrap();
    assert_eq!(mallory.person.login, alice.person.login);
    assert_eq!((&*alice.person.id, &*mallory.person.id), ("1", "666"));
    let error = github
        .refresh(&mallory.access_token, "1", now())
        .await
        .unwrap_err();
    assert_eq!(outcome(&error), "invalid_response", "{error}");
}

#[tokio::test]
async fn logins_that_differ_in_case_are_distinguished_by_user_id() {
    let fake = Fake::start().await;
    fake.world().account(1, "Alice");
    let github = github(&fake);
    let upper = sign_in(&fake, &github, 1).await.unwrap();
    fake.world().account(1, "aLICE");
    let lower = sign_in(&fake, &github, 1).await.unwrap();
    assert_eq!(upper.person.id, lower.person.id);
    fake.world().account(2, "alice");
    let other = sign_in(&fake, &github, 2).await.unwrap();
    assert_ne!(other.person.id, upper.person.id);
}

#[tokio::test]
async fn token_of_another_user_is_rejected() {
    let fake = Fake::start().await;
    fake.world().account(1, "alice");
    fake.world().account(12, "alice");
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    for owner in fake.world().tokens.values_mut() {
        *owner = 12;
    }
    let error = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    assert!(
        matches!(&error, ProviderError::InvalidResponse { problem, .. } if problem.contains("12")),
        "{error}"
    );
}

#[tokio::test]
async fn renamed_organizations_and_teams_keep_their_group_ids() {
    let fake = Fake::start().await;
    fake.world().account(1, "alice");
    fake.world().organization(10, "acme", 1);
    fake.world().team(20, "platform", 10, None, &[1]);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    assert_eq!(
        groups(&alice.person),
        [("org:10", "acme"), ("team:20", "acme/platform")]
    );
    {
        let mut world = fake.world();
        world.organization(10, "acme-corp", 1);
        world.team(20, "infra", 10, None, &[1]);
        // Another user can register the released name.
        world.account(666, "mallory");
        world.organization(11, "acme", 666);
        world.team(21, "platform", 11, None, &[666]);
    }
    let alice = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap();
    assert_eq!(
        groups(&alice.person),
        [("org:10", "acme-corp"), ("team:20", "acme-corp/infra")]
    );
    let mallory = sign_in(&fake, &github, 666).await.unwrap();
    assert_eq!(
        groups(&mallory.person),
        [("org:11", "acme"), ("team:21", "acme/platform")]
    );
}

#[tokio::test]
async fn invited_user_has_no_groups() {
    let fake = Fake::start().await;
    {
        let mut world = fake.world();
        world.account(1, "alice");
        world.organization(10, "acme", 1);
        world.team(20, "platform", 10, None, &[1]);
        world.memberships.insert((1, 10), "pending");
    }
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    assert!(alice.person.groups.is_empty(), "{:?}", alice.person);
    fake.world().memberships.insert((1, 10), "active");
    let seen = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap();
    assert_eq!(seen.person.groups.len(), 2);
    fake.world().memberships.remove(&(1, 10));
    let seen = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap();
    assert!(seen.person.groups.is_empty(), "{:?}", seen.person);
}

#[tokio::test]
async fn team_members_are_also_members_of_all_parent_teams() {
    let fake = Fake::start().await;
    {
        let mut world = fake.world();
        world.account(1, "alice");
        world.organization(10, "acme", 1);
        world.team(20, "everybody", 10, None, &[]);
        world.team(21, "engineering", 10, Some(20), &[]);
        world.team(22, "platform", 10, Some(21), &[1]);
        world.team(23, "security", 10, Some(21), &[1]);
        world.team(24, "sales", 10, Some(20), &[]);
    }
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    let teams = [
        ("org:10", "acme"),
        ("team:20", "acme/everybody"),
        ("team:21", "acme/engineering"),
        ("team:22", "acme/platform"),
        ("team:23", "acme/security"),
    ];
    assert_eq!(groups(&alice.person), teams);
    let above = fake.asked().into_iter();
    let above = above.filter(|requested| requested.path.contains("/organizations/"));
    assert_eq!(above.count(), 2, "each parent team is read once");

    // Invisible parent teams end the search, and cycles terminate.
    fake.world().teams.get_mut(&21).unwrap().visible = false;
    let seen = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap();
    let found = groups(&seen.person);
    assert_eq!(found, [teams[0], teams[2], teams[3], teams[4]]);
    fake.world().teams.get_mut(&21).unwrap().visible = true;
    fake.world().teams.get_mut(&20).unwrap().parent = Some(22);
    let seen = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap();
    assert_eq!(groups(&seen.person), teams);
}

#[tokio::test]
async fn organization_that_requires_sso_is_omitted_and_reported_by_name() {
    let fake = Fake::start().await;
    {
        let mut world = fake.world();
        world.account(1, "alice");
        world.organization(10, "acme", 1);
        world.organization(11, "globex", 1);
        world.team(20, "platform", 10, None, &[1]);
        world.team(21, "platform", 11, None, &[1]);
    }
    let github = github(&fake);
    let partial = "partial-results; organizations=11,12".to_owned();
    fake.inject_fault("/api/v3/user/teams", Fault::Header("x-github-sso", partial));
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    assert_eq!(
        groups(&alice.person),
        [("org:10", "acme"), ("team:20", "acme/platform")]
    );
    assert_eq!(alice.withheld, ["org:11", "org:12"]);
}

#[tokio::test]
async fn sign_in_succeeds_when_github_denies_organization_data() {
    let required = "required; url=https://github.com/orgs/acme/sso?authorization_request=A";
    let restricted = "Although you appear to have the correct authorization credentials, the `acme` \
                      organization has enabled OAuth App access restrictions, meaning that data \
                      access to third-parties is limited.";
    let fake = Fake::start().await;
    {
        let mut world = fake.world();
        world.account(1, "alice");
        world.organization(10, "acme", 1);
        world.team(19, "everybody", 10, None, &[]);
        world.team(20, "platform", 10, Some(19), &[1]);
    }
    let github = github(&fake);
    let body = serde_json::json!({ "message": restricted }).to_string();
    for fault in [
        Fault::Response(
            403,
            vec![("x-github-sso", required.to_owned())],
            String::new(),
        ),
        Fault::Response(403, vec![], body),
    ] {
        for (path, expected) in [
            ("/api/v3/user/memberships/orgs", &[][..]),
            ("/api/v3/user/teams", &[("org:10", "acme")]),
            (
                "/api/v3/organizations/",
                &[
                    ("org:10", "acme"),
                    ("team:19", "acme/everybody"),
                    ("team:20", "acme/platform"),
                ],
            ),
        ] {
            fake.inject_fault(path, fault.clone());
            let alice = sign_in(&fake, &github, 1).await.unwrap();
            assert_eq!(groups(&alice.person), expected, "{path}");
            fake.clear_faults();
        }
    }
}

#[tokio::test]
async fn too_many_groups_return_an_error() {
    let fake = Fake::start().await;
    fake.world().account(1, "alice");
    let github = github(&fake);
    for id in 1..=600 {
        fake.world().organization(id, &format!("org{id}"), 1);
    }
    for id in 1..=400 {
        fake.world().team(id, &format!("team{id}"), id, None, &[1]);
    }
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    assert_eq!(alice.person.groups.len(), 1000);
    fake.world().team(401, "team401", 1, None, &[1]);
    let error = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    assert_eq!(outcome(&error), "invalid_response");
    assert!(error.to_string().contains("1,000"), "{error}");
    for id in 601..=1100 {
        fake.world().organization(id, &format!("org{id}"), 1);
    }
    fake.asked();
    let error = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    assert_eq!(outcome(&error), "invalid_response");
    assert!(fake.asked().len() < 20);
}
