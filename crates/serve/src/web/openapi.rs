//! The OpenAPI document, made of the tables of routes.

use super::param::QueryValues;
use super::route::{Access, Kind, Method, Route};
use super::routes::ROUTE_GROUPS;
use kb_base::value::{Json, JsonMap};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::json;

/// The OpenAPI 3.1 document of the API.
pub fn document() -> Json {
    let mut paths = JsonMap::new();
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    // A key with a default is always sent, and may be left out in a request.
    let mut all = Schemas {
        answers: settings.clone().for_serialize().into_generator(),
        bodies: settings.for_deserialize().into_generator(),
    };
    let routes = ROUTE_GROUPS.iter().flat_map(|group| group.iter());
    for route in routes.filter(|route| route.kind == Kind::Api) {
        let operation = operation(route, &mut all);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str()] = operation;
    }
    let mut schemas = all.answers.take_definitions(true);
    schemas.extend(all.bodies.take_definitions(true));
    schemas.values_mut().for_each(with_objects);
    schemas.insert("Problem".to_owned(), problem());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "kb serve",
            "version": "1",
            "description": "Runs, triggers and questions of the projects that `kb serve` serves. Errors are problem details (RFC 9457).",
        },
        // Relative to the address of this document: the server that serves it.
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    })
}

/// The name of an operation: `getRunGraph`, `cancelRun`, `postRuns`. A parameter stands for the part of the path before
/// it, and the last part of a path that writes is its verb.
fn operation_id(route: &Route) -> String {
    let parts: Vec<&str> =
        route.path.split('/').filter(|part| !["", "api", "v1"].contains(part)).collect();
    let is_param = |part: &&str| part.starts_with('{');
    let noun = |at: usize| {
        let is_replaced = parts.get(at + 1).is_some_and(is_param);
        let word = parts[at].trim_matches(|c| c == '{' || c == '}');
        (!is_replaced).then(|| word.split('.').next().unwrap_or_default())
    };
    let mut nouns: Vec<&str> = (0..parts.len()).filter_map(noun).collect();
    let has_verb = route.method == Method::Post
        && parts.len() > 2
        && parts.last().is_some_and(|part| !is_param(part));
    let verb = nouns.pop_if(|_| has_verb).unwrap_or(route.method.as_str());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|c| c.to_ascii_uppercase().to_string() + letters.as_str())
    };
    verb.to_owned() + &nouns.into_iter().filter_map(capital).collect::<String>()
}

/// The schemas of what is sent and of what is received.
struct Schemas {
    answers: SchemaGenerator,
    bodies: SchemaGenerator,
}

fn operation(route: &Route, all: &mut Schemas) -> Json {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let path = names.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let query = route.query.iter().map(|param| {
        json!({
            "name": param.name,
            "in": "query",
            "description": param.summary,
            "schema": values(param.values),
        })
    });
    let parameters: Vec<Json> = path.chain(query).collect();
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "responses": responses(route, &mut all.answers),
    });
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
        let schema = object_of(schema(&mut all.bodies));
        // A missing body is an empty object.
        let is_required = schema.get("required").is_some()
            || schema.get("$ref").is_some_and(|reference| {
                let name = reference.as_str().and_then(|text| text.rsplit('/').next());
                name.and_then(|name| all.bodies.definitions().get(name)?.get("required")).is_some()
            });
        operation["requestBody"] =
            json!({"required": is_required, "content": {"application/json": {"schema": schema}}});
    }
    operation
}

fn values(values: QueryValues) -> Json {
    match values {
        QueryValues::Any => json!({"type": "string"}),
        QueryValues::Number(most) => json!({"type": "integer", "minimum": 0, "maximum": most}),
        QueryValues::OneOf(all) => json!({"type": "string", "enum": all}),
        QueryValues::SomeOf(all) => {
            json!({"type": "array", "items": {"type": "string", "enum": all}})
        }
    }
}

fn responses(route: &Route, all_schemas: &mut SchemaGenerator) -> Json {
    let mut all = JsonMap::new();
    let usual: &[(u16, &str)] = match route.access {
        Access::Role(_) => &[
            (401, "The token or session is not valid."),
            (403, "The role is too small, or the request comes from another site."),
            (400, "The request is malformed."),
            (404, "There is no such project."),
            (503, "The journal or the store cannot be read at the moment."),
        ],
        Access::Public | Access::Signed => &[(400, "The request is malformed.")],
    };
    let of_method: &[(u16, &str)] = match route.method {
        Method::Get => &[],
        Method::Post => &[
            (413, "The body is larger than 1 MiB."),
            (415, "The content type is not accepted."),
            (422, "The body does not fit."),
        ],
    };
    let of_run: &[(u16, &str)] =
        if route.path.contains("{run}") { &[(410, "The run was removed.")] } else { &[] };
    let has_success = route.answers.iter().any(|(status, _)| *status < 300);
    let success: &[(u16, &str)] = if has_success { &[] } else { &[(200, "The value.")] };
    for (status, meaning) in
        success.iter().chain(route.answers).chain(usual).chain(of_method).chain(of_run)
    {
        let mut answer = json!({"description": meaning});
        if *status < 300 && *status != 204 {
            if let Some(schema) = route.returns.json {
                answer["content"]["application/json"]["schema"] = object_of(schema(all_schemas));
            }
            for kind in route.returns.text {
                answer["content"][*kind] = json!({"schema": {"type": "string"}});
            }
        }
        if *status >= 400 {
            let schema = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
            answer["content"] = json!({"application/problem+json": schema});
        }
        all.entry(status.to_string()).or_insert(answer);
    }
    Json::Object(all)
}

/// A schema without `true`, the schema of any value: many programs know `{}` only.
fn with_objects(schema: &mut Json) {
    match schema {
        Json::Bool(true) => *schema = json!({}),
        Json::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("items", one) => with_objects(one),
                    ("properties", Json::Object(all)) => all.values_mut().for_each(with_objects),
                    ("anyOf" | "oneOf" | "allOf", Json::Array(all)) => {
                        all.iter_mut().for_each(with_objects);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn object_of(schema: Schema) -> Json {
    let mut schema = schema.to_value();
    with_objects(&mut schema);
    schema
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
