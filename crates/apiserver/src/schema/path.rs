//! Field paths (apimachinery's `field.Path`).

use std::fmt;

/// A field path such as `spec.template.spec.containers[0].name`. Each element borrows its parent,
/// so that building a path allocates nothing.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Self>,
    part: Segment<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Segment<'a> {
    Nothing,
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The root path, which prints as an empty text.
    pub const ROOT: Path<'static> = Path {
        parent: None,
        part: Segment::Nothing,
    };

    /// Creates a path that starts with `text`, such as `spec`.
    pub const fn new(text: &'a str) -> Self {
        Self {
            parent: None,
            part: Segment::Child(text),
        }
    }

    /// Returns the path of a field below this path.
    #[must_use]
    pub const fn child(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            part: Segment::Child(name),
        }
    }

    /// Returns the path of a list item below this path.
    #[must_use]
    pub const fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            part: Segment::Index(index),
        }
    }

    /// Returns the path of a map value below this path.
    #[must_use]
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            part: Segment::Key(key),
        }
    }

    /// Reports whether this is the root path.
    pub fn is_root(&self) -> bool {
        matches!(self.part, Segment::Nothing) && self.parent.is_none_or(Path::is_root)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.part {
            Segment::Nothing => Ok(()),
            Segment::Child(name) if self.parent.is_none_or(Path::is_root) => f.write_str(name),
            Segment::Child(name) => write!(f, ".{name}"),
            Segment::Index(index) => write!(f, "[{index}]"),
            Segment::Key(key) => write!(f, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn field_paths_are_formatted_as_in_kube_apiserver() {
        let spec = Path::ROOT.child("spec");
        let containers = spec.child("containers");
        let first = containers.index(0);
        assert_eq!(first.child("name").to_string(), "spec.containers[0].name");
        let labels = Path::new("metadata");
        let labels = labels.child("labels");
        assert_eq!(labels.key("a/b").to_string(), "metadata.labels[a/b]");
        assert!(Path::ROOT.is_root() && !spec.is_root());
    }
}
