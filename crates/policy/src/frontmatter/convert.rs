//! Converts plain values between Lua and JSON.
//!
//! Tables become arrays or objects with sorted keys, so that each value has one spelling. A
//! value without a spelling (a function, a cycle, a key that is not a string) is an error.

use mlua::{Lua, Table, Value as LuaValue};
use serde_json::{Map, Number, Value};

/// Maximum nesting, which also ends cycles.
const MAX_DEPTH: usize = 64;

/// Size limit of a value, over all levels. The engine's own memory limit does not count copies.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Number of values, including tables.
    pub values: usize,
    /// Bytes of strings and keys.
    pub bytes: usize,
}

/// Limit for the value of an option.
pub const OPTION: Room = Room {
    values: 1000,
    bytes: 64 * 1024,
};
/// Limit for the result of an expression or a policy function.
pub const ANSWER: Room = Room {
    values: 20_000,
    bytes: 4 * 1024 * 1024,
};

impl Room {
    fn take(&mut self, values: usize, bytes: usize) -> Result<(), String> {
        let left = self.values.checked_sub(values);
        let (Some(values), Some(bytes)) = (left, self.bytes.checked_sub(bytes)) else {
            return Err("a value that is too long".to_owned());
        };
        *self = Self { values, bytes };
        Ok(())
    }
}

/// Converts a Lua value to JSON; an empty table becomes an empty array.
///
/// # Errors
///
/// The part of a sentence that names what JSON cannot represent.
pub fn to_json(value: &LuaValue, mut room: Room) -> Result<Value, String> {
    convert(value, MAX_DEPTH, &mut room)
}

fn convert(value: &LuaValue, depth: usize, room: &mut Room) -> Result<Value, String> {
    let bytes = match value {
        LuaValue::String(text) => text.as_bytes().len(),
        _ => 0,
    };
    // Before the copy is made, so that a value that is too large costs no memory.
    room.take(1, bytes)?;
    match value {
        // Only at the top: a table holds no nil.
        LuaValue::Nil => Ok(Value::Null),
        LuaValue::Boolean(value) => Ok(Value::Bool(*value)),
        LuaValue::Integer(value) => Ok(Value::from(*value)),
        // The engine hands over a number without a fraction as an integer.
        LuaValue::Number(value) => Number::from_f64(*value)
            .map(Value::Number)
            .ok_or_else(|| format!("the number {value}")),
        LuaValue::String(text) => text
            .to_str()
            .map(|text| Value::from(&*text))
            .map_err(|_| "a string that is not UTF-8".to_owned()),
        LuaValue::Table(table) => {
            let depth = depth
                .checked_sub(1)
                .ok_or_else(|| "a table that is nested too deep or holds itself".to_owned())?;
            sequence_or_object(table, depth, room)
        }
        other => Err(format!("a {}", other.type_name())),
    }
}

fn sequence_or_object(table: &Table, depth: usize, room: &mut Room) -> Result<Value, String> {
    let mut items: Vec<(i64, Value)> = Vec::new();
    let mut fields: Vec<(String, Value)> = Vec::new();
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let value = convert(&value, depth, room)?;
        match key {
            LuaValue::String(name) => {
                room.take(0, name.as_bytes().len())?;
                let name = name.to_str().map_err(|_| "a key that is not UTF-8")?;
                fields.push((name.to_owned(), value));
            }
            LuaValue::Integer(index) => items.push((index, value)),
            _ => return Err("a table with gaps".to_owned()),
        }
    }
    // JSON has no mixture of both.
    if !items.is_empty() && !fields.is_empty() {
        return Err("a table that is half a list".to_owned());
    }
    // Lua visits items that were set by index, as in `{ [2] = 'b', [1] = 'a' }`, in any order.
    items.sort_by_key(|(index, _)| *index);
    let indexes = items.iter().map(|(index, _)| *index);
    if !indexes.eq((1..).take(items.len())) {
        return Err("a table with gaps".to_owned());
    }
    // An empty table is a list: options that are tables take an empty list as well.
    if fields.is_empty() {
        let items = items.into_iter().map(|(_, item)| item);
        return Ok(Value::Array(items.collect()));
    }
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(Value::Object(Map::from_iter(fields)))
}

/// Converts JSON to a new Lua value; null becomes nil.
///
/// # Errors
///
/// The engine's memory limit.
pub fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<LuaValue> {
    Ok(match value {
        Value::Null => LuaValue::Nil,
        Value::Bool(value) => LuaValue::Boolean(*value),
        // Luau has floats only. `check_integers` reports JSON numbers that would change.
        Value::Number(number) => LuaValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => LuaValue::String(lua.create_string(text)?),
        Value::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (at, item) in items.iter().enumerate() {
                // Lua counts from 1.
                table.raw_set(at + 1, to_lua(lua, item)?)?;
            }
            LuaValue::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, item) in fields {
                table.raw_set(name.as_str(), to_lua(lua, item)?)?;
            }
            LuaValue::Table(table)
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The value of an expression as JSON.
    fn of(code: &str) -> Result<Value, String> {
        to_json(&Lua::new().load(code).eval().unwrap(), OPTION)
    }

    #[test]
    fn a_table_is_a_list_or_an_object_and_nothing_between() {
        let half = Err("a table that is half a list".to_owned());
        let gaps = Err("a table with gaps".to_owned());
        for (code, expected) in [
            ("{}", Ok(json!([]))),
            ("{ 1, 'a', true }", Ok(json!([1, "a", true]))),
            ("{ b = 1, a = { 2 } }", Ok(json!({"a": [2], "b": 1}))),
            (
                "{ [3] = 'c', [1] = 'a', [2] = 'b' }",
                Ok(json!(["a", "b", "c"])),
            ),
            (
                "{ [4] = 4, 1, 2, 3, [6] = 6, [5] = 5 }",
                Ok(json!([1, 2, 3, 4, 5, 6])),
            ),
            ("{ 1, 2, x = 1 }", half.clone()),
            ("{ 1, nil, 3, x = 1 }", half),
            ("{ 1, nil, 3 }", gaps.clone()),
            ("{ 1, nil, 3, [true] = 2 }", gaps.clone()),
            ("{ 1, 2, [5] = 5 }", gaps.clone()),
            ("{ [0] = 1 }", gaps.clone()),
            ("{ [-1] = 1, 2 }", gaps.clone()),
            ("{ [1.5] = 1 }", gaps.clone()),
            ("{ [true] = 1 }", gaps),
        ] {
            assert_eq!(of(code), expected, "{code}");
        }
    }

    #[test]
    fn a_number_without_a_fraction_is_whole() {
        for (code, expected) in [
            ("2.0", "2"),
            ("0.5", "0.5"),
            ("-9007199254740992", "-9007199254740992"),
            ("1e300", "1e+300"),
        ] {
            assert_eq!(of(code).unwrap().to_string(), expected);
        }
        assert_eq!(of("1 / 0"), Err("the number inf".to_owned()));
    }

    #[test]
    fn a_value_has_its_room() {
        let lua = Lua::new();
        for (room, bytes) in [(OPTION, 65_536), (ANSWER, 4_194_304)] {
            for (length, fits) in [(bytes, true), (bytes + 1, false)] {
                let text = lua.create_string("x".repeat(length)).unwrap();
                let json = to_json(&LuaValue::String(text), room);
                assert_eq!(json.is_ok(), fits, "{length}");
            }
        }
    }
}
