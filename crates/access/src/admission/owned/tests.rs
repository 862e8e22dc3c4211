use super::*;
use crate::admission::roles::UserWithGroups;
use crate::admission::{self, AdmissionContext, depends_on_roles, depends_on_writer};
use crate::grants::tests::world::{World, rule, user};

/// Creates an administrator `root`, a project `desk` with the member `ann`, and the user `bob`, who
/// may write all objects of the hub.
fn world() -> World {
    let pods = [rule("", "pods", "get")];
    World::new()
        .administrator("root")
        .project("desk", "a", &[])
        .project_role("reader", &pods, &[])
        .in_project("one", "reader", "desk", &user("ann"))
        .global_role("all", &[rule(GROUP, "*", "*")], &[])
        .global("two", "all", &user("bob"))
}

fn person(name: &str) -> WriterRights {
    WriterRights::User(UserWithGroups {
        user: user(name).rights_holder().user.clone(),
        groups: Vec::new(),
    })
}

/// Returns an object of the user with this name. The UID of each user is the name of the user.
fn object_of(name: &str, uid: &str, spec: &Value) -> Value {
    let mut object = json!({
        "metadata": { "name": format!("{uid}-0"), "ownerReferences": [{
            "apiVersion": "management.drover.dev/v1alpha1", "kind": "User", "name": name, "uid": uid,
        }] },
        "spec": { "userName": name, "userUid": uid },
    });
    if let (Some(own), Some(spec)) = (object["spec"].as_object_mut(), spec.as_object()) {
        own.extend(spec.clone());
    }
    object
}

fn view_of(name: &str, sharing: &Value) -> Value {
    let mut spec = json!({ "displayName": "Failed pods", "path": "/objects/pods?state=failed" });
    if let (Some(spec), Some(sharing)) = (spec.as_object_mut(), sharing.as_object()) {
        spec.extend(sharing.clone());
    }
    object_of(name, name, &spec)
}

fn write<'a>(resource: &'a str, old: Option<&'a Value>, object: Option<&'a Value>) -> Write<'a> {
    Write {
        writer: "drover:user:1",
        groups: &[],
        operation: match (old, object) {
            (None, _) => Operation::Create,
            (_, None) => Operation::Delete,
            _ => Operation::Update,
        },
        group: GROUP,
        resource,
        subresource: "",
        namespace: "",
        name: "x",
        object,
        old,
    }
}

/// Returns the reason of the rejection; empty if the writer can perform the write.
fn decision(writer: &WriterRights, write: &Write<'_>) -> String {
    assert!(depends_on_roles(write) && depends_on_writer(write));
    let world = world();
    let (facts, grants) = (world.facts(), world.gather());
    let hub_roles = HubRoles {
        facts: &facts,
        grants: &grants,
    };
    let decision = admission::admit_by_roles(write, writer, None, hub_roles);
    decision.map_or_else(|refusal| refusal.to_string(), |()| String::new())
}

#[test]
fn only_the_owner_and_administrators_write_preferences_and_views() {
    let (ann, bob) = (person("ann"), person("bob"));
    for resource in [PREFERENCES, VIEWS] {
        let before = view_of("ann", &json!({}));
        let after = view_of("ann", &json!({ "displayName": "Pods" }));
        let of_bob = view_of("bob", &json!({}));
        for (old, new) in [
            (None, Some(&after)),
            (Some(&before), Some(&after)),
            (Some(&before), Some(&before)),
            (Some(&before), None),
        ] {
            let write = write(resource, old, new);
            for allowed in [&ann, &person("root"), &WriterRights::HubAdministrator] {
                assert_eq!(decision(allowed, &write), "", "{allowed:?}: {write:?}");
            }
            for refused in [&bob, &WriterRights::OtherUser, &WriterRights::DisabledUser] {
                let reason = decision(refused, &write);
                assert!(reason.contains("only the owner"), "{refused:?}: {reason:?}");
            }
        }
        let taken = write(resource, Some(&before), Some(&of_bob));
        assert!(decision(&bob, &taken).contains("only the owner"));
        assert!(decision(&ann, &taken).contains("only the owner"));
    }
}

#[test]
fn view_is_shared_by_members_of_the_project_and_with_everyone_by_administrators() {
    let project =
        |uid: &str| json!({ "shared": "Project", "project": { "name": "desk", "uid": uid } });
    let everyone = json!({ "shared": "Everyone" });
    let private = json!({ "shared": "Private" });
    for (name, sharing, refused) in [
        ("ann", &private, ""),
        ("ann", &project("desk"), ""),
        ("ann", &project("earlier"), "no role in the project"),
        ("ann", &everyone, "only administrators"),
        ("bob", &project("desk"), "no role in the project"),
        ("bob", &everyone, "only administrators"),
        ("root", &everyone, ""),
        ("root", &project("desk"), ""),
    ] {
        let (before, after) = (view_of(name, &private), view_of(name, sharing));
        let writer = person(name);
        for old in [None, Some(&before)] {
            let reason = decision(&writer, &write(VIEWS, old, Some(&after)));
            let as_expected = reason.is_empty() == refused.is_empty() && reason.contains(refused);
            assert!(as_expected, "{name}: {sharing}: {reason:?}");
        }
    }
    // An owner without the permission cannot change what other users see, but can end the sharing.
    let shared = view_of("bob", &everyone);
    let other_page = view_of(
        "bob",
        &json!({ "shared": "Everyone", "path": "/objects/nodes" }),
    );
    let ended = view_of("bob", &private);
    let bob = person("bob");
    let changed = decision(&bob, &write(VIEWS, Some(&shared), Some(&other_page)));
    assert!(changed.contains("only administrators"), "{changed:?}");
    assert_eq!(
        decision(&bob, &write(VIEWS, Some(&shared), Some(&ended))),
        ""
    );
    assert_eq!(decision(&bob, &write(VIEWS, Some(&shared), None)), "");
}

#[test]
fn objects_of_a_user_are_deleted_with_the_user() {
    let administrator = WriterRights::HubAdministrator;
    let valid = view_of("ann", &json!({}));
    let changed = |change: fn(&mut Value)| {
        let mut object = valid.clone();
        change(&mut object);
        object
    };
    let held = changed(|it| it["metadata"]["finalizers"] = json!(["example.com/stay"]));
    for (object, refused) in [
        (valid.clone(), ""),
        (
            changed(|it| it["metadata"]["ownerReferences"] = json!([])),
            "ownerReferences",
        ),
        (
            changed(|it| it["metadata"]["ownerReferences"][0]["uid"] = json!("bob")),
            "ownerReferences",
        ),
        (held, "finalizers"),
        // The user was deleted and created again with the same name.
        (
            object_of("ann", "earlier-ann", &json!({})),
            "no user has the name",
        ),
        (
            object_of("nobody", "ann", &json!({})),
            "no user has the name",
        ),
    ] {
        let reason = decision(&administrator, &write(PREFERENCES, None, Some(&object)));
        let as_expected = reason.is_empty() == refused.is_empty() && reason.contains(refused);
        assert!(as_expected, "{object}: {reason:?}");
    }
}

#[test]
fn view_with_an_invalid_name_or_path_is_rejected_for_every_writer() {
    let long = "x".repeat(MAX_VIEW_NAME + 1);
    for (field, value, refused) in [
        ("displayName", "Pods", ""),
        ("displayName", "", "spec.displayName"),
        ("displayName", " Pods", "spec.displayName"),
        ("displayName", "Po\nds", "spec.displayName"),
        ("displayName", &long, "spec.displayName"),
        ("path", "//evil.example/", "spec.path"),
        ("path", "/v1/session", "spec.path"),
    ] {
        let object = view_of("ann", &json!({ field: value }));
        for writer in ["drover:user:ann", "jane"] {
            let write = Write {
                writer,
                ..write(VIEWS, None, Some(&object))
            };
            let context = AdmissionContext::external("drover:server");
            let decision = admission::admit(&write, context, None);
            let reason = decision.map_or_else(|refusal| refusal.to_string(), |()| String::new());
            let as_expected = reason.is_empty() == refused.is_empty() && reason.contains(refused);
            assert!(as_expected, "{writer}: {field}: {value:?}: {reason:?}");
        }
    }
}
