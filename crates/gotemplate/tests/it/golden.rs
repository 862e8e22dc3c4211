//! Compares the results with the results of Go's `text/template` and sprig 3.3.0, which
//! `e2e/golden/generate-templates` writes.

use std::path::{Path, PathBuf};

use drover_gotemplate::{Delimiters, Limits, Template};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Renders all templates of a golden file, and returns one line per difference.
fn differences(name: &str) -> Vec<String> {
    let data = read("data.json");
    let mut differences = Vec::new();
    let cases = read(name);
    let cases = cases.as_array().unwrap();
    assert!(cases.len() > 20, "{name} has only {} cases", cases.len());
    for case in cases {
        let text = case["template"].as_str().unwrap();
        let delimiters = Delimiters {
            left: case["left"].as_str().unwrap(),
            right: case["right"].as_str().unwrap(),
        };
        let rendered = Template::parse(text, delimiters)
            .map_err(|error| error.to_string())
            .and_then(|template| {
                let rendered = template.render(&data, Limits::default());
                rendered.map_err(|error| error.to_string())
            });
        if rendered.as_ref().ok().map(String::as_str) != case["output"].as_str() {
            differences.push(format!(
                "{text}\n    Go:     {}\n    Drover: {rendered:?}",
                case["output"]
            ));
        }
    }
    differences
}

fn assert_equal(name: &str) {
    let differences = differences(name);
    assert!(
        differences.is_empty(),
        "{} differences in {name}:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn templates_of_fleet_render_as_in_go() {
    assert_equal("fleet.json");
}

#[test]
fn syntax_of_templates_is_equal_to_go() {
    assert_equal("syntax.json");
}

#[test]
fn builtin_functions_are_equal_to_go() {
    assert_equal("builtins.json");
}

#[test]
fn string_functions_are_equal_to_sprig() {
    assert_equal("sprig-strings.json");
}

#[test]
fn functions_of_data_are_equal_to_sprig() {
    assert_equal("sprig-data.json");
}
