use super::*;

fn blocked_reasons(whys: Vec<OwnershipProblem>) -> Decision {
    let namespace = |(n, problem): (usize, OwnershipProblem)| BlockedReason::Namespace {
        name: format!("n{n}"),
        problem,
    };
    Decision {
        blocked_reasons: whys.into_iter().enumerate().map(namespace).collect(),
        ..Decision::default()
    }
}

#[test]
fn project_condition_contains_ownership_problem_and_fix() {
    let owned = || OwnershipProblem::Taken("bank".to_owned());
    for (whys, reason, words) in [
        (vec![], "Applied", &["no namespace"][..]),
        (
            vec![owned()],
            "NamespaceTaken",
            &["\"n0\"", "\"bank\"", "first remove"],
        ),
        (
            vec![OwnershipProblem::Exists],
            "NamespaceTaken",
            &["\"n0\"", "set adopt"],
        ),
        (
            vec![OwnershipProblem::Missing],
            "NamespaceNotFound",
            &["\"n0\"", "does not exist", "unset adopt"],
        ),
        (
            vec![OwnershipProblem::Reserved],
            "NamespaceReserved",
            &["\"n0\"", "Drover"],
        ),
        (
            vec![OwnershipProblem::Terminating],
            "NamespaceTerminating",
            &["every 20 s"],
        ),
        (
            vec![OwnershipProblem::Exists, owned(), owned(), owned(), owned()],
            "NamespaceTaken",
            &["\"n2\"", "; and 2 more"],
        ),
    ] {
        let condition_value = condition_value(&blocked_reasons(whys), &[]);
        assert_eq!(condition_value.reason, reason, "{condition_value:?}");
        assert_eq!(
            condition_value.status == Tristate::True,
            reason == "Applied"
        );
        for word in words {
            assert!(
                condition_value.message.contains(word),
                "{word}: {condition_value:?}"
            );
        }
    }
}

#[test]
fn condition_of_a_failed_project_contains_the_retry_time() {
    let error = ApplyError::CallTimeout {
        operation: "create namespace a".to_owned(),
    };
    let condition_value = condition_value(
        &blocked_reasons(vec![OwnershipProblem::Exists]),
        &[&error, &error],
    );
    assert_eq!(
        (condition_value.status, condition_value.reason),
        (Tristate::False, "ApplyFailed")
    );
    for word in ["create namespace a", "1 more", "retries within 20 s"] {
        assert!(
            condition_value.message.contains(word),
            "{condition_value:?}"
        );
    }
}
