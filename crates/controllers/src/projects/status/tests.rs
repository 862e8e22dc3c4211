use super::*;

fn impeded(whys: Vec<Why>) -> Standing {
    let namespace = |(n, why): (usize, Why)| Impediment::Namespace {
        name: format!("n{n}"),
        why,
    };
    Standing {
        impeded: whys.into_iter().enumerate().map(namespace).collect(),
        ..Standing::default()
    }
}

#[test]
fn a_project_says_what_keeps_it_and_what_to_do() {
    let held = || Why::Held("bank".to_owned());
    for (whys, reason, words) in [
        (vec![], "Applied", &["no namespace"][..]),
        (
            vec![held()],
            "NamespaceTaken",
            &["\"n0\"", "\"bank\"", "take it out"],
        ),
        (vec![Why::There], "NamespaceTaken", &["\"n0\"", "set adopt"]),
        (
            vec![Why::Missing],
            "NamespaceNotFound",
            &["\"n0\"", "does not exist", "unset adopt"],
        ),
        (
            vec![Why::Reserved],
            "NamespaceReserved",
            &["\"n0\"", "Drover's"],
        ),
        (
            vec![Why::Terminating],
            "NamespaceTerminating",
            &["every 20 s"],
        ),
        (
            vec![Why::There, held(), held(), held(), held()],
            "NamespaceTaken",
            &["\"n2\"", "; and 2 more"],
        ),
    ] {
        let verdict = verdict(&impeded(whys), &[]);
        assert_eq!(verdict.reason, reason, "{verdict:?}");
        assert_eq!(verdict.status == Tristate::True, reason == "Applied");
        for word in words {
            assert!(verdict.message.contains(word), "{word}: {verdict:?}");
        }
    }
}

#[test]
fn what_failed_says_when_it_is_tried_again() {
    let error = ApplyError::CallTimeout {
        operation: "make the namespace a".to_owned(),
    };
    let verdict = verdict(&impeded(vec![Why::There]), &[&error, &error]);
    assert_eq!(
        (verdict.status, verdict.reason),
        (Tristate::False, "ApplyFailed")
    );
    for word in ["make the namespace a", "1 more", "again every 20 s"] {
        assert!(verdict.message.contains(word), "{verdict:?}");
    }
}
