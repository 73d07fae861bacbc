//! Values as Go's `fmt` prints what k6 exports of them: fields of forms are written so.

use crate::js::export::{go_time, listed};
use crate::js::value::{Thrown, Value};

/// How deep objects are looked into. Deeper objects are as if they were empty.
const DEPTH_MAX: usize = 64;

/// The largest whole number that is one in k6; others are floating-point numbers.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// A value as `%v` prints it.
pub(super) fn text(value: &Value<'_>) -> Result<String, Thrown> {
    let mut text = String::new();
    append(value, DEPTH_MAX, &mut text)?;
    Ok(text)
}

fn append(value: &Value<'_>, depth: usize, out: &mut String) -> Result<(), Thrown> {
    if value.is_nothing() {
        out.push_str("<nil>");
    } else if value.is_number() {
        out.push_str(&number(value.to_number()?));
    } else if !value.is_object() || value.is_function() {
        out.push_str(&value.to_text()?.str());
    } else if value.is_date() {
        let time = value.get("toISOString")?.call(value, &[])?.to_text()?;
        let time = go_time(&time.str()).replace('T', " ");
        out.push_str(&format!("{} +0000 UTC", time.trim_end_matches('Z')));
    } else if value.is_array() {
        append_list(value, depth, out)?;
    } else if value.is_typed_array() || value.is_map() || value.is_set() {
        append_list(&listed(value)?, depth, out)?;
    } else {
        append_object(value, depth, out)?;
    }
    Ok(())
}

fn append_list(list: &Value<'_>, depth: usize, out: &mut String) -> Result<(), Thrown> {
    out.push('[');
    let length = if depth > 0 { list.length()? } else { 0 };
    for index in 0..length {
        if index > 0 {
            out.push(' ');
        }
        append(&list.at(index)?, depth - 1, out)?;
    }
    out.push(']');
    Ok(())
}

/// An object's properties, sorted as Go sorts the keys of maps.
fn append_object(object: &Value<'_>, depth: usize, out: &mut String) -> Result<(), Thrown> {
    let mut parts = Vec::new();
    if depth > 0 {
        object.for_each_property(|name, part| {
            let mut text = format!("{}:", name.str());
            append(&part, depth - 1, &mut text)?;
            parts.push((name.str().into_owned(), text));
            Ok(())
        })?;
    }
    parts.sort_unstable();
    let parts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    out.push_str(&format!("map[{}]", parts.join(" ")));
    Ok(())
}

/// A number as Go has it: whole ones with all digits, others with the fewest.
fn number(number: f64) -> String {
    let is_negative_zero = number == 0.0 && number.is_sign_negative();
    if number.fract() == 0.0 && number.abs() <= WHOLE_MAX && !is_negative_zero {
        return format!("{number:.0}");
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -4..6 => format!("{number}"),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What k6 v1.8.1 sent for these.
    #[test]
    fn numbers_are_printed_as_in_k6() {
        for (value, want) in [
            (1.0, "1"),
            (-2.25, "-2.25"),
            (1_234_567.5, "1.2345675e+06"),
            (123_456.5, "123456.5"),
            (0.000_1, "0.0001"),
            (0.000_01, "1e-05"),
            (1e-7, "1e-07"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (9_007_199_254_740_994.0, "9.007199254740994e+15"),
            (1.5e300, "1.5e+300"),
            (-0.0, "-0"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(value), want);
        }
    }
}
