//! Conversion of field sets from earlier schemas. If a value is atomic in the current schema, the
//! members below the value are replaced by the value itself.

use super::{Form, ListKind, MapAtom, Type};
use crate::merge::path::PathElement;
use crate::merge::set::Set;
use crate::schema::Shape;

/// Returns the set for the current schema, or `None` if the set does not change.
pub(in crate::merge) fn reconcile(set: &Set, ty: Type<'_>) -> Option<Set> {
    let mut walk = Walk::default();
    walk.visit(Some(set), ty, false);
    if walk.whole.is_empty() {
        return None;
    }
    Some(set.recursive_difference(&walk.whole).union(&walk.whole))
}

#[derive(Default)]
struct Walk {
    path: Vec<PathElement>,
    /// The fields that are atomic in the current schema.
    whole: Set,
}

impl Walk {
    /// Visits the members at the current path. `leaf` is true if the field is a member without
    /// members below it.
    fn visit(&mut self, set: Option<&Set>, ty: Type<'_>, leaf: bool) {
        match ty.atom().form() {
            Form::Scalar(_) => {}
            Form::List(list) => {
                if list.kind == ListKind::Atomic {
                    if !leaf {
                        self.whole.insert_at(&self.path);
                    }
                } else if let Some(set) = set {
                    self.inside(set, |_| Some(list.element));
                }
            }
            Form::Map(map) => {
                if is_deduced(&map) {
                    return;
                }
                if map.atomic {
                    if !leaf && set.is_some_and(|set| !set.is_empty()) {
                        self.whole.insert_at(&self.path);
                    }
                } else if let Some(set) = set {
                    self.inside(set, |element| match element {
                        PathElement::Field(name) => map.at(name),
                        _ => map.element,
                    });
                }
            }
        }
    }

    fn inside<'a>(&mut self, set: &Set, type_of: impl Fn(&PathElement) -> Option<Type<'a>>) {
        for (element, branch) in set.branches() {
            let Some(ty) = type_of(element) else {
                continue;
            };
            let children = (!branch.children.is_empty()).then_some(&branch.children);
            self.path.push(element.clone());
            self.visit(children, ty, branch.member && children.is_none());
            self.path.pop();
        }
    }
}

/// Reports whether the structure of the map is unspecified in the schema. An unspecified structure
/// is the same in all schemas.
fn is_deduced(map: &MapAtom<'_>) -> bool {
    map.fields.is_none()
        && match map.element {
            Some(Type::Deduced) => true,
            Some(Type::Node { node, .. }) => match &node.shape {
                Shape::Any | Shape::IntOrString => true,
                Shape::String { format } => !format.is_empty() && format != "byte",
                _ => false,
            },
            Some(Type::Untyped) | None => false,
        }
}
