//! What the OpenAPI document says of every route alike: who may call it, and how errors look.

use drover_api::agent::PROOF_HEADER;
use serde_json::{Value, json};

use drover_http_edge::routes::Right;

use crate::routes;

/// Name of the scheme of people's and programs' tokens.
const TOKEN: &str = "token";
/// Name of the scheme of registration tokens.
const REGISTRATION_TOKEN: &str = "registrationToken";
/// Name of the scheme of agents' proofs.
const PROOF: &str = "proof";

/// Adds what no handler says for itself.
pub(super) fn complete(mut document: Value) -> Value {
    document["components"]["securitySchemes"] = json!({
        TOKEN: { "type": "http", "scheme": "bearer", "bearerFormat": "drover_<id>_<secret>" },
        REGISTRATION_TOKEN: {
            "type": "http", "scheme": "bearer", "bearerFormat": "droverimport_<id>_<secret>",
        },
        PROOF: { "type": "apiKey", "in": "header", "name": PROOF_HEADER },
    });
    document["components"]["schemas"]["Status"] = status();
    document["components"]["responses"]["Error"] = json!({
        "description": "What is wrong and what to do: a metav1.Status (Kubernetes)",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Status" } } },
    });
    for route in routes::all() {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = document["paths"].get_mut(&*route.path);
        let Some(operation) = operation.and_then(|path| path.get_mut(&method)) else {
            continue;
        };
        operation["responses"]["default"] = json!({ "$ref": "#/components/responses/Error" });
        let scheme = match (route.right, &*route.path) {
            (Right::Anyone, _) | (Right::Agent, "/v1/agent/challenge") => None,
            (Right::Agent, "/v1/connect") => Some(PROOF),
            (Right::Agent, _) => Some(REGISTRATION_TOKEN),
            _ => Some(TOKEN),
        };
        operation["security"] = match scheme {
            Some(scheme) => json!([{ scheme: [] }]),
            None => json!([]),
        };
    }
    // An empty body will do.
    document["paths"]["/v1/clusters/{name}/import"]["post"]["requestBody"]["required"] =
        false.into();
    document
}

/// The parts of `metav1.Status` that the server fills.
fn status() -> Value {
    let text = || json!({ "type": "string" });
    let cause = json!({ "type": "object", "properties": {
        "field": text(), "reason": text(), "message": text(),
    }});
    json!({
        "type": "object",
        "required": ["kind", "apiVersion", "status", "code", "reason", "message"],
        "properties": {
            "kind": { "type": "string", "enum": ["Status"] },
            "apiVersion": { "type": "string", "enum": ["v1"] },
            "metadata": { "type": "object" },
            "status": { "type": "string", "enum": ["Failure"] },
            "code": { "type": "integer", "description": "The HTTP status again" },
            "reason": text(),
            "message": text(),
            "details": { "type": "object", "properties": {
                "name": text(),
                "kind": text(),
                "retryAfterSeconds": { "type": "integer" },
                "causes": { "type": "array", "items": cause },
            }},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_says_who_may_call_it_and_how_it_refuses() {
        let document = crate::document();
        let schemes = &document["components"]["securitySchemes"];
        let mut seen = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let reference = &operation["responses"]["default"]["$ref"];
                assert_eq!(reference, "#/components/responses/Error", "{method} {path}");
                let security = operation["security"].as_array();
                let security = security.unwrap_or_else(|| panic!("{method} {path}"));
                let named = security
                    .iter()
                    .flat_map(|one| one.as_object().unwrap().keys());
                seen += named
                    .inspect(|name| assert!(schemes[*name].is_object()))
                    .count();
            }
        }
        assert!(seen > 15, "{seen}");
        let import = &document["paths"]["/v1/clusters/{name}/import"]["post"];
        assert_eq!(import["requestBody"]["required"], false);
        assert_eq!(import["security"], json!([{ "token": [] }]));
        assert_eq!(
            document["paths"]["/v1/login"]["post"]["security"],
            json!([])
        );
    }
}
