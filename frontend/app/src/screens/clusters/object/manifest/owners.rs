//! The field managers of a manifest, and the manager of each line.

use drover_ui_core::manifest::Manifest;
use drover_ui_core::manifest::ownership::{Manager, Ownership};
use drover_ui_core::messages::t;
use leptos::prelude::*;

use crate::screens::object::words::Age;

/// The width of the managers of a line, in characters.
pub(super) const OWNERS_COLUMNS: usize = 25;
/// The number of colors of managers.
const COLORS: usize = 6;

/// The field managers of a manifest, and the indexes of the managers of each line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LineOwners {
    managers: Vec<Manager>,
    lines: Vec<Vec<usize>>,
}

impl LineOwners {
    /// Returns the owners of the lines of a text of the manifest. Returns `None` for JSON.
    pub(super) fn of(manifest: &Manifest, text: &str) -> Option<Self> {
        let value = manifest.yaml_value()?;
        let ownership = Ownership::of(&value);
        Some(Self {
            lines: ownership.of_lines(text, &value),
            managers: ownership.managers,
        })
    }

    /// Renders the managers of a line. Without a line, the view is empty and has the same width.
    pub(super) fn view(&self, line: Option<usize>) -> AnyView {
        let owners = line.and_then(|line| self.lines.get(line));
        let owners = owners.map_or(&[][..], Vec::as_slice);
        let color = owners.first().map_or(0, |index| index % COLORS);
        let managers = owners.iter().filter_map(|index| self.managers.get(*index));
        let (names, full): (Vec<_>, Vec<_>) = managers
            .map(|it| {
                (
                    it.name.clone(),
                    t().ownership.owned(&it.name, &it.operation),
                )
            })
            .unzip();
        let class = format!("log-source source-{color}");
        view! { <span class=class title=full.join(", ")>{names.join(", ")}</span> }.into_any()
    }

    /// Renders the field managers of the object.
    pub(super) fn managers(&self) -> AnyView {
        if self.managers.is_empty() {
            return view! { <p class="muted">{t().ownership.none()}</p> }.into_any();
        }
        let rows = self.managers.iter().map(|manager| {
            view! {
                <tr>
                    <td>{manager.name.clone()}</td>
                    <td>{manager.operation.clone()}</td>
                    <td>{manager.subresource.clone()}</td>
                    <td>{manager.changed.map(|at| view! { <Age at=at/> })}</td>
                </tr>
            }
        });
        view! {
            <table class="pairs" aria-label=t().ownership.managers()>
                <thead>
                    <tr>
                        <th scope="col">{t().ownership.manager()}</th>
                        <th scope="col">{t().ownership.operation()}</th>
                        <th scope="col">{t().ownership.subresource()}</th>
                        <th scope="col">{t().ownership.changed()}</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        }
        .into_any()
    }
}
