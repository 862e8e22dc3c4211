//! Keys of objects, and names that become parts of API paths.

/// Maximum length of a name or a namespace in bytes. Kubernetes has no longer names.
pub(crate) const MAX_NAME: usize = 1024;

/// The key of an object in a list: its namespace (empty for cluster-scoped objects) and its name.
pub type Key = (Box<str>, Box<str>);

/// Reports whether a text consists of DNS labels (RFC 1123), so that the text is one part of a path.
pub fn is_path_part(text: &str) -> bool {
    let is_label = |label: &str| {
        let mut bytes = label.bytes();
        !label.is_empty()
            && bytes.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
