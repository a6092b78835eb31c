//! What a tool declares of its arguments: the definition that its server or framework gives, or an operation of an
//! OpenAPI document. Its author controls it, so it only helps to draft a row that a person reads.

use serde_json::{Map, Value};

/// Most references that are followed.
const REFERENCES: usize = 200;
/// Deepest nesting, and most parts, of a definition.
const DEPTH: usize = 64;
const PARTS: usize = 20_000;
/// Keys under which definitions have the schema of the arguments: MCP, Anthropic, OpenAI, others.
const SCHEMAS: [&str; 5] = ["inputSchema", "input_schema", "parameters", "parametersJsonSchema", "schema"];
/// Methods of HTTP that an OpenAPI document describes.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The declared arguments of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Declared {
    pub properties: Map<String, Value>,
    pub required: Vec<String>,
    /// The tool says that it changes nothing.
    pub only_reads: bool,
}

impl Declared {
    /// Finds a tool in a document: one definition, a list of them (`tools/list` of MCP, tools of a model API), or an OpenAPI
    /// document, whose operations have their `operationId` as name.
    pub fn find(document: &Value, tool: &str) -> Option<Self> {
        if document.get("paths").is_some_and(Value::is_object) {
            return operation(document, tool);
        }
        let mut open = vec![document];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(all) => open.extend(all),
                Value::Object(fields) => {
                    let schema = SCHEMAS.iter().find_map(|key| fields.get(*key)).filter(|schema| schema.is_object());
                    if let (Some(true), Some(schema)) = (fields.get("name").map(|name| name == tool), schema) {
                        return Some(Self::of(schema, value));
                    }
                    // definitions are nested, schemas are not searched
                    let nested = ["tools", "result", "function", "functions"];
                    open.extend(nested.iter().filter_map(|key| fields.get(*key)));
                }
                _ => {}
            }
        }
        None
    }

    /// The options in the help text of a program.
    pub fn of_help(text: &str) -> Self {
        super::help::declared(text)
    }

    fn of(schema: &Value, definition: &Value) -> Self {
        let mut budget = REFERENCES;
        let schema = resolved(schema, schema, &mut budget);
        Self {
            properties: object(schema.get("properties")),
            required: texts(schema.get("required")),
            only_reads: definition.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true)),
        }
    }
}

/// The operation of an OpenAPI document with this id: its parameters, and the fields of its JSON body.
fn operation(document: &Value, id: &str) -> Option<Declared> {
    let paths = document.get("paths")?.as_object()?;
    let mut operations = paths
        .values()
        .flat_map(|path| METHODS.iter().filter_map(move |method| Some((*method, path, path.get(method)?))));
    let (method, path, found) = operations.find(|(_, _, one)| one.get("operationId").is_some_and(|own| own == id))?;
    let mut budget = REFERENCES;
    let mut declared = Declared { only_reads: matches!(method, "get" | "head"), ..Declared::default() };
    let shared = [path.get("parameters"), found.get("parameters")];
    for parameter in shared.into_iter().flatten().filter_map(Value::as_array).flatten() {
        let parameter = resolved(parameter, document, &mut budget);
        let Some(name) = parameter.get("name").and_then(Value::as_str) else { continue };
        if parameter.get("required") == Some(&Value::Bool(true)) {
            declared.required.push(name.to_owned());
        }
        let schema = parameter.get("schema").map(|schema| resolved(schema, document, &mut budget));
        declared.properties.insert(name.to_owned(), schema.unwrap_or_default());
    }
    let body = found.get("requestBody").map(|body| resolved(body, document, &mut budget)).unwrap_or_default();
    if let Some(schema) = body.pointer("/content/application~1json/schema") {
        let schema = resolved(schema, document, &mut budget);
        declared.properties.extend(object(schema.get("properties")));
        declared.required.extend(texts(schema.get("required")));
    }
    Some(declared)
}

/// A value with its references to the same document replaced. What is nested too deeply, or beyond the budget, becomes null.
fn resolved(value: &Value, document: &Value, budget: &mut usize) -> Value {
    let mut parts = PARTS;
    within(value, document, budget, DEPTH, &mut parts)
}

fn within(value: &Value, document: &Value, budget: &mut usize, depth: usize, parts: &mut usize) -> Value {
    if depth == 0 || *parts == 0 {
        return Value::Null;
    }
    *parts -= 1;
    if let Some(place) = value.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#')) {
        if *budget == 0 {
            return Value::Null;
        }
        *budget -= 1;
        return document.pointer(place).map_or(Value::Null, |found| within(found, document, budget, depth - 1, parts));
    }
    match value {
        Value::Object(fields) => {
            let each =
                fields.iter().map(|(key, value)| (key.clone(), within(value, document, budget, depth - 1, parts)));
            Value::Object(each.collect())
        }
        Value::Array(all) => {
            Value::Array(all.iter().map(|value| within(value, document, budget, depth - 1, parts)).collect())
        }
        other => other.clone(),
    }
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_of_several_formats_are_found() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
        for document in [
            json!({"name": "peek", "inputSchema": schema}),
            json!({"result": {"tools": [{"name": "other", "inputSchema": {}}, {"name": "peek", "inputSchema": schema}]}}),
            json!([{"type": "function", "function": {"name": "peek", "parameters": schema}}]),
            json!({"tools": [{"name": "peek", "input_schema": schema}]}),
        ] {
            let found = Declared::find(&document, "peek").unwrap();
            assert_eq!(found.required, ["id"], "{document}");
            assert!(found.properties.contains_key("id") && Declared::find(&document, "pee").is_none());
        }
    }

    #[test]
    fn operations_of_an_openapi_document_are_tools() {
        let document = json!({"openapi": "3.1.0", "paths": {"/orders/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Id"}}],
            "patch": {"operationId": "changeOrder", "requestBody": {"content": {"application/json": {"schema": {
                "type": "object", "properties": {"state": {"enum": ["open", "done"]}}, "required": ["state"]}}}}},
            "get": {"operationId": "readOrder"}}},
            "components": {"schemas": {"Id": {"type": "string", "pattern": "^O-[0-9]+$"}}}});
        let found = Declared::find(&document, "changeOrder").unwrap();
        assert_eq!((found.required, found.only_reads), (vec!["id".to_owned(), "state".to_owned()], false));
        assert_eq!(found.properties["id"]["pattern"], "^O-[0-9]+$");
        assert!(Declared::find(&document, "readOrder").unwrap().only_reads);
        let endless = json!({"name": "a", "inputSchema": {"properties": {"x": {"$ref": "#/properties/x"}}}});
        assert!(Declared::find(&endless, "a").is_some());
    }
}
