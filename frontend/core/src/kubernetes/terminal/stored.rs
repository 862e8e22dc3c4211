//! The terminals in the storage of a browser tab, from which a reloaded page restores the dock.
//!
//! The format is one line per terminal with fields between tabs. JSON would increase the size of the
//! first load.

use super::PodContainer;

/// A pod that the page created for a shell. The page deletes the pod with the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellPod {
    /// The pod, and the container of the shell.
    pub container: PodContainer,
    /// The ID of the token in the pod, which the page revokes with the pod. The ID is public.
    pub token: Option<String>,
}

/// A terminal of a browser tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTerminal {
    /// The ID of the terminal on the server.
    pub id: String,
    /// The pod that the page created for the terminal.
    pub pod: Option<ShellPod>,
}

impl StoredTerminal {
    /// Returns the entry of a pod without a terminal. No terminal has its ID, so a reloaded page
    /// deletes the pod.
    pub fn without_terminal(pod: ShellPod) -> Self {
        Self {
            id: "-".to_owned(),
            pod: Some(pod),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        let id = fields.next().filter(|id| !id.is_empty())?;
        let Some(cluster) = fields.next() else {
            return Some(Self { id, pod: None });
        };
        let container = PodContainer {
            cluster,
            namespace: fields.next()?,
            pod: fields.next()?,
            container: fields.next()?,
        };
        let token = fields.next();
        let pod = Some(ShellPod { container, token });
        Some(Self { id, pod })
    }

    fn line(&self) -> String {
        let mut fields = vec![self.id.as_str()];
        if let Some(ShellPod { container, token }) = &self.pod {
            // Names of Kubernetes contain no tabs.
            fields.extend([container.cluster.as_str(), &container.namespace]);
            fields.extend([container.pod.as_str(), &container.container]);
            fields.extend(token.as_deref());
        }
        fields.join("\t")
    }
}

/// Parses the stored terminals. Ignores lines with an unknown format.
pub fn parse(text: &str) -> Vec<StoredTerminal> {
    text.lines().filter_map(StoredTerminal::parse).collect()
}

/// Formats terminals for the storage.
pub fn format(terminals: &[StoredTerminal]) -> String {
    let lines: Vec<String> = terminals.iter().map(StoredTerminal::line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reloaded_page_knows_the_pod_and_the_token_of_each_terminal() {
        let pod = |token: Option<&str>| ShellPod {
            container: PodContainer {
                cluster: "berlin".to_owned(),
                namespace: "mine".to_owned(),
                pod: "drover-kubectl-x".to_owned(),
                container: "kubectl".to_owned(),
            },
            token: token.map(str::to_owned),
        };
        let terminal = |id: &str, pod| StoredTerminal {
            id: id.to_owned(),
            pod,
        };
        let terminals = [
            terminal("a", Some(pod(Some("id")))),
            terminal("b", Some(pod(None))),
            terminal("c", None),
            StoredTerminal::without_terminal(pod(Some("id"))),
        ];
        assert_eq!(parse(&format(&terminals)), terminals);
        for other in ["", "\n", "\tberlin", "a\tberlin\tmine"] {
            assert_eq!(parse(other), [], "{other:?}");
        }
    }
}
