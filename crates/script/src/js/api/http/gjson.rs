//! Paths into JSON, as k6's `response.json(path)` takes them: the syntax of GJSON, without its
//! modifiers (`@reverse`) and multipaths (`{a,b}`).
//!
//! `a.b` and `a|b` go into objects, `a.1` into arrays. `a.#` counts, `a.#.b` collects, `a.#(b>1)`
//! finds the first element, `a.#(b>1)#` all. `*` and `?` stand for characters of a key, and `\`
//! makes the next character an ordinary one.

use std::borrow::Cow;

/// What a path finds: JSON.
pub(super) type Found<'a> = Option<Cow<'a, [u8]>>;

/// A path that is not understood, and why.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the path has {0}, which is not supported")]
pub(super) struct Unsupported(&'static str);

/// What a path finds in JSON, which has to be valid.
pub(super) fn find<'a>(json: &'a [u8], path: &[u8]) -> Result<Found<'a>, Unsupported> {
    walk(json.trim_ascii(), path)
}

/// A part of a path, and what comes after it.
struct Part<'p> {
    name: &'p [u8],
    rest: Option<&'p [u8]>,
    /// Whether the rest goes on with the result as a whole.
    is_pipe: bool,
}

fn walk<'a>(json: &'a [u8], path: &[u8]) -> Result<Found<'a>, Unsupported> {
    let part = split(path)?;
    let found = match json.first() {
        Some(b'{') => member(json, part.name),
        Some(b'[') if part.name.first() == Some(&b'#') => return elements(json, &part),
        Some(b'[') => {
            let index = std::str::from_utf8(part.name).ok().and_then(|text| text.parse().ok());
            index.and_then(|index| items(json).nth(index))
        }
        _ => None,
    };
    match (found, part.rest) {
        (Some(found), Some(rest)) => walk(found, rest),
        (found, _) => Ok(found.map(Cow::Borrowed)),
    }
}

fn split(path: &[u8]) -> Result<Part<'_>, Unsupported> {
    match path.first() {
        Some(b'@') => return Err(Unsupported("a modifier (@)")),
        Some(b'{' | b'[') => return Err(Unsupported("a multipath ({ or [)")),
        Some(b'!') => return Err(Unsupported("a literal (!)")),
        _ => {}
    }
    let end = if path.starts_with(b"#(") { query_end(path) } else { 0 };
    let mut at = end;
    while let Some(byte) = path.get(at) {
        match byte {
            b'\\' => at += 1,
            b'.' | b'|' => {
                let rest = Some(&path[at + 1..]);
                return Ok(Part { name: &path[..at], rest, is_pipe: *byte == b'|' });
            }
            _ => {}
        }
        at += 1;
    }
    Ok(Part { name: path, rest: None, is_pipe: false })
}

/// Where the parentheses of a query end.
fn query_end(path: &[u8]) -> usize {
    let (mut depth, mut in_text, mut at) = (0, false, 1);
    while let Some(byte) = path.get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'"' => in_text = !in_text,
            b'(' if !in_text => depth += 1,
            b')' if !in_text => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            _ => {}
        }
    }
    at.min(path.len())
}

/// What a part that begins with `#` finds in an array.
fn elements<'a>(json: &'a [u8], part: &Part<'_>) -> Result<Found<'a>, Unsupported> {
    if part.name == b"#" {
        return match part.rest {
            Some(rest) if !part.is_pipe => collect(items(json), rest).map(Some),
            rest => {
                let count = items(json).count().to_string().into_bytes();
                Ok(if rest.is_none() { Some(Cow::Owned(count)) } else { None })
            }
        };
    }
    let (query, finds_all) = match part.name.strip_suffix(b")#") {
        Some(query) => (query, true),
        None => (part.name.strip_suffix(b")").unwrap_or(part.name), false),
    };
    let query = Query::new(query.strip_prefix(b"#(").unwrap_or_default())?;
    let mut matching = Vec::new();
    for item in items(json) {
        if query.holds(item)? {
            if !finds_all {
                return match part.rest {
                    Some(rest) => walk(item, rest),
                    None => Ok(Some(Cow::Borrowed(item))),
                };
            }
            matching.push(item);
        }
    }
    if !finds_all {
        return Ok(None);
    }
    match part.rest {
        Some(rest) if !part.is_pipe => collect(matching.into_iter(), rest).map(Some),
        Some(rest) => {
            let whole = array(matching.into_iter().map(Cow::Borrowed));
            Ok(walk(&whole, rest)?.map(|found| Cow::Owned(found.into_owned())))
        }
        None => Ok(Some(Cow::Owned(array(matching.into_iter().map(Cow::Borrowed))))),
    }
}

/// An array of what a path finds in each.
fn collect<'a>(
    items: impl Iterator<Item = &'a [u8]>,
    path: &[u8],
) -> Result<Cow<'a, [u8]>, Unsupported> {
    let mut found = Vec::new();
    for item in items {
        found.extend(walk(item, path)?);
    }
    Ok(Cow::Owned(array(found.into_iter())))
}

fn array<'a>(items: impl Iterator<Item = Cow<'a, [u8]>>) -> Vec<u8> {
    let mut json = vec![b'['];
    for (index, item) in items.enumerate() {
        if index > 0 {
            json.push(b',');
        }
        json.extend_from_slice(&item);
    }
    json.push(b']');
    json
}

/// A condition on elements.
struct Query<'p> {
    path: &'p [u8],
    operator: &'p [u8],
    value: &'p [u8],
}

impl<'p> Query<'p> {
    fn new(text: &'p [u8]) -> Result<Self, Unsupported> {
        const OPERATORS: [&[u8]; 9] = [b"==", b"!=", b"<=", b">=", b"!%", b"=", b"<", b">", b"%"];
        if text.starts_with(b"#(") || text.contains(&b'~') {
            return Err(Unsupported("a nested query or a tilde in a query"));
        }
        let mut depth = 0_usize;
        for at in 0..text.len() {
            match text[at] {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > 0 {
                continue;
            }
            let operator = OPERATORS.iter().find(|operator| text[at..].starts_with(operator));
            if let Some(operator) = operator {
                let value = text[at + operator.len()..].trim_ascii();
                return Ok(Self { path: text[..at].trim_ascii(), operator, value });
            }
        }
        Ok(Self { path: text.trim_ascii(), operator: b"", value: b"" })
    }

    fn holds(&self, item: &[u8]) -> Result<bool, Unsupported> {
        let found = if self.path.is_empty() {
            Some(Cow::Borrowed(item))
        } else if matches!(item.first(), Some(b'{' | b'[')) {
            walk(item, self.path)?
        } else {
            None
        };
        let Some(found) = found else { return Ok(false) };
        if self.operator.is_empty() {
            return Ok(true);
        }
        Ok(compare(&found, self.operator, self.value))
    }
}

fn compare(found: &[u8], operator: &[u8], value: &[u8]) -> bool {
    let wanted = text_of(value);
    match found.first() {
        Some(b'"') => {
            let found = text_of(found);
            match operator {
                b"%" => matches(&found, &wanted),
                b"!%" => !matches(&found, &wanted),
                operator => orders(found.cmp(&wanted), operator),
            }
        }
        Some(b'-' | b'0'..=b'9') => {
            let (Some(found), Some(wanted)) = (number(found), number(&wanted)) else {
                return operator == b"!=";
            };
            found.partial_cmp(&wanted).is_some_and(|order| orders(order, operator))
        }
        // Words: true, false, null.
        _ => match operator {
            b"=" | b"==" => *found == *wanted,
            b"!=" => *found != *wanted,
            _ => false,
        },
    }
}

fn orders(order: std::cmp::Ordering, operator: &[u8]) -> bool {
    match operator {
        b"=" | b"==" => order.is_eq(),
        b"!=" => order.is_ne(),
        b"<" => order.is_lt(),
        b"<=" => order.is_le(),
        b">" => order.is_gt(),
        b">=" => order.is_ge(),
        _ => false,
    }
}

fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The text of a JSON string; other text as it is.
fn text_of(json: &[u8]) -> Cow<'_, [u8]> {
    if json.first() != Some(&b'"') {
        return Cow::Borrowed(json);
    }
    match json.get(1..json.len() - 1) {
        Some(plain) if !plain.contains(&b'\\') => Cow::Borrowed(plain),
        _ => serde_json::from_slice::<String>(json)
            .map_or(Cow::Borrowed(json), |text| Cow::Owned(text.into_bytes())),
    }
}

/// The value of the first key that a name with `*`, `?` and `\` matches.
fn member<'a>(json: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut at = 1;
    loop {
        at = skip_blank(json, at);
        if json.get(at) != Some(&b'"') {
            return None;
        }
        let key_end = value_end(json, at);
        let key = text_of(&json[at..key_end]);
        // Over the colon.
        at = skip_blank(json, skip_blank(json, key_end) + 1);
        let end = value_end(json, at);
        if matches(&key, name) {
            return json.get(at..end);
        }
        at = skip_blank(json, end) + 1;
    }
}

/// The elements of an array.
fn items(json: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 1;
    std::iter::from_fn(move || {
        at = skip_blank(json, at);
        if matches!(json.get(at), None | Some(b']')) {
            return None;
        }
        let end = value_end(json, at);
        let item = json.get(at..end)?;
        at = skip_blank(json, end) + 1;
        Some(item)
    })
}

fn skip_blank(json: &[u8], mut at: usize) -> usize {
    while matches!(json.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Where the value ends that starts here. The JSON is valid, so counting brackets is enough.
fn value_end(json: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                at = text_end(json, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return if depth == 1 { at + 1 } else { at },
            b'}' | b']' => depth -= 1,
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    json.len()
}

fn text_end(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'"' => break,
            _ => {}
        }
    }
    at.min(json.len())
}

/// Whether text matches a pattern of `*`, `?` and `\`.
fn matches(text: &[u8], pattern: &[u8]) -> bool {
    // Where to go on after the last star, which then takes one byte more.
    let mut star: Option<(usize, usize)> = None;
    let (mut t, mut p) = (0, 0);
    while t < text.len() {
        let (is_plain, byte) = match pattern.get(p) {
            Some(b'\\') => (true, pattern.get(p + 1)),
            byte => (false, byte),
        };
        match byte {
            Some(b'*') if !is_plain => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(b'?') if !is_plain => (t, p) = (t + 1, p + 1),
            Some(byte) if *byte == text[t] => (t, p) = (t + 1, p + 1 + usize::from(is_plain)),
            _ => {
                let Some((after, taken)) = star else { return false };
                star = Some((after, taken + 1));
                (t, p) = (taken + 1, after);
            }
        }
    }
    pattern[p.min(pattern.len())..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#" {"name": {"first": "Tom", "last": "Ander\"son"}, "age": 37,
        "children": ["Sara", "Alex", "Jack"], "fav.movie": "Deer Hunter", "none": null, "e": [],
        "friends": [
            {"first": "Dale", "last": "Murphy", "age": 44, "nets": ["ig", "fb"]},
            {"first": "Roger", "last": "Craig", "age": 68, "nets": ["fb"]},
            {"first": "Jane", "last": "Murphy", "age": 47, "nets": []}]} "#;

    fn found(json: &str, path: &str) -> Option<String> {
        let found = find(json.as_bytes(), path.as_bytes()).unwrap();
        found.map(|json| String::from_utf8(json.into_owned()).unwrap())
    }

    #[test]
    fn paths_find_values() {
        for (path, want) in [
            ("name.last", Some(r#""Ander\"son""#)),
            ("name|last", Some(r#""Ander\"son""#)),
            ("age", Some("37")),
            ("none", Some("null")),
            ("e", Some("[]")),
            ("children.#", Some("3")),
            ("children.1", Some(r#""Alex""#)),
            ("children.7", None),
            ("child*.2", Some(r#""Jack""#)),
            ("c?ildren.0", Some(r#""Sara""#)),
            (r"fav\.movie", Some(r#""Deer Hunter""#)),
            ("friends.#.first", Some(r#"["Dale","Roger","Jane"]"#)),
            ("friends.1.last", Some(r#""Craig""#)),
            (r#"friends.#(last=="Murphy").first"#, Some(r#""Dale""#)),
            (r#"friends.#(last=="Murphy")#.first"#, Some(r#"["Dale","Jane"]"#)),
            ("friends.#(age>45)#.last", Some(r#"["Craig","Murphy"]"#)),
            ("friends.#(age>45)#|0.first", Some(r#""Roger""#)),
            ("friends.#(age>45)#|#", Some("2")),
            (r#"friends.#(first%"D*").last"#, Some(r#""Murphy""#)),
            (r#"friends.#(first!%"D*").last"#, Some(r#""Craig""#)),
            (r#"friends.#(nets.#(=="fb")).age"#, Some("44")),
            (r#"children.#(%"*a*")#"#, Some(r#"["Sara","Jack"]"#)),
            ("friends.#(missing).age", None),
            ("friends.#.missing", Some("[]")),
            ("missing.name", None),
            ("age.more", None),
            ("", None),
        ] {
            assert_eq!(found(JSON, path).as_deref(), want, "{path}");
        }
    }

    #[test]
    fn what_is_not_supported_is_named() {
        for path in ["@reverse", "children.@reverse", "{age,none}", "[age]", "a.!1"] {
            let result = find(br#"{"a":{},"children":[1]}"#, path.as_bytes());
            assert!(result.is_err(), "{path}");
        }
    }

    #[test]
    fn every_prefix_of_a_path_is_harmless() {
        let path = r#"friends.#(nets.#(=="fb\"(")#)#.first|0.\"#;
        for end in 0..=path.len() {
            drop(find(JSON.as_bytes(), &path.as_bytes()[..end]));
        }
    }
}
