//! Compares the languages of the catalogue.

use std::cell::Cell;

use drover_api::cluster_state::{ClusterProblem, Health, NodeProblem, Summary};
use drover_api::kinds::PodSecurity;

use super::*;
use drover_rows::Severity;

thread_local! {
    /// The number of the next sample argument.
    static NEXT: Cell<u32> = const { Cell::new(0) };
}

/// The smallest sample argument. Texts of the catalogue do not contain such numbers.
const FIRST: u32 = 7001;

fn next() -> u32 {
    NEXT.replace(NEXT.get() + 1)
}

/// An argument for a message. Arguments of one message are different.
pub(super) trait Sample {
    fn sample() -> Self;
}

impl Sample for &'static str {
    fn sample() -> Self {
        next().to_string().leak()
    }
}

impl Sample for &'static LocalTime {
    fn sample() -> Self {
        Box::leak(Box::new(LocalTime::new(next().to_string())))
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Sample for $number {
            fn sample() -> Self {
                Self::try_from(next()).unwrap()
            }
        })*
    };
}

numbers!(u32, u64, i64, usize);

impl Sample for u16 {
    fn sample() -> Self {
        Self::try_from(next()).unwrap()
    }
}

impl Sample for f64 {
    fn sample() -> Self {
        next().into()
    }
}

impl Sample for bool {
    fn sample() -> Self {
        true
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample() -> Self {
        Some(T::sample())
    }
}

impl<T: Sample, U: Sample> Sample for (T, U) {
    fn sample() -> Self {
        (T::sample(), U::sample())
    }
}

impl Sample for Noun {
    fn sample() -> Self {
        Self::Clusters
    }
}

impl Sample for Unit {
    fn sample() -> Self {
        Self::Day
    }
}

impl Sample for Severity {
    fn sample() -> Self {
        Self::Failing
    }
}

impl Sample for PodSecurity {
    fn sample() -> Self {
        Self::Baseline
    }
}

impl Sample for Health {
    fn sample() -> Self {
        Self::Failing
    }
}

impl Sample for &'static Summary {
    fn sample() -> Self {
        let nodes = ClusterProblem::NamedNodes {
            names: vec![next().to_string(), next().to_string()],
            more: Sample::sample(),
        };
        let problems = vec![
            nodes,
            ClusterProblem::FailingPods(next()),
            ClusterProblem::UnschedulablePods(next()),
            ClusterProblem::Unhealthy(next().to_string()),
        ];
        Box::leak(Box::new(Summary::Problems(problems)))
    }
}

impl Sample for &'static NodeProblem {
    fn sample() -> Self {
        let (component, days) = (next().to_string(), Sample::sample());
        Box::leak(Box::new(NodeProblem::CertificateExpires {
            component,
            days,
        }))
    }
}

/// A message with sample arguments in both languages.
struct Translated {
    name: &'static str,
    english: String,
    german: String,
    /// The number of arguments that the texts can contain.
    arguments: u32,
}

fn catalogue() -> Vec<Translated> {
    let mut messages = Vec::new();
    english::samples(|name, format| {
        let text = |language| {
            set_language(language);
            NEXT.set(FIRST);
            let text = format();
            set_language(Language::English);
            text
        };
        messages.push(Translated {
            name,
            english: text(Language::English),
            german: text(Language::German),
            arguments: NEXT.get() - FIRST,
        });
    });
    messages
}

/// Texts that are equal in German: names, terms of Kubernetes, and units. The numbers are sample
/// arguments.
const EQUAL: &[&str] = &[
    " (PodDisruptionBudget 7001)",
    "A+",
    "API",
    "Active Directory",
    "Agent",
    "Aggregation",
    "Annotations",
    "Audit",
    "A−",
    "Backend",
    "CPU",
    "Claim",
    "Cluster",
    "Code",
    "Commit",
    "Conditions",
    "Container",
    "Container 7001",
    "Distribution",
    "Events",
    "Host",
    "Hosts",
    "Hub",
    "Image",
    "Images",
    "Issuer",
    "Kernel",
    "Kubeconfig",
    "Kubelet",
    "Kubernetes",
    "Labels",
    "Limit",
    "Limits",
    "Listener",
    "Liveness",
    "Log",
    "Logs",
    "Manager",
    "Manifest",
    "Maximum",
    "Minimum",
    "Name",
    "Namespace",
    "Namespace 7001",
    "Namespaces",
    "Node",
    "Nodes",
    "OpenID Connect",
    "Operation",
    "Parent",
    "Parents",
    "Plural",
    "Pod",
    "Pods",
    "Port",
    "Ports",
    "Prometheus: 7001",
    "Provisioner",
    "Quota",
    "Readiness",
    "Replicas",
    "Request",
    "Requests",
    "Revision",
    "Scopes",
    "Selector",
    "Server",
    "Service",
    "Singular",
    "Startup",
    "Status",
    "Subresource",
    "Taints",
    "Terminal",
    "Terminals",
    "Test",
    "Token",
    "Tokens",
    "UID",
    "Verb",
    "Version",
    "Volume",
    "Volumes",
    "Workloads",
    "YAML",
    "in 7001",
    "kubectl",
    "normal",
    "parallel",
    "×7001 in 7002",
];

#[test]
fn german_texts_differ_from_english_texts_except_for_names_and_common_terms() {
    let mut equal: Vec<_> = catalogue()
        .into_iter()
        .filter(|message| message.english == message.german)
        .map(|message| message.english)
        .filter(|text| text.contains(char::is_alphabetic))
        .filter(|text| !text.starts_with(|it: char| it.is_ascii_digit()))
        .collect();
    equal.sort_unstable();
    equal.dedup();
    assert_eq!(equal, EQUAL, "translate these texts, or add them to EQUAL");
}

#[test]
fn german_texts_contain_the_same_arguments_as_english_texts() {
    let messages = catalogue();
    assert!(messages.iter().any(|message| message.arguments > 2));
    for message in messages {
        let Translated {
            name,
            english,
            german,
            arguments,
        } = message;
        for argument in FIRST..FIRST + arguments {
            let argument = argument.to_string();
            assert_eq!(
                english.contains(&argument),
                german.contains(&argument),
                "{name}, argument {argument}:\n{english}\n{german}"
            );
        }
    }
}

#[test]
fn german_texts_have_german_quotation_marks() {
    for Translated { name, german, .. } in catalogue() {
        let opened = german.matches('„').count();
        assert_eq!(opened, german.matches('“').count(), "{name}: {german}");
        assert!(
            !german.contains('”') && !german.contains('"'),
            "{name}: {german}"
        );
    }
}

#[test]
fn texts_end_with_the_same_punctuation_in_both_languages() {
    for Translated {
        name,
        english,
        german,
        ..
    } in catalogue()
    {
        // A separator of numbers is no sentence.
        if !english.contains(char::is_alphabetic) {
            continue;
        }
        for end in ['.', '…', '?', ':', ' '] {
            assert_eq!(
                english.ends_with(end),
                german.ends_with(end),
                "{name}: {german}"
            );
        }
    }
}

#[test]
fn plural_forms_of_both_languages_are_correct() {
    let forms = |language| {
        set_language(language);
        [0, 1, 2].map(|count| t().tokens.delete_title(count))
    };
    assert_eq!(
        forms(Language::English),
        ["Delete 0 tokens?", "Delete 1 token?", "Delete 2 tokens?"]
    );
    assert_eq!(
        forms(Language::German),
        ["0 Tokens löschen?", "1 Token löschen?", "2 Tokens löschen?"]
    );
    assert_eq!(t().durations.of(1, Unit::Hour), "1 Stunde");
    assert_eq!(t().durations.of(3, Unit::Day), "3 Tage");
}
