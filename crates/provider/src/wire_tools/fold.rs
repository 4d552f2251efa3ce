//! Folds the alternatives at the top of a schema into one object.
//!
//! The object allows what any alternative allows. The rest of what the alternatives say is
//! returned as text for the tool's description, so that the model still knows it.

use serde_json::{Map, Value, json};

type Schema = Map<String, Value>;

/// Keywords that providers refuse at the top.
const REFUSED: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "enum", "const"];
/// Maximum nesting of alternatives that is followed.
const DEEPEST: usize = 8;
/// Above this size in bytes, only the required and the constant arguments of each alternative
/// are described.
const LONG: usize = 2000;

/// Returns `schema` as one object, and its alternatives if it has any.
///
/// # Errors
///
/// The arguments are not an object; a phrase.
pub(super) fn fold(schema: Value) -> Result<(Schema, Option<String>), String> {
    let Value::Object(root) = schema else {
        return Err("its schema allows no arguments".to_owned());
    };
    let definitions = root.get("$defs").cloned().unwrap_or_default();
    let mut object = merged(root, &definitions, DEEPEST)?;
    let refused: Schema = REFUSED
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), object.remove(*key)?)))
        .collect();
    object.insert("type".to_owned(), json!("object"));
    object.entry("properties").or_insert_with(|| json!({}));
    let said = (!refused.is_empty()).then(|| said(refused));
    Ok((object, said))
}

/// Returns a schema of an object with the properties of its alternatives.
fn merged(mut schema: Schema, definitions: &Value, depth: usize) -> Result<Schema, String> {
    if let Some(name) = schema.remove("$ref") {
        let name = name.as_str().unwrap_or_default();
        let target = &definitions[name.trim_start_matches("#/$defs/")];
        let target = target.as_object().filter(|_| depth > 0);
        let target = target.ok_or("its schema refers only to itself")?;
        let inner = merged(target.clone(), definitions, depth - 1)?;
        add(&mut schema, std::slice::from_ref(&inner), true);
        // What is beside a reference is more specific, such as the description.
        for (keyword, value) in inner {
            schema.entry(keyword).or_insert(value);
        }
    }
    check_type(&schema)?;
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(list)) = schema.get(keyword) else {
            continue;
        };
        let branches = list.iter().filter_map(|branch| match branch {
            Value::Object(branch) if depth > 0 => {
                merged(branch.clone(), definitions, depth - 1).ok()
            }
            _ => None,
        });
        let branches: Vec<Schema> = branches.collect();
        // An alternative that is not an object does not fit any call.
        if branches.is_empty() {
            return Err("none of the alternatives in its schema is an object".to_owned());
        }
        add(&mut schema, &branches, keyword == "allOf");
    }
    Ok(schema)
}

fn check_type(schema: &Schema) -> Result<(), String> {
    let is_object = match schema.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    };
    let kind = schema.get("type").unwrap_or(&Value::Null);
    is_object
        .then_some(())
        .ok_or_else(|| format!("its arguments have the type {kind} instead of \"object\""))
}

/// Adds the properties of the branches, and what all of them require.
fn add(schema: &mut Schema, branches: &[Schema], all_apply: bool) {
    let mut found = Schema::new();
    for (name, property) in branches.iter().flat_map(|it| entries(it, "properties")) {
        match found.get_mut(name) {
            Some(other) => widen(other, property),
            None => drop(found.insert(name.clone(), property.clone())),
        }
    }
    let required = |branch: &Schema| -> Vec<Value> {
        let names = branch.get("required").and_then(Value::as_array);
        names.cloned().unwrap_or_default()
    };
    let mut names = required(schema);
    for name in branches.iter().flat_map(required) {
        let is_required = all_apply || branches.iter().all(|it| required(it).contains(&name));
        if is_required && !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        schema.insert("required".to_owned(), Value::Array(names));
    }
    close(schema, branches, !found.is_empty());
    let own = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(own) = own {
        for (name, property) in found {
            // The schema's own property holds for all branches, so it is the wider one.
            own.entry(name).or_insert(property);
        }
    }
}

/// Allows no other arguments if no branch does.
fn close(schema: &mut Schema, branches: &[Schema], adds: bool) {
    let is_closed = |it: &Schema| it.get("additionalProperties") == Some(&Value::Bool(false));
    if branches.iter().all(is_closed) {
        schema.insert("additionalProperties".to_owned(), json!(false));
    } else if is_closed(schema) && adds {
        schema.remove("additionalProperties");
    }
}

fn entries<'s>(schema: &'s Schema, keyword: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
    let map = schema.get(keyword).and_then(Value::as_object);
    map.into_iter().flatten()
}

/// Makes a property's schema also allow what `other` allows.
fn widen(property: &mut Value, other: &Value) {
    if property == other {
        return;
    }
    if let (Some(mut values), Some(more)) = (constants(property), constants(other)) {
        values.extend(
            more.into_iter()
                .filter(|it| !values.contains(it))
                .collect::<Vec<_>>(),
        );
        *property = json!({ "enum": values });
        return;
    }
    let alternatives = |schema: &Value| match schema {
        Value::Object(map) if map.len() == 1 && map.contains_key("anyOf") => {
            map["anyOf"].as_array().cloned().unwrap_or_default()
        }
        other => vec![other.clone()],
    };
    let mut all = alternatives(property);
    for one in alternatives(other) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    *property = json!({ "anyOf": all });
}

/// Returns the values that a schema lists, if it says nothing else that matters.
fn constants(schema: &Value) -> Option<Vec<Value>> {
    let map = schema.as_object()?;
    let known = |key: &String| ["const", "enum", "type", "description", "title"].contains(&&**key);
    if !map.keys().all(known) {
        return None;
    }
    match (map.get("const"), map.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}

/// Describes the keywords that the object no longer has.
fn said(refused: Schema) -> String {
    let full = Value::Object(refused).to_string();
    let short = if full.len() > LONG {
        serde_json::from_str(&full).map_or_else(|_| full.clone(), |it| brief(&it).to_string())
    } else {
        full
    };
    format!("The arguments must also match this JSON Schema: {short}")
}

/// Returns a schema with only the required and the constant properties.
fn brief(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut kept = Schema::new();
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                kept.insert(keyword.clone(), list.iter().map(brief).collect());
            }
            ("if" | "then" | "else" | "not", value) => {
                kept.insert(keyword.clone(), brief(value));
            }
            ("properties", Value::Object(properties)) => {
                let constant = properties.iter().filter(|it| constants(it.1).is_some());
                let constant: Schema = constant.map(|(k, v)| (k.clone(), v.clone())).collect();
                if !constant.is_empty() {
                    kept.insert(keyword.clone(), Value::Object(constant));
                }
            }
            ("required" | "$ref" | "enum" | "const", value) => {
                kept.insert(keyword.clone(), value.clone());
            }
            // Described by the properties of the folded object.
            _ => {}
        }
    }
    Value::Object(kept)
}
