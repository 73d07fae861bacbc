//! Scripts in TypeScript: types give way to blanks. The rest is JavaScript, with every position as
//! it was.
//!
//! Imports that only types use vanish, as in k6. What is absent on purpose: checking types, and
//! what TypeScript generates code for (enums, namespaces, parameter properties, `import =`). These
//! are refused with their position.

mod stripper;
#[cfg(test)]
mod tests;

use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::ast::Statement;
use oxc_ast_visit::Visit as _;
use oxc_parser::Parser;
use oxc_span::SourceType;

use stripper::Stripper;

/// The stack of the thread that parses, bytes of address space: the parser recurses, and has no
/// limit of its own.
const STACK_BYTES: usize = 512 << 20;

/// The longest text, bytes.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// How deep brackets may nest.
const DEPTH_MAX: usize = 256;

/// The most `<` without a semicolon or a brace between. At each, the parser tries
/// whether what follows has type parameters, and keeps what it has read in memory.
const ANGLES_MAX: usize = 128;

/// The longest stretch without a semicolon, a brace or a comma, bytes that are not blank. Operators
/// nest without brackets, each in its own frames.
const STRETCH_BYTES_MAX: usize = 32 << 10;

/// What is wrong, and at which byte.
type Wrong = (usize, String);

/// The text with blanks for types.
///
/// # Errors
/// `line:column: what is wrong`, one line.
pub(super) fn strip(text: &str) -> Result<String, String> {
    if text.len() > TEXT_BYTES_MAX {
        let most = TEXT_BYTES_MAX >> 10;
        return Err(format!("1:1: TypeScript of more than {most} KiB: bundle it to JavaScript"));
    }
    if nests_too_deep(text) {
        return Err("1:1: TypeScript nests too deep: bundle it to JavaScript".to_owned());
    }
    let parse = || strip_within(text);
    let result = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse);
        let thread = thread.map_err(|error| (0, format!("no thread to parse it: {error}")))?;
        thread.join().unwrap_or_else(|_| Err((0, "the parser of TypeScript failed".to_owned())))
    });
    result.map_err(|(at, message)| format!("{}: {message}", position(text, at)))
}

/// Whether a text may need more of the stack than there is.
fn nests_too_deep(text: &str) -> bool {
    let (mut brackets, mut angles, mut stretch) = (0_usize, 0_usize, 0_usize);
    text.bytes().any(|byte| {
        stretch += usize::from(!byte.is_ascii_whitespace());
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            b'<' => angles += 1,
            _ => {}
        }
        match byte {
            b';' | b'{' | b'}' => (angles, stretch) = (0, 0),
            b',' => stretch = 0,
            _ => {}
        }
        brackets > DEPTH_MAX || angles > ANGLES_MAX || stretch > STRETCH_BYTES_MAX
    })
}

fn position(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

fn strip_within(text: &str) -> Result<String, Wrong> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::ts()).parse();
    if let Some(error) = parsed.diagnostics.iter().next() {
        let at = error.labels.first().map_or(0, |label| label.offset() as usize);
        let message = error.message.lines().collect::<Vec<_>>().join(" ");
        return Err((at, message));
    }
    let mut stripper = Stripper::new(text);
    stripper.learn(&parsed.program.body);
    stripper.visit_program(&parsed.program);
    for statement in &parsed.program.body {
        if let Statement::ImportDeclaration(import) = statement {
            stripper.strip_import(import);
        }
    }
    match stripper.wrong {
        Some(wrong) => Err(wrong),
        None => Ok(stripper.finish()),
    }
}
