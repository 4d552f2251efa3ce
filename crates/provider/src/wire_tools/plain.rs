//! Writes a schema as plainly as possible, for providers that support a part of the standard.

use std::collections::{BTreeMap, BTreeSet};

use chat::schema::for_each;
use serde_json::{Map, Value, json};

type Schema = Map<String, Value>;

/// Where definitions are referred to.
const DEFINITIONS: &str = "#/$defs/";
/// Maximum number of values in a schema whose references are replaced.
const MOST: usize = 20_000;
/// Keywords that only describe, so that those beside a reference replace those behind it.
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

/// Replaces constants, types beside alternatives, and what else some providers do not
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

/// Moves a type into the alternatives beside it.
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

/// Leaves only descriptions beside a reference.
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

/// Joins a definition with the keywords beside the reference to it.
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
