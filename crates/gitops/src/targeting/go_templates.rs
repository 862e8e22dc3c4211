//! Go templates in Helm values.

use drover_gotemplate::{Delimiters, Limits, Template};
use serde_json::Value;

use super::Templates;

/// Renders templates with the delimiters `${` and `}`.
#[derive(Clone, Copy, Debug)]
pub struct GoTemplates;

impl Templates for GoTemplates {
    fn render(&self, text: &str, data: &Value) -> Result<String, String> {
        let template =
            Template::parse(text, Delimiters::FLEET).map_err(|error| error.to_string())?;
        let rendered = template.render(data, Limits::default());
        rendered.map_err(|error| error.to_string())
    }
}
