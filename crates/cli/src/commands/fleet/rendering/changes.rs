//! Texts of the changes of a deployment.

use drover_deploy::deployment::{Change, Effect};
use drover_deploy::object::Object;
use drover_gitops::targeting::yaml_text;
use similar::TextDiff;

/// Number of unchanged lines around a change.
const CONTEXT: usize = 3;

/// Numbers of objects by effect.
#[derive(Debug, Default)]
pub(super) struct Counts {
    created: usize,
    updated: usize,
    deleted: usize,
    unchanged: usize,
    pub(super) rejected: usize,
}

impl Counts {
    pub(super) const fn add(&mut self, effect: &Effect) {
        let count = match effect {
            Effect::Create(_) => &mut self.created,
            Effect::Update { .. } => &mut self.updated,
            Effect::Delete(_) => &mut self.deleted,
            Effect::Unchanged => &mut self.unchanged,
            Effect::Rejected(_) => &mut self.rejected,
        };
        *count += 1;
    }

    pub(super) const fn has_changes(&self) -> bool {
        self.created + self.updated + self.deleted > 0
    }

    pub(super) fn text(&self) -> String {
        let Self {
            created,
            updated,
            deleted,
            unchanged,
            rejected,
        } = self;
        format!(
            "{created} to create, {updated} to change, {deleted} to delete, {unchanged} unchanged, {rejected} \
             rejected"
        )
    }
}

/// Returns a unified diff of the YAML of an object.
pub(super) fn text(change: &Change) -> String {
    let key = &change.key;
    let yaml = |object: &Object| yaml_text(&object.0);
    let (word, before, after) = match &change.effect {
        Effect::Create(after) => ("create", String::new(), yaml(after)),
        Effect::Update { before, after } => ("change", yaml(before), yaml(after)),
        Effect::Delete(before) => ("delete", yaml(before), String::new()),
        Effect::Unchanged => return format!("unchanged {key}\n"),
        Effect::Rejected(reason) => return format!("rejected {key}: {reason}\n"),
    };
    let diff = TextDiff::from_lines(&before, &after);
    let diff = diff.unified_diff().context_radius(CONTEXT).to_string();
    format!("{word} {key}\n{diff}")
}

#[cfg(test)]
mod tests {
    use drover_deploy::object::Object;
    use serde_json::json;

    use super::*;

    fn object(color: &str) -> Object {
        Object(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "namespace": "shop" }, "data": { "color": color },
        }))
    }

    #[test]
    fn change_is_a_unified_diff_of_yaml() {
        let (before, after) = (object("red"), object("blue"));
        let mut counts = Counts::default();
        let change = Change {
            key: before.key(),
            effect: Effect::Update { before, after },
        };
        counts.add(&change.effect);
        insta::assert_snapshot!(text(&change), @r"
        change ConfigMap shop/a
        @@ -1,6 +1,6 @@
         apiVersion: v1
         data:
        -  color: red
        +  color: blue
         kind: ConfigMap
         metadata:
           name: a
        ");
        let rejected = Change {
            effect: Effect::Rejected("denied".to_owned()),
            ..change
        };
        counts.add(&rejected.effect);
        assert!(text(&rejected).ends_with(": denied\n"));
        assert!(counts.has_changes());
        assert_eq!(
            counts.text(),
            "0 to create, 1 to change, 0 to delete, 0 unchanged, 1 rejected"
        );
    }
}
