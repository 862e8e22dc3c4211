use super::*;

fn request(name: &str, client_id: &str) -> ClusterRegistration {
    let mut request = ClusterRegistration::default();
    request.metadata.name = Some(name.to_owned());
    request.metadata.uid = Some(format!("uid-{name}"));
    request.metadata.namespace = Some("fleet-default".to_owned());
    request.spec.client_id = client_id.to_owned();
    request.spec.client_random = "random".to_owned();
    request
}

fn cluster(client_id: &str) -> FleetCluster {
    let mut cluster = FleetCluster::default();
    cluster.metadata.name = Some("edge".to_owned());
    cluster.spec.client_id = client_id.to_owned();
    cluster
}

fn annotated(key: &str, value: &str) -> FleetCluster {
    let mut cluster = cluster("id");
    let annotations = cluster.annotations_mut();
    annotations.insert(GRANTED.to_owned(), "uid-first".to_owned());
    annotations.insert(key.to_owned(), value.to_owned());
    cluster
}

fn decision(request: &ClusterRegistration, clusters: &[FleetCluster]) -> Result<Decision, Refusal> {
    let clusters: Vec<_> = clusters.iter().cloned().map(Arc::new).collect();
    decide(Observed {
        request,
        clusters: &clusters,
        is_name_taken: false,
        token: Some("token-uid"),
        import_of: None,
        is_proven: false,
    })
}

#[test]
fn token_of_an_import_registers_only_the_imported_cluster() {
    let request = request("first", "id");
    let decision = |uid: Option<&str>| {
        let cluster = uid.map(|uid| {
            let mut cluster = cluster("id");
            cluster.metadata.uid = Some(uid.to_owned());
            Arc::new(cluster)
        });
        let clusters: Vec<_> = cluster.into_iter().collect();
        decide(Observed {
            request: &request,
            clusters: &clusters,
            is_name_taken: false,
            token: Some("token-uid"),
            import_of: Some("imported"),
            is_proven: true,
        })
    };
    assert_eq!(decision(Some("imported")), Ok(join_edge()));
    assert_eq!(decision(Some("other")), Err(Refusal::OtherImport));
    assert_eq!(decision(None), Err(Refusal::OtherImport));
}

#[test]
fn request_with_the_label_of_an_import_and_without_its_token_is_refused() {
    let request = request("first", "id");
    let mut cluster = annotated(IMPORT_TOKEN, "token-uid");
    cluster.metadata.uid = Some("imported".to_owned());
    let clusters = [Arc::new(cluster)];
    let observed = Observed {
        request: &request,
        clusters: &clusters,
        is_name_taken: false,
        token: Some("token-uid"),
        import_of: Some("imported"),
        is_proven: false,
    };
    assert_eq!(decide(observed), Err(Refusal::Unproven));
    let proven = Observed {
        is_proven: true,
        ..observed
    };
    assert_eq!(decide(proven), Ok(join_edge()));
}

fn join_edge() -> Decision {
    Decision::Join("edge".to_owned())
}

#[test]
fn unknown_client_id_creates_a_cluster_and_known_client_id_without_agent_joins_it() {
    let request = request("second", "id");
    let name = cluster_name("id");
    assert_eq!(decision(&request, &[]), Ok(Decision::Create(name)));
    assert_eq!(decision(&request, &[cluster("id")]), Ok(join_edge()));
}

#[test]
fn cluster_with_an_agent_requires_the_approval_of_exactly_this_request() {
    let second = request("second", "id");
    let reason = |cluster| {
        let refused = decision(&second, &[cluster]);
        refused.map_err(|refusal| refusal.reason())
    };
    let refused = Err("ApprovalRequired");
    assert_eq!(reason(annotated("other", "x")), refused);
    assert_eq!(reason(annotated(APPROVE, "third")), refused);
    assert_eq!(reason(annotated(APPROVE, "uid-second")), refused);
    let mut seen = cluster("id");
    let time = jiff::Timestamp::UNIX_EPOCH;
    let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time);
    seen.status.get_or_insert_default().agent.last_seen = Some(time);
    assert_eq!(reason(seen), refused);

    assert_eq!(
        decision(&second, &[annotated(APPROVE, "second")]),
        Ok(join_edge())
    );
    let first = request("first", "id");
    assert_eq!(
        decision(&first, &[annotated("other", "x")]),
        Ok(join_edge()),
        "an interrupted grant continues"
    );
}

#[test]
fn token_of_an_import_replaces_the_approval_only_for_the_imported_cluster() {
    let second = request("second", "id");
    let imported = annotated(IMPORT_TOKEN, "token-uid");
    assert_eq!(decision(&second, &[imported]), Ok(join_edge()));
    let mut seen = annotated(IMPORT_TOKEN, "other-uid");
    let time = jiff::Timestamp::UNIX_EPOCH;
    let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time);
    seen.status.get_or_insert_default().agent.last_seen = Some(time);
    let other = decision(&second, &[seen]);
    assert_eq!(other.unwrap_err().reason(), "ApprovalRequired");
}

#[test]
fn cluster_of_a_running_import_cannot_be_joined_with_another_token() {
    let mut importing = cluster("id");
    let annotations = importing.annotations_mut();
    annotations.insert(IMPORT_TOKEN.to_owned(), "other-uid".to_owned());
    let refused = decision(&request("second", "id"), &[importing]);
    assert_eq!(refused.unwrap_err().reason(), "ApprovalRequired");
}

#[test]
fn cluster_of_drover_is_never_granted_even_with_approval() {
    let mut managed = annotated(APPROVE, "second");
    let labels = managed.labels_mut();
    labels.insert(CLUSTER_UID_LABEL.to_owned(), "uid".to_owned());
    let refused = decision(&request("second", "id"), &[managed]);
    assert_eq!(refused, Err(Refusal::Managed("edge".to_owned())));
}

#[test]
fn incomplete_and_ambiguous_requests_are_refused() {
    assert_eq!(decision(&request("r", ""), &[]), Err(Refusal::Invalid));
    let long = "x".repeat(MAX_LENGTH + 1);
    assert_eq!(decision(&request("r", &long), &[]), Err(Refusal::Invalid));
    let two = [cluster("id"), cluster("id")];
    assert_eq!(decision(&request("r", "id"), &two), Err(Refusal::Ambiguous));
    let request = request("r", "id");
    let observed = Observed {
        request: &request,
        clusters: &[],
        is_name_taken: true,
        token: Some("token-uid"),
        import_of: None,
        is_proven: false,
    };
    let taken = Refusal::NameTaken(cluster_name("id"));
    assert_eq!(decide(observed), Err(taken));
    let observed = Observed {
        token: None,
        ..observed
    };
    assert_eq!(decide(observed), Err(Refusal::UnknownToken));
}

#[test]
fn request_cannot_set_labels_of_controllers() {
    let mut request = request("r", "id");
    for key in [
        "env",
        "fleet.cattle.io/cluster",
        "management.cattle.io/cluster-name",
        CLUSTER_UID_LABEL,
    ] {
        let labels = &mut request.spec.cluster_labels;
        labels.insert(key.to_owned(), "x".to_owned());
    }
    assert_eq!(
        labels(&request),
        [("env".to_owned(), "x".to_owned())].into()
    );
}
