use super::*;

fn subject(kind: &str, name: &str) -> Subject {
    Subject {
        api_group: Some(RBAC.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: None,
    }
}

fn binding(subjects: Vec<Subject>) -> RoleBinding {
    RoleBinding::default().with(subjects)
}

#[test]
fn only_people_and_groups_of_drover_are_looked_at() {
    for (kind, name, is_one) in [
        ("User", "drover:user:u-1", true),
        ("Group", "drover:github:42", true),
        ("User", "drover:github:42", false),
        ("Group", "drover:user:u-1", false),
        ("User", "jane", false),
        ("Group", "system:authenticated", false),
        ("ServiceAccount", "drover-user", false),
    ] {
        assert_eq!(
            person(&subject(kind, name)).is_some(),
            is_one,
            "{kind} {name}"
        );
    }
    let mut other = subject("User", "drover:user:u-1");
    other.api_group = Some("example.org".to_owned());
    assert_eq!(person(&other), None);
    other.api_group = None;
    assert!(person(&other).is_some());
}

#[test]
fn who_has_no_role_is_taken_out_and_nobody_else() {
    let (gone, here, jane) = (
        subject("User", "drover:user:gone"),
        subject("User", "drover:user:here"),
        subject("User", "jane"),
    );
    let found = vec![
        binding(vec![gone.clone()]),
        binding(vec![gone.clone(), jane.clone(), here.clone()]),
        binding(vec![here.clone(), jane.clone()]),
        binding(Vec::new()),
    ];
    let left = swept(found, |subject| *subject != gone);
    assert_eq!(left.delete, [binding(vec![gone])]);
    assert_eq!(left.replace, [binding(vec![jane, here])]);
    assert!(left.create.is_empty() && left.make_anew.is_empty());
}
