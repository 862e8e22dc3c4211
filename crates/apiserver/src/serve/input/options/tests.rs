use serde_json::json;

use super::*;

fn write(verb: WriteVerb, query: &str) -> Result<WriteOptions, ApiError> {
    let query = Query::of(&format!("/?{query}").parse().unwrap());
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, "kubectl/v1.36.3 (linux)".parse().unwrap());
    WriteOptions::of(verb, &query, &headers)
}

#[test]
fn default_field_manager_is_first_part_of_user_agent() {
    let options = write(WriteVerb::Create, "dryRun=All&fieldValidation=Strict").unwrap();
    assert_eq!(options.manager, "kubectl");
    assert_eq!(options.dry_run, DryRun::All);
    assert_eq!(options.validation, FieldValidation::Strict);
    let options = write(WriteVerb::Update, "fieldManager=me").unwrap();
    assert_eq!(
        (options.manager.as_str(), options.validation),
        ("me", FieldValidation::Warn)
    );
}

#[test]
fn write_option_errors_match_kube_apiserver() {
    for (verb, query, expect) in [
        (
            WriteVerb::Create,
            "dryRun=Some",
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: \
             [\"Some\"]: supported values: \"All\"",
        ),
        (
            WriteVerb::Patch,
            "force=true&fieldValidation=x",
            "PatchOptions.meta.k8s.io \"\" is invalid: [force: Forbidden: may not be \
             specified for non-apply patch, fieldValidation: Unsupported value: \"x\": \
             supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"]",
        ),
        (
            WriteVerb::Apply,
            "",
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: \
             is required for apply patch",
        ),
        (
            WriteVerb::Update,
            "fieldManager=a%0Ab",
            "UpdateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \
             \"a\\nb\": invalid character U+000A (at position 1)",
        ),
    ] {
        assert_eq!(write(verb, query).unwrap_err().message, expect, "{query}");
    }
}

#[test]
fn delete_options_in_the_body_override_the_query() {
    let query = Query::of(&"/?gracePeriodSeconds=5&uid=q".parse().unwrap());
    let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u", "resourceVersion": "7"}, "propagationPolicy": "Foreground"});
    let options = DeleteOptions::of(&query, Some(&body)).unwrap();
    assert_eq!(options.grace_period, Some(0));
    assert_eq!(options.uid.as_deref(), Some("u"));
    assert_eq!(options.propagation, Some(Propagation::Foreground));
    let options = DeleteOptions::of(&query, None).unwrap();
    assert_eq!(
        (options.grace_period, options.uid.as_deref()),
        (Some(5), Some("q"))
    );
}

#[test]
fn invalid_delete_options_are_rejected() {
    let body = json!({"propagationPolicy": "Sideways", "orphanDependents": true});
    let error = DeleteOptions::of(&Query::default(), Some(&body)).unwrap_err();
    assert!(error.message.starts_with(
        "DeleteOptions.meta.k8s.io \"\" is invalid: [propagationPolicy: Invalid value: \
         \"Sideways\": orphanDependents and deletionPropagation cannot be both set, "
    ));
    let other = json!({"kind": "Pod"});
    assert!(DeleteOptions::of(&Query::default(), Some(&other)).is_err());
    let wrong = json!({"gracePeriodSeconds": "1"});
    assert!(DeleteOptions::of(&Query::default(), Some(&wrong)).is_err());
}
