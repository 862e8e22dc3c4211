//! The path of the request to the API server for a terminal.

use drover_api::rest::{TerminalCreate, TerminalKind};
use thiserror::Error;
use url::form_urlencoded::Serializer;

/// Maximum length of the command with its arguments, in bytes. The command is part of the URL.
const MAX_COMMAND: usize = 4096;
/// Maximum length of a name in a path, in bytes.
const MAX_NAME: usize = 253;

/// The error of a request for a terminal.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum InvalidTarget {
    /// The field is not a name of Kubernetes.
    #[error("must be a name with lower-case letters, digits, \"-\" and \".\"")]
    Name(&'static str),
    /// The command is missing.
    #[error("must contain a program, for example [\"/bin/sh\"]")]
    NoCommand,
    /// A terminal that attaches to a container has a command.
    #[error("must be absent for the kind Attach")]
    CommandOfAttach,
    /// The command is too long for a URL.
    #[error("must have at most {MAX_COMMAND} bytes")]
    LongCommand,
}

impl InvalidTarget {
    /// Returns the name of the invalid field.
    pub(crate) const fn field(&self) -> &'static str {
        match self {
            Self::Name(field) => field,
            Self::NoCommand | Self::CommandOfAttach | Self::LongCommand => "command",
        }
    }
}

/// Returns the path and query of the request to the proxy.
pub(crate) fn path(create: &TerminalCreate) -> Result<String, InvalidTarget> {
    for (field, name) in [
        ("cluster", Some(&create.cluster)),
        ("namespace", Some(&create.namespace)),
        ("pod", Some(&create.pod)),
        ("container", create.container.as_ref()),
    ] {
        if name.is_some_and(|name| !is_name(name)) {
            return Err(InvalidTarget::Name(field));
        }
    }
    let subresource = match (create.kind, create.command.first()) {
        (TerminalKind::Exec, None) => return Err(InvalidTarget::NoCommand),
        (TerminalKind::Attach, Some(_)) => return Err(InvalidTarget::CommandOfAttach),
        (TerminalKind::Exec, Some(_)) => "exec",
        (TerminalKind::Attach, None) => "attach",
    };
    if create
        .command
        .iter()
        .map(|word| word.len() + 1)
        .sum::<usize>()
        > MAX_COMMAND
    {
        return Err(InvalidTarget::LongCommand);
    }
    let mut query = Serializer::new(String::new());
    query.append_pair("stdin", "true");
    query.append_pair("stdout", "true");
    // A TTY has one output stream, and the API server rejects a second stream.
    query.append_pair("stderr", if create.tty { "false" } else { "true" });
    query.append_pair("tty", if create.tty { "true" } else { "false" });
    if let Some(container) = &create.container {
        query.append_pair("container", container);
    }
    for word in &create.command {
        query.append_pair("command", word);
    }
    let (cluster, namespace, pod) = (&create.cluster, &create.namespace, &create.pod);
    let pod = format!("/k8s/clusters/{cluster}/api/v1/namespaces/{namespace}/pods/{pod}");
    Ok(format!("{pod}/{subresource}?{}", query.finish()))
}

/// Returns true for a DNS subdomain (RFC 1123). A path must not contain other text of the user.
fn is_name(name: &str) -> bool {
    let ends = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let bytes = name.as_bytes();
    name.len() <= MAX_NAME
        && ends(bytes.first().copied())
        && ends(bytes.last().copied())
        && !name.contains("..")
        && bytes
            .iter()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create() -> TerminalCreate {
        TerminalCreate {
            cluster: "east".to_owned(),
            namespace: "default".to_owned(),
            pod: "web-0".to_owned(),
            container: Some("main".to_owned()),
            kind: TerminalKind::Exec,
            command: vec!["sh".to_owned(), "-c".to_owned(), "echo a&b #?".to_owned()],
            tty: true,
        }
    }

    #[test]
    fn exec_path_contains_the_encoded_command() {
        assert_eq!(
            path(&create()).unwrap(),
            "/k8s/clusters/east/api/v1/namespaces/default/pods/web-0/exec?stdin=true&stdout=true\
             &stderr=false&tty=true&container=main&command=sh&command=-c&command=echo+a%26b+%23%3F"
        );
        let attach = TerminalCreate {
            kind: TerminalKind::Attach,
            command: Vec::new(),
            tty: false,
            container: None,
            ..create()
        };
        let expected = "/web-0/attach?stdin=true&stdout=true&stderr=true&tty=false";
        assert!(path(&attach).unwrap().ends_with(expected));
    }

    #[test]
    fn name_that_leads_to_another_path_is_rejected() {
        for name in [
            "", ".", "..", "a/b", "a%2fb", "a?b", "a#b", "a..b", "A", "-a", "a\\b",
        ] {
            let pod = TerminalCreate {
                pod: name.to_owned(),
                ..create()
            };
            assert_eq!(path(&pod), Err(InvalidTarget::Name("pod")), "{name}");
            let cluster = TerminalCreate {
                cluster: name.to_owned(),
                ..create()
            };
            assert_eq!(
                path(&cluster),
                Err(InvalidTarget::Name("cluster")),
                "{name}"
            );
        }
    }

    #[test]
    fn command_must_fit_the_kind_and_the_length_limit() {
        let with = |kind, command: &[&str]| {
            path(&TerminalCreate {
                kind,
                command: command.iter().map(ToString::to_string).collect(),
                ..create()
            })
        };
        assert_eq!(with(TerminalKind::Exec, &[]), Err(InvalidTarget::NoCommand));
        let of_attach = Err(InvalidTarget::CommandOfAttach);
        assert_eq!(with(TerminalKind::Attach, &["sh"]), of_attach);
        let long = "x".repeat(MAX_COMMAND);
        assert_eq!(
            with(TerminalKind::Exec, &[&long]),
            Err(InvalidTarget::LongCommand)
        );
    }
}
