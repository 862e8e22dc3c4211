//! Elements of the OpenAPI document that all routes share: security schemes and errors.

use drover_api::agent::PROOF_HEADER;
use serde_json::{Value, json};

use drover_http_edge::routes::{Right, Route};

/// Name of the security scheme of user tokens.
const TOKEN: &str = "token";
/// Name of the security scheme of registration tokens.
const REGISTRATION_TOKEN: &str = "registrationToken";
/// Name of the security scheme of agent proofs, which agents send in a header.
const PROOF: &str = "proof";

/// Adds the security schemes to the OpenAPI document. Adds the required credential and the error
/// responses to the operation of each route.
pub(super) fn complete(mut document: Value, routes: &[Route]) -> Value {
    document["components"]["securitySchemes"] = json!({
        TOKEN: { "type": "http", "scheme": "bearer", "bearerFormat": "drover_<id>_<secret>" },
        REGISTRATION_TOKEN: {
            "type": "http", "scheme": "bearer", "bearerFormat": "droverimport_<id>_<secret>",
        },
        PROOF: { "type": "apiKey", "in": "header", "name": PROOF_HEADER },
    });
    document["components"]["schemas"]["Status"] = status();
    document["components"]["responses"]["Error"] = json!({
        "description": "The problem and its fix, as metav1.Status (Kubernetes)",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Status" } } },
    });
    for route in routes {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = document["paths"].get_mut(&*route.path);
        let Some(operation) = operation.and_then(|path| path.get_mut(&method)) else {
            continue;
        };
        operation["responses"]["default"] = json!({ "$ref": "#/components/responses/Error" });
        let scheme = match (route.right, &*route.path) {
            (Right::Anyone, _)
            | (Right::Agent, "/v1/agent/challenge" | "/v1/agent/hub-token" | "/v1/agent/node") => {
                None
            }
            (Right::Agent, "/v1/connect") => Some(PROOF),
            (Right::Agent, _) => Some(REGISTRATION_TOKEN),
            _ => Some(TOKEN),
        };
        operation["security"] = match scheme {
            Some(scheme) => json!([{ scheme: [] }]),
            None => json!([]),
        };
    }
    // The request body is optional.
    document["paths"]["/v1/clusters/{name}/import"]["post"]["requestBody"]["required"] =
        false.into();
    document
}

/// Returns the schema of `metav1.Status`, with the fields that the server sets.
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
            "code": { "type": "integer", "description": "The HTTP status code" },
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
    fn every_openapi_operation_documents_its_security_and_errors() {
        let document = crate::document();
        let schemes = &document["components"]["securitySchemes"];
        let mut schemes_used = 0;
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let reference = &operation["responses"]["default"]["$ref"];
                assert_eq!(reference, "#/components/responses/Error", "{method} {path}");
                let security = operation["security"].as_array();
                let security = security.unwrap_or_else(|| panic!("{method} {path}"));
                let named = security
                    .iter()
                    .flat_map(|one| one.as_object().unwrap().keys());
                schemes_used += named
                    .inspect(|name| assert!(schemes[*name].is_object()))
                    .count();
            }
        }
        assert!(schemes_used > 15, "{schemes_used}");
        let import = &document["paths"]["/v1/clusters/{name}/import"]["post"];
        assert_eq!(import["requestBody"]["required"], false);
        assert_eq!(import["security"], json!([{ "token": [] }]));
        assert_eq!(
            document["paths"]["/v1/login"]["post"]["security"],
            json!([])
        );
    }
}
