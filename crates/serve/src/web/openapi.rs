//! The OpenAPI document, made of the tables of routes.

use super::route::{Access, Kind, Route};
use super::routes::ROUTE_GROUPS;
use kb_base::value::{Json, JsonMap};
use serde_json::json;

/// The OpenAPI 3.1 document of the API.
pub fn document() -> Json {
    let mut paths = JsonMap::new();
    let routes = ROUTE_GROUPS.iter().flat_map(|group| group.iter());
    for route in routes.filter(|route| route.kind == Kind::Api) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "kb serve",
            "version": "1",
            "description": "Runs, triggers and questions of the projects that `kb serve` serves. Errors are problem details (RFC 9457).",
        },
        "servers": [{"url": "http://127.0.0.1:7900"}],
        "security": [{"bearer": []}, {"session": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "kb_7900"},
            },
            "schemas": {"Problem": problem()},
        },
    })
}

fn operation(route: &Route) -> Json {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let path = names.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let query = route.query.iter().map(|param| {
        json!({
            "name": param.name,
            "in": "query",
            "description": param.summary,
            "schema": {"type": "string"},
        })
    });
    let parameters: Vec<Json> = path.chain(query).collect();
    let mut operation = json!({"summary": route.summary, "responses": responses(route)});
    match route.access {
        Access::Public => operation["security"] = json!([]),
        Access::Signed => {
            operation["security"] = json!([]);
            operation["description"] = json!("The request is signed.");
        }
        Access::Role(role) => operation["x-role"] = json!(role.as_str()),
    }
    if !parameters.is_empty() {
        operation["parameters"] = Json::from(parameters);
    }
    if let Some(schema) = route.body {
        let mut schema = schema();
        schema.as_object_mut().map(|map| map.remove("$schema"));
        operation["requestBody"] = json!({"content": {"application/json": {"schema": schema}}});
    }
    operation
}

fn responses(route: &Route) -> Json {
    let mut all = JsonMap::new();
    let usual: &[(u16, &str)] = match route.access {
        Access::Role(_) => &[
            (401, "The token or session is not valid."),
            (403, "The role is too small, or the request comes from another site."),
        ],
        Access::Public | Access::Signed => &[],
    };
    let has_success = route.answers.iter().any(|(status, _)| *status < 300);
    let success: &[(u16, &str)] = if has_success { &[] } else { &[(200, "The value.")] };
    for (status, meaning) in success.iter().chain(route.answers).chain(usual) {
        let mut answer = json!({"description": meaning});
        if *status >= 400 {
            let schema = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
            answer["content"] = json!({"application/problem+json": schema});
        }
        all.insert(status.to_string(), answer);
    }
    Json::Object(all)
}

fn problem() -> Json {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "description": "`urn:kb:CODE`, or `about:blank`."},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "description": "`kb explain CODE` shows its page."},
            "help": {"type": "string"},
            "problems": {"type": "array", "items": {"type": "object"}},
        },
    })
}
