//! Messages of the states of clusters and their nodes.

use crate::messages::{counted, translation};
use drover_api::cluster_state::{ClusterProblem, Health, NodeProblem, Summary};

fn words(problem: &ClusterProblem) -> String {
    match problem {
        ClusterProblem::Nodes { ready, total } => format!("{ready} von {total} Nodes bereit"),
        ClusterProblem::NamedNodes { names, more } => {
            let word = if names.len() + more == 1 {
                "Node"
            } else {
                "Nodes"
            };
            let shown = names.join(", ");
            match more {
                0 => format!("{word} {shown} NotReady"),
                more => format!("{word} {shown} und {more} weitere NotReady"),
            }
        }
        ClusterProblem::FailingPods(count) => {
            counted(*count as usize, "fehlerhafter Pod", "fehlerhafte Pods")
        }
        ClusterProblem::UnschedulablePods(count) => counted(
            *count as usize,
            "nicht planbarer Pod",
            "nicht planbare Pods",
        ),
        ClusterProblem::Unhealthy(name) => format!("{name} fehlerhaft"),
    }
}

translation! { German;
    cluster_states: ClusterStates {
        health(health: Health) -> &'static str = match health {
            Health::Failing => "fehlerhaft",
            Health::Disconnected => "getrennt",
            Health::Degraded => "beeinträchtigt",
            Health::Waiting => "wartend",
            Health::Deleting => "wird gelöscht",
            Health::Ready => "bereit",
        };
        summary(summary: &Summary) = match summary {
            Summary::Deleting => "wird gelöscht".to_owned(),
            Summary::WaitingForManifest => "wartet auf sein Manifest".to_owned(),
            Summary::BundlesOnly => "verteilt nur Bundles".to_owned(),
            Summary::AgentNotConnected => "Agent nicht verbunden".to_owned(),
            // The server defines the reasons.
            Summary::Reason(reason) => reason.clone(),
            Summary::NotReady => "nicht bereit".to_owned(),
            Summary::Ready => "bereit".to_owned(),
            Summary::Problems(problems) => {
                problems.iter().map(words).collect::<Vec<_>>().join(", ")
            }
        };
        node_problem(problem: &NodeProblem) = match problem {
            NodeProblem::Condition(name) => name.clone(),
            NodeProblem::CertificateExpired(component) => format!("das Zertifikat von {component} ist abgelaufen"),
            NodeProblem::CertificateExpires { component, days: 1 } => format!("das Zertifikat von {component} läuft in 1 Tag ab"),
            NodeProblem::CertificateExpires { component, days } => format!("das Zertifikat von {component} läuft in {days} Tagen ab"),
            NodeProblem::Clock(seconds) if *seconds > 0 => format!("die Uhr geht {seconds} s vor"),
            NodeProblem::Clock(seconds) => format!("die Uhr geht {} s nach", seconds.abs()),
            NodeProblem::UnreachableApiServer(address) => format!("keine Verbindung zum API-Server {address}"),
        };
    }

    problems_page: ProblemsPage {
        title = "Probleme";
        nodes = "Nodes und Zertifikate";
        capacity = "Wenig freie Kapazität";
        share(resource: &str, percent: &str) = format!("{} {percent} %", match resource {
            "cpu" => "CPU",
            "memory" => "Speicher",
            _ => "Pods",
        });
        rollouts = "Rollouts der letzten 24 Stunden";
        none = "Keine Probleme";
        incomplete = "Die Liste der Probleme ist unvollständig.";
        part(read: usize, all: usize) = format!("Diese Seite liest die Objekte von {read} von {all} Clustern: der Cluster, deren Agents Probleme melden.");
        none_advice = "Probleme von Clustern, Nodes, Workloads und Pods erscheinen hier automatisch.";
        more(count: usize) = match count {
            1 => "1 weiteres".to_owned(),
            count => format!("{count} weitere"),
        };
    }
}
