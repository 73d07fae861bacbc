//! How a page, or a part of it, is written as HTML again, for the module `k6/html`.
//!
//! As in k6, and other than in browsers: empty elements end with `/>`, and quotes are escaped in
//! text too. Scripts send what they have read back to a server, which sees the difference.

use std::fmt::Write as _;

use dom_query::NodeRef;

/// Elements without content, and so without an end.
const EMPTY: [&str; 15] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param",
    "source", "track", "wbr",
];

/// Elements whose text is not escaped.
const RAW: [&str; 8] =
    ["iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "xmp"];

/// Elements at whose beginning a parser drops a line break.
const TRIMMED: [&str; 3] = ["pre", "listing", "textarea"];

/// What is in a node.
pub(super) fn inner(node: &NodeRef<'_>) -> String {
    let mut html = String::new();
    for child in node.children() {
        write(&mut html, &child, false);
    }
    html
}

/// A node with what is in it.
pub(super) fn outer(node: &NodeRef<'_>) -> String {
    let mut html = String::new();
    write(&mut html, node, false);
    html
}

// The depth of a page is limited, and so is this recursion.
fn write(html: &mut String, node: &NodeRef<'_>, is_raw: bool) {
    if node.is_text() {
        let text = node.text();
        return if is_raw { html.push_str(&text) } else { escape(html, &text) };
    }
    if !node.is_element() {
        if node.is_comment() || node.is_doctype() {
            html.push_str(&node.html());
        } else {
            node.children().iter().for_each(|child| write(html, child, false));
        }
        return;
    }
    let name = node.node_name().unwrap_or_default();
    let _ = write!(html, "<{name}");
    for attribute in node.attrs() {
        let key = &attribute.name;
        match &key.prefix {
            Some(prefix) => drop(write!(html, " {prefix}:{}=\"", key.local)),
            None => drop(write!(html, " {}=\"", key.local)),
        }
        escape(html, &attribute.value);
        html.push('"');
    }
    if EMPTY.contains(&&*name) {
        html.push_str("/>");
        return;
    }
    html.push('>');
    let children = node.children();
    let starts_with_break = |first: &NodeRef<'_>| first.is_text() && first.text().starts_with('\n');
    if TRIMMED.contains(&&*name) && children.first().is_some_and(starts_with_break) {
        html.push('\n');
    }
    let is_raw = RAW.contains(&&*name);
    children.iter().for_each(|child| write(html, child, is_raw));
    let _ = write!(html, "</{name}>");
}

fn escape(html: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&#34;"),
            '\'' => html.push_str("&#39;"),
            _ => html.push(letter),
        }
    }
}
