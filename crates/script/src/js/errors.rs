//! What a script's exception is to its user: one line with a position, and the stack.

use super::api::secrets;
use super::program::Failure;
use super::value::{Context, Thrown, Value};

/// The longest message of an exception that is passed on, characters.
const MESSAGE_CHARS_MAX: usize = 2000;

/// Describes an exception. Whatever goes wrong on the way is left out.
pub(super) fn describe(context: Context<'_>, exception: &Value<'_>) -> Failure {
    let message = message(exception).unwrap_or_else(|Thrown| {
        context.exception();
        "an exception that cannot be shown as text".to_owned()
    });
    let stack = stack(exception).unwrap_or_else(|Thrown| {
        context.exception();
        String::new()
    });
    // The user's own files first: an error within a library is about how it was called.
    let place = stack.lines().find_map(place).or_else(|| stack.lines().find_map(remote_place));
    let place = place.map(|place| format!("{place}: "));
    let text = place.unwrap_or_default() + &one_line(&message);
    let hide = |text: &str| secrets::redact(context, text).into_owned();
    Failure { text: hide(&text), stack: hide(&stack) }
}

fn message(exception: &Value<'_>) -> Result<String, Thrown> {
    if exception.is_object() && !exception.is_error() {
        let json = exception.to_json()?;
        if json.is_string() {
            return Ok(json.to_text()?.str().into_owned());
        }
    }
    Ok(exception.to_text()?.str().into_owned())
}

fn stack(exception: &Value<'_>) -> Result<String, Thrown> {
    if !exception.is_error() {
        return Ok(String::new());
    }
    let stack = exception.get("stack")?;
    if !stack.is_string() {
        return Ok(String::new());
    }
    let text = stack.to_text()?;
    let lines: Vec<String> =
        text.str().lines().map(|line| line.trim().replace("file://", "")).collect();
    Ok(lines.join("\n"))
}

/// The position in a line of a stack: `at name (file:line:column)` or `at file:line:column`.
fn place(line: &str) -> Option<&str> {
    let line = line.strip_prefix("at ")?;
    // A file's name may have parentheses of its own.
    let place = match line.find(" (/") {
        Some(at) => line[at + 2..].strip_suffix(')')?,
        None => line,
    };
    let is_place = place.starts_with('/') && place.rsplit(':').take(1).all(is_number);
    is_place.then_some(place)
}

/// The same, for a module that has a URL.
fn remote_place(line: &str) -> Option<&str> {
    let line = line.strip_prefix("at ")?;
    let place = match line.find(" (https://") {
        Some(at) => line[at + 2..].strip_suffix(')')?,
        None => line,
    };
    place.starts_with("https://").then_some(place)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn one_line(message: &str) -> String {
    let line = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_stacks() {
        for (line, want) in [
            ("at f (/s/a.js:3:5)", Some("/s/a.js:3:5")),
            ("at /s/a.js:3:5", Some("/s/a.js:3:5")),
            ("at f (/s/a (1).js:3:5)", Some("/s/a (1).js:3:5")),
            ("at map (native)", None),
            ("at f (<setup data>:1:2)", None),
            ("f (/s/a.js:3:5)", None),
        ] {
            assert_eq!(place(line), want, "{line}");
        }
        let line = "at f (https://x.test/a.js:3:5)";
        assert_eq!((place(line), remote_place(line)), (None, Some("https://x.test/a.js:3:5")));
    }

    #[test]
    fn messages_are_one_line_and_end() {
        assert_eq!(one_line("a\n  b\r\nc"), "a b c");
        let long = one_line(&"x".repeat(MESSAGE_CHARS_MAX + 1));
        assert_eq!(long.chars().count(), MESSAGE_CHARS_MAX + 1);
        assert!(long.ends_with('…'));
    }
}
