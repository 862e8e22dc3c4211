//! Collects the figures of a benchmark, prints them as a table and writes them as JSON.

pub(crate) mod machine;
pub(crate) mod measure;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The reason why the figures cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FiguresError {
    /// The file cannot be written.
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
}

/// The goal of a figure: the maximum or minimum value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// The figure has no goal. The benchmark only reports the figure.
    None,
}

impl Goal {
    fn text(self, value: f64) -> String {
        match self {
            Self::AtMost(bound) => format!("≤ {bound}  {}", result(value <= bound)),
            Self::AtLeast(bound) => format!("≥ {bound}  {}", result(value >= bound)),
            Self::None => String::new(),
        }
    }
}

const fn result(reached: bool) -> &'static str {
    if reached { "reached" } else { "NOT reached" }
}

/// The figures of one benchmark, in the order of measurement.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    rows: Vec<(String, f64, Goal)>,
    notes: Vec<String>,
}

impl Figures {
    /// Adds a figure. The key contains the unit.
    pub(crate) fn add(&mut self, key: &str, value: f64, goal: Goal) {
        self.rows.push((key.to_owned(), value, goal));
    }

    /// Adds a line of text below the table of figures.
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Renders the figures as a table.
    pub(crate) fn table(&self, title: &str) -> String {
        let mut text = format!("\n{title}\n");
        for (key, value, goal) in &self.rows {
            writeln!(
                text,
                "  {key:<34} {:>12}  {}",
                rounded(*value),
                goal.text(*value)
            )
            .expect("writing to a String cannot fail");
        }
        for note in &self.notes {
            text.extend(["  ", note.as_str(), "\n"]);
        }
        text
    }

    /// Writes `bench/NAME.json` in the target folder and returns its path.
    pub(crate) fn write(&self, name: &str) -> Result<PathBuf, FiguresError> {
        let folder = target_folder().join("bench");
        let path = folder.join(format!("{name}.json"));
        let flat: BTreeMap<&str, f64> = self
            .rows
            .iter()
            .map(|(key, value, _)| (key.as_str(), *value))
            .collect();
        let text = serde_json::to_string_pretty(&flat).expect("names and numbers are JSON");
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&path, text + "\n"))
            .map_err(|source| FiguresError::Write {
                path: path.clone(),
                source,
            })?;
        Ok(path)
    }
}

/// Returns cargo's target folder.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target")),
        PathBuf::from,
    )
}

/// Formats a value with 0 to 3 decimals: the larger the value, the fewer decimals.
fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Returns the median, or NaN for an empty slice.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_value() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn benchmark_table_marks_reached_and_missed_goals() {
        let mut figures = Figures::default();
        figures.add("added_p50_ms", 0.25, Goal::AtMost(0.5));
        figures.add("rps_ratio", 2.0, Goal::AtLeast(3.0));
        let table = figures.table("proxy");
        assert!(table.contains("0.250  ≤ 0.5  reached"), "{table}");
        assert!(table.contains("2.00  ≥ 3  NOT reached"), "{table}");
    }
}
