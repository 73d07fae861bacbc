//! Copies values from one Lua state to another, for `thread:get` and `thread:set`: booleans, nil,
//! numbers, strings, and tables of these.
//!
//! Keys stay keys and values stay values. wrk2 swaps them in tables, which nobody can rely on.

use mlua::{Lua, Value};

/// How deep tables may be nested, so that one that contains itself ends with an error.
const DEPTH_MAX: u32 = 100;

/// A copy of the value that belongs to `to`, or what is wrong with it.
pub(super) fn copy(value: &Value, to: &Lua) -> Result<Value, String> {
    copy_at(value, to, 0)
}

fn copy_at(value: &Value, to: &Lua, depth: u32) -> Result<Value, String> {
    match value {
        Value::Nil => Ok(Value::Nil),
        Value::Boolean(value) => Ok(Value::Boolean(*value)),
        Value::Integer(value) => Ok(Value::Integer(*value)),
        Value::Number(value) => Ok(Value::Number(*value)),
        Value::String(text) => {
            to.create_string(text.as_bytes()).map(Value::String).map_err(|e| e.to_string())
        }
        Value::Table(_) if depth == DEPTH_MAX => {
            Err(format!("a table nested {DEPTH_MAX} deep, or in itself, cannot be transferred"))
        }
        Value::Table(table) => {
            let copied = to.create_table().map_err(|e| e.to_string())?;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair.map_err(|e| e.to_string())?;
                let (key, value) = (copy_at(&key, to, depth + 1)?, copy_at(&value, to, depth + 1)?);
                copied.raw_set(key, value).map_err(|e| e.to_string())?;
            }
            Ok(Value::Table(copied))
        }
        other => Err(format!("a {} cannot be transferred between threads", other.type_name())),
    }
}
