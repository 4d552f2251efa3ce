//! Converts a schema of any draft to JSON Schema 2020-12.
//!
//! Nothing that a valid schema says is lost. Keywords with a value of the wrong form, which
//! every draft forbids, are left out. All references lead to `$defs`.

mod values;

use serde_json::{Map, Value, json};

use self::values::{allow_null, exclude_limits, plain, require_marked};
use super::subschemas::target;

/// Maximum number of subschemas in a converted schema. References to places inside each other
/// copy them.
const MOST: usize = 20_000;
/// Keywords that name a schema, a draft, or a place for references.
const DROPPED: [&str; 10] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "definitions",
    "additionalItems",
];
/// The spellings of a reference in different drafts.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The form of a keyword's value.
#[derive(Clone, Copy)]
enum Form {
    Schema,
    /// Schemas by name.
    Named,
    /// A list of schemas, not empty.
    Listed,
    Type,
    Number,
    Count,
    Flag,
    Text,
    Strings,
    /// Lists of strings by name.
    NamedStrings,
    List,
    Any,
}

/// Returns the form of the value that draft 2020-12 prescribes for a keyword.
fn form(keyword: &str) -> Form {
    match keyword {
        "not"
        | "if"
        | "then"
        | "else"
        | "items"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contentSchema" => Form::Schema,
        "properties" | "patternProperties" | "dependentSchemas" => Form::Named,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Form::Listed,
        "type" => Form::Type,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Form::Number
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => Form::Count,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Form::Flag,
        "title" | "description" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => {
            Form::Text
        }
        "required" => Form::Strings,
        "dependentRequired" => Form::NamedStrings,
        "enum" | "examples" => Form::List,
        _ => Form::Any,
    }
}

/// Returns `schema` in draft 2020-12, with the definitions that it uses in `$defs`.
///
/// # Errors
///
/// The schema refers to something that it does not contain, or it is too large; a phrase.
pub fn modern(schema: &Value) -> Result<Value, String> {
    let mut converter = Converter {
        root: schema,
        targets: Vec::new(),
        count: 0,
    };
    let mut converted = converter.schema(schema)?;
    let mut definitions = Map::new();
    // Definitions may refer to others, which are appended meanwhile.
    while let Some((place, name)) = converter.targets.get(definitions.len()).cloned() {
        definitions.insert(name, converter.schema(place)?);
    }
    if let (false, Value::Object(map)) = (definitions.is_empty(), &mut converted) {
        map.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Ok(converted)
}

/// Calls `visit` for each subschema of a converted schema that is an object, the inner ones
/// first and the schema itself last.
pub fn for_each(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else {
        return;
    };
    for (keyword, value) in map.iter_mut() {
        match (form(keyword), value) {
            (Form::Schema, inner) => for_each(inner, visit),
            (Form::Named, Value::Object(inner)) => {
                inner.values_mut().for_each(|it| for_each(it, visit));
            }
            (Form::Listed, Value::Array(inner)) => {
                inner.iter_mut().for_each(|it| for_each(it, visit));
            }
            (Form::Any, Value::Object(inner)) if keyword == "$defs" => {
                inner.values_mut().for_each(|it| for_each(it, visit));
            }
            _ => {}
        }
    }
    visit(map);
}

struct Converter<'s> {
    root: &'s Value,
    /// Places that references lead to, with their names in `$defs`.
    targets: Vec<(&'s Value, String)>,
    count: usize,
}

impl<'s> Converter<'s> {
    fn schema(&mut self, schema: &'s Value) -> Result<Value, String> {
        self.count += 1;
        if self.count > MOST {
            return Err("its schema is too large once its references are followed".to_owned());
        }
        let Value::Object(old) = schema else {
            // `true` allows everything, as does what is not a schema at all.
            return Ok(match schema {
                Value::Bool(false) => json!(false),
                _ => json!({}),
            });
        };
        let mut new = Map::new();
        for (keyword, value) in old {
            self.keyword(keyword, value, &mut new)?;
        }
        self.tuple(old, &mut new)?;
        self.dependencies(old, &mut new)?;
        require_marked(old, &mut new);
        exclude_limits(old, &mut new);
        allow_null(old, &mut new);
        Ok(Value::Object(new))
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &'s Value,
        new: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let converted = match (form(keyword), value) {
            _ if REFERENCES.contains(&keyword) => {
                let name = self.reference(value)?;
                new.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
                return Ok(());
            }
            // `id` names a schema in draft 4; in later drafts it means nothing.
            _ if DROPPED.contains(&keyword) || keyword == "id" => None,
            // A list of schemas for the first items; see `tuple`.
            (Form::Schema, Value::Array(_)) => None,
            (Form::Schema, schema) => Some(self.schema(schema)?),
            (Form::Named, Value::Object(map)) => Some(self.named(map)?),
            // Languages with one type for lists and tables write an empty table like this.
            (Form::Named, Value::Array(list)) if list.is_empty() => Some(json!({})),
            (Form::Listed, Value::Array(list)) if !list.is_empty() => Some(self.listed(list)?),
            (Form::Named | Form::Listed, _) => None,
            (form, value) => plain(form, value),
        };
        if let Some(value) = converted {
            new.insert(keyword.to_owned(), value);
        }
        Ok(())
    }

    fn named(&mut self, map: &'s Map<String, Value>) -> Result<Value, String> {
        let converted = map
            .iter()
            .map(|(name, schema)| Ok((name.clone(), self.schema(schema)?)));
        Ok(Value::Object(converted.collect::<Result<_, String>>()?))
    }

    fn listed(&mut self, list: &'s [Value]) -> Result<Value, String> {
        let converted = list.iter().map(|schema| self.schema(schema));
        Ok(Value::Array(converted.collect::<Result<_, String>>()?))
    }

    /// Returns the name in `$defs` of what a reference leads to.
    fn reference(&mut self, value: &Value) -> Result<String, String> {
        let reference = value.as_str().unwrap_or_default();
        let place = target(self.root, reference);
        let place = place.ok_or_else(|| {
            format!("its schema refers to \"{reference}\", which it does not contain")
        })?;
        // By address: equal definitions may have different names.
        let known = self.targets.iter().find(|it| std::ptr::eq(it.0, place));
        if let Some((_, name)) = known {
            return Ok(name.clone());
        }
        let name = self.free_name(reference);
        self.targets.push((place, name.clone()));
        Ok(name)
    }

    /// Returns an unused name from the last word of a reference.
    fn free_name(&self, reference: &str) -> String {
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let word: String = last.chars().take(40).map(plain).collect();
        let word = if word.is_empty() {
            "arguments".to_owned()
        } else {
            word
        };
        let is_used = |name: &String| self.targets.iter().any(|(_, used)| used == name);
        let numbered = (2..).map(|n| format!("{word}_{n}"));
        std::iter::once(word.clone())
            .chain(numbered)
            .find(|name| !is_used(name))
            // The range is infinite, so a free name is always found.
            .unwrap_or(word)
    }

    /// Before draft 2020-12, `items` may be a list, and `additionalItems` follow it.
    fn tuple(
        &mut self,
        old: &'s Map<String, Value>,
        new: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let Some(Value::Array(first)) = old.get("items") else {
            return Ok(());
        };
        if !first.is_empty() {
            new.insert("prefixItems".to_owned(), self.listed(first)?);
        }
        if let Some(rest) = old.get("additionalItems") {
            new.insert("items".to_owned(), self.schema(rest)?);
        }
        Ok(())
    }

    /// Before draft 2019-09, `dependencies` has names and schemas.
    fn dependencies(
        &mut self,
        old: &'s Map<String, Value>,
        new: &mut Map<String, Value>,
    ) -> Result<(), String> {
        let Some(Value::Object(dependencies)) = old.get("dependencies") else {
            return Ok(());
        };
        new.remove("dependencies");
        for (name, dependency) in dependencies {
            let (keyword, value) = match dependency {
                Value::Array(_) => ("dependentRequired", dependency.clone()),
                Value::String(one) => ("dependentRequired", json!([one])),
                schema => ("dependentSchemas", self.schema(schema)?),
            };
            let table = new.entry(keyword).or_insert_with(|| json!({}));
            if let Value::Object(table) = table {
                table.insert(name.clone(), value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
