//! Writes a schema as plainly as possible, for providers that support a part of the standard.
//!
//! Alternatives at the top are folded into one object, which allows what any of them allows. The
//! rest of what they say is returned as text for the tool's description, so that the model still
//! knows it.

use std::collections::{BTreeMap, BTreeSet};

use chat::schema::for_each;
use serde_json::{Map, Value, json};

type Schema = Map<String, Value>;

/// Where definitions are referred to.
const DEFINITIONS: &str = "#/$defs/";

/// Maximum number of values in a schema whose references are replaced.
const MOST: usize = 20_000;

/// Keywords that only describe, so that keywords next to a reference replace those of its target.
const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];

/// Gives every array a schema of its items, which some providers require.
pub(super) fn add_items(schema: &mut Schema) {
    let is_array = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        Some(kind) => kind == "array",
        None => false,
    };
    if is_array {
        schema.entry("items").or_insert_with(|| json!({}));
    }
}

/// Replaces constants, types next to alternatives, and what else some providers do not
/// support.
pub(super) fn simplify(schema: &mut Value) {
    for_each(schema, &mut |map| {
        join_one(map);
        list_constant(map);
        move_type(map);
        wrap_reference(map);
        ask_for_no_cycle(map);
    });
}

/// Writes `allOf` with one schema as part of the schema around it. Some programs write
/// references like this.
fn join_one(schema: &mut Schema) {
    let all = schema.get("allOf").and_then(Value::as_array);
    let Some([one]) = all.map(Vec::as_slice) else {
        return;
    };
    let one = one.clone();
    let mut beside = schema.clone();
    beside.remove("allOf");
    if let Value::Object(joined) = joined(one, beside) {
        *schema = joined;
    }
}

/// Writes a constant as a list of one value.
fn list_constant(schema: &mut Schema) {
    let is_listable = |it: &&Value| it.is_string() || it.is_number();
    if let Some(value) = schema.get("const").filter(is_listable).cloned() {
        schema.remove("const");
        schema.insert("enum".to_owned(), json!([value]));
    }
}

/// Moves a type into its neighboring alternatives.
fn move_type(schema: &mut Schema) {
    let Some(kind) = schema.get("type").cloned() else {
        return;
    };
    let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") else {
        return;
    };
    for alternative in alternatives.iter_mut().filter_map(Value::as_object_mut) {
        if !alternative.contains_key("$ref") {
            alternative.entry("type").or_insert_with(|| kind.clone());
        }
    }
    schema.remove("type");
}

/// Leaves only descriptions next to a reference.
fn wrap_reference(schema: &mut Schema) {
    let others = ["$ref", "description", "default"];
    if schema.contains_key("$ref") && schema.keys().any(|key| !others.contains(&&**key)) {
        let reference = schema.remove("$ref");
        schema.insert("anyOf".to_owned(), json!([{ "$ref": reference }]));
    }
}

/// Makes properties optional that refer to a definition, which is then part of a cycle.
fn ask_for_no_cycle(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    let in_cycle = properties.iter().filter(|(_, it)| !referred(it).is_empty());
    let in_cycle: BTreeSet<String> = in_cycle.map(|(name, _)| name.clone()).collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !name.as_str().is_some_and(|it| in_cycle.contains(it)));
    }
}

/// Replaces each reference by what it refers to, except in a cycle.
pub(super) fn replace_references(mut schema: Value) -> Value {
    let Some(Value::Object(definitions)) = schema.as_object_mut().and_then(|it| it.remove("$defs"))
    else {
        return schema;
    };
    let mut replacer = Replacer {
        cyclic: cyclic(&definitions),
        definitions,
        count: 0,
    };
    let replaced = replacer.value(&schema);
    let names: Vec<String> = replacer.cyclic.iter().cloned().collect();
    let kept = names.into_iter().map(|name| {
        let definition = replacer.definitions.get(&name).cloned();
        let definition = replacer.value(&definition.unwrap_or_default());
        (name, definition)
    });
    let kept: Schema = kept.collect();
    if replacer.count > MOST {
        // Definitions that multiply are sent as they are.
        return with_definitions(schema, replacer.definitions);
    }
    with_definitions(replaced, kept)
}

fn with_definitions(mut schema: Value, definitions: Schema) -> Value {
    if let (false, Value::Object(map)) = (definitions.is_empty(), &mut schema) {
        map.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

struct Replacer {
    definitions: Schema,
    cyclic: BTreeSet<String>,
    count: usize,
}

impl Replacer {
    fn value(&mut self, value: &Value) -> Value {
        self.count += 1;
        match value {
            _ if self.count > MOST => Value::Null,
            Value::Array(list) => list.iter().map(|it| self.value(it)).collect(),
            Value::Object(map) => self.object(map),
            other => other.clone(),
        }
    }

    fn object(&mut self, map: &Schema) -> Value {
        let target = name_of(map).filter(|name| !self.cyclic.contains(*name));
        let target = target.and_then(|name| self.definitions.get(name).cloned());
        let Some(target) = target else {
            let pairs = map.iter().map(|(key, it)| (key.clone(), self.value(it)));
            return Value::Object(pairs.collect());
        };
        let target = self.value(&target);
        let beside = map.iter().filter(|(key, _)| *key != "$ref");
        let beside: Schema = beside
            .map(|(key, it)| (key.clone(), self.value(it)))
            .collect();
        joined(target, beside)
    }
}

/// Joins a definition with the keywords next to the reference to it.
fn joined(target: Value, beside: Schema) -> Value {
    match target {
        Value::Object(mut map)
            if beside
                .keys()
                .all(|key| ANNOTATIONS.contains(&&**key) || !map.contains_key(key)) =>
        {
            map.extend(beside);
            Value::Object(map)
        }
        target if beside.is_empty() => target,
        target => {
            let mut both = beside;
            both.insert("allOf".to_owned(), json!([target]));
            Value::Object(both)
        }
    }
}

/// Returns the definition that a schema refers to.
fn name_of(schema: &Schema) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(DEFINITIONS)
}

/// Returns the names of definitions that lead back to themselves.
fn cyclic(definitions: &Schema) -> BTreeSet<String> {
    let edges: BTreeMap<&str, BTreeSet<String>> = definitions
        .iter()
        .map(|(name, it)| (name.as_str(), referred(it)))
        .collect();
    let leads_back = |name: &&String| {
        let mut open: Vec<&str> = vec![name.as_str()];
        let mut seen = BTreeSet::new();
        while let Some(next) = open.pop() {
            for other in edges.get(next).into_iter().flatten() {
                if other == *name {
                    return true;
                }
                if seen.insert(other.as_str()) {
                    open.push(other.as_str());
                }
            }
        }
        false
    };
    definitions.keys().filter(leads_back).cloned().collect()
}

/// Returns the definitions that a value refers to.
fn referred(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Array(list) => list.iter().flat_map(referred).collect(),
        Value::Object(map) => {
            let own = name_of(map).map(str::to_owned);
            own.into_iter()
                .chain(map.values().flat_map(referred))
                .collect()
        }
        _ => BTreeSet::new(),
    }
}

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
        // Keywords next to a reference are more specific, such as the description.
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
