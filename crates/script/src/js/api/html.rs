//! Pages of HTML for the module `k6/html`: parsing, selecting, and what a node says of itself. The
//! rest of the module is JavaScript, `lib/html.js`.
//!
//! A server decides what a page is like, so that its size, its depth and the number of its nodes
//! have limits, and others have their turn while it is parsed.

use std::collections::HashMap;
use std::ffi::CStr;

use dom_query::{Document, Matcher, NodeId, NodeRef, Selection};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

use super::classes::{self, Classes, Held};
use super::markup;
use super::selectors;
use crate::js::ffi;
use crate::js::modules;
use crate::js::native::{Call, functions};
use crate::js::step::Step;
use crate::js::value::{Context, ErrorKind, Outcome, Thrown, Value};

/// The longest page, bytes.
const PAGE_BYTES_MAX: usize = 8 << 20;

/// The most nodes of a page.
const NODES_MAX: usize = 500_000;

/// How deep elements may nest, as in browsers. The parser looks through all open elements at most
/// tags, so that its time grows with the depth.
const DEPTH_MAX: usize = 512;

/// How much is parsed before the limits are looked at, bytes.
const CHUNK_BYTES: usize = 4096;

/// The longest selector, bytes, and how deep its parentheses may nest: its parser recurses.
const SELECTOR_BYTES_MAX: usize = 4096;
const SELECTOR_DEPTH_MAX: usize = 16;

const FUNCTIONS: &[ffi::FunctionEntry] = functions! {
    c"parse" 1 => parse;
    c"library" 1 => library;
};

const METHODS: &[ffi::FunctionEntry] = functions! {
    c"select" 2 => select;
    c"matches" 2 => matches;
    c"kind" 1 => kind;
    c"name" 1 => name;
    c"namespace" 1 => namespace;
    c"attribute" 2 => attribute;
    c"attributes" 1 => attributes;
    c"text" 1 => text;
    c"inner" 1 => inner;
    c"outer" 1 => outer;
    c"parent" 1 => parent;
    c"first" 1 => first;
    c"next" 1 => next;
    c"previous" 1 => previous;
};

/// A page whose nodes are numbered in the order of the document, from the document itself on.
pub(in crate::js) struct Page {
    document: Document,
    nodes: Vec<NodeId>,
    numbers: HashMap<NodeId, u32>,
}

impl Held for Page {
    const NAME: &'static CStr = c"Page";

    fn class(classes: &Classes) -> u32 {
        classes.page
    }
}

pub(super) fn fill(module: &Value<'_>) -> Result<(), Thrown> {
    let prototype = module.context().object()?;
    prototype.define_functions(METHODS)?;
    classes::set_prototype::<Page>(prototype);
    module.define_functions(FUNCTIONS)
}

impl Page {
    fn new(document: Document) -> Self {
        let root = document.root();
        let mut nodes = vec![root.id];
        nodes.extend(root.descendants_it().map(|node| node.id));
        let numbers = nodes.iter().zip(0..).map(|(id, number)| (*id, number)).collect();
        Self { document, nodes, numbers }
    }

    fn number(&self, node: &NodeRef<'_>) -> Option<u32> {
        self.numbers.get(&node.id).copied()
    }
}

/// `parse(text)`: a page.
fn parse<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let context = call.context;
    let text = call.argument(0).to_text()?;
    let text = text.str();
    if text.len() > PAGE_BYTES_MAX {
        let most = PAGE_BYTES_MAX >> 20;
        return Err(context.throw(ErrorKind::Range, format!("HTML is longer than {most} MiB")));
    }
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let opts = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = parse_document(Document::default(), opts);
    let mut rest = &*text;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(CHUNK_BYTES));
        parser.process(StrTendril::from_slice(chunk));
        rest = after;
        let document = &parser.tokenizer.sink.sink;
        if let Some(message) = excess(document) {
            return Err(context.throw(ErrorKind::Range, message));
        }
        if !rest.is_empty() {
            context.inner().ask(context, Step::Pause)?;
        }
    }
    classes::hold(context, None, Page::new(parser.finish()))
}

/// Which limit a document exceeds.
fn excess(document: &Document) -> Option<String> {
    if document.tree.len() > NODES_MAX {
        return Some(format!("HTML has more than {NODES_MAX} nodes"));
    }
    // Open elements are at the end of each list of children.
    let mut open = Some(document.root());
    for _ in 0..=DEPTH_MAX {
        open = open?.last_child();
    }
    open.map(|_| format!("HTML nests elements deeper than {DEPTH_MAX}"))
}

/// `library(name)`: what a library exports, which is loaded when it is first needed.
fn library<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let name = call.argument(0).to_text()?;
    modules::library(call.context, &name.str())
}

fn this<'a, 'js>(call: &Call<'js, '_>, value: &'a Value<'js>) -> Result<&'a Page, Thrown> {
    classes::held(value)
        .ok_or_else(|| call.context.throw(ErrorKind::Type, "this is a method of pages"))
}

/// A node by its number, which is an argument.
fn node<'a>(page: &'a Page, value: &Value<'_>) -> Result<NodeRef<'a>, Thrown> {
    let number = value.to_number()?;
    let id = page.nodes.get(number as usize).filter(|_| number >= 0.0);
    let found = id.and_then(|id| page.document.tree.get(id));
    found.ok_or_else(|| value.context().throw(ErrorKind::Range, "there is no such node"))
}

fn matcher(context: Context<'_>, value: &Value<'_>) -> Result<Matcher, Thrown> {
    let text = value.to_text()?;
    let text = text.str();
    let mut depth = 0_usize;
    let deepest = text.bytes().fold(0, |deepest: usize, byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest.max(depth)
    });
    if text.len() > SELECTOR_BYTES_MAX || deepest > SELECTOR_DEPTH_MAX {
        return Err(context.throw(ErrorKind::Range, "a selector is too long or nests too deep"));
    }
    let wrong = |_| context.throw(ErrorKind::Plain, format!("'{text}' is not a CSS selector"));
    let text_at_rest = selectors::at_rest(&text)
        .map_err(|why| context.throw(ErrorKind::Plain, format!("'{text}': {why}")))?;
    Matcher::new(&text_at_rest).map_err(wrong)
}

/// `page.select(nodes, selector)`: the numbers of what matches below these nodes; below all if they
/// are `null`.
fn select<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, object) = (call.context, call.this());
    let page = this(call, &object)?;
    let matcher = matcher(context, &call.argument(1))?;
    let roots = call.argument(0);
    let mut found: Vec<u32> = Vec::new();
    let mut take = |selection: Selection<'_>| {
        found.extend(selection.nodes().iter().filter_map(|node| page.number(node)));
    };
    if roots.is_array() {
        for index in 0..roots.length()? {
            let root = node(page, &roots.at(index)?)?;
            take(Selection::from(root).select_matcher(&matcher));
        }
    } else {
        take(page.document.select_matcher(&matcher));
    }
    found.sort_unstable();
    found.dedup();
    let list = context.array()?;
    for (number, index) in found.iter().zip(0..) {
        list.define_at(index, context.number(f64::from(*number)))?;
    }
    Ok(list)
}

fn matches<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let node = node(this(call, &object)?, &call.argument(0))?;
    let matcher = matcher(call.context, &call.argument(1))?;
    Ok(call.context.boolean(node.is_element() && Selection::from(node).is_matcher(&matcher)))
}

/// `page.kind(node)`: the number that the DOM has for it.
fn kind<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let node = node(this(call, &object)?, &call.argument(0))?;
    let kind = match () {
        () if node.is_element() => 1,
        () if node.is_text() => 3,
        () if node.is_comment() => 8,
        () if node.is_document() => 9,
        () => 10,
    };
    Ok(call.context.integer(kind))
}

fn name<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let node = node(this(call, &object)?, &call.argument(0))?;
    match node.node_name() {
        Some(name) => call.context.string(&*name),
        None if node.is_text() => call.context.string("#text"),
        None if node.is_comment() => call.context.string("#comment"),
        None => call.context.string("#document"),
    }
}

fn namespace<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let page = this(call, &object)?;
    let node = node(page, &call.argument(0))?;
    let name = page.document.tree.get_name(&node.id);
    call.context.string(name.map_or_else(String::new, |name| name.ns.to_string()))
}

/// `page.attribute(node, name)`: its value; `undefined` without it.
fn attribute<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let node = node(this(call, &object)?, &call.argument(0))?;
    let name = call.argument(1).to_text()?;
    match node.attr(&name.str()) {
        Some(value) => call.context.string(&*value),
        None => Ok(call.context.undefined()),
    }
}

/// `page.attributes(node)`: pairs of names and values.
fn attributes<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (context, object) = (call.context, call.this());
    let node = node(this(call, &object)?, &call.argument(0))?;
    let list = context.array()?;
    for (attribute, index) in node.attrs().iter().zip(0..) {
        let pair = context.array()?;
        pair.define_at(0, context.string(&*attribute.name.local)?)?;
        pair.define_at(1, context.string(&*attribute.value)?)?;
        list.define_at(index, pair)?;
    }
    Ok(list)
}

/// `page.text(node)`: of an element and what is in it, of a text, or of a comment.
fn text<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let node = node(this(call, &object)?, &call.argument(0))?;
    if node.is_comment() {
        let html = node.html();
        let comment = html.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
        return call.context.string(comment.unwrap_or_default());
    }
    call.context.string(&*node.text())
}

fn inner<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let node = node(this(call, &object)?, &call.argument(0))?;
    call.context.string(markup::inner(&node))
}

fn outer<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let object = call.this();
    let node = node(this(call, &object)?, &call.argument(0))?;
    call.context.string(markup::outer(&node))
}

fn parent<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    step(call, |node| node.parent())
}

fn first<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    step(call, |node| node.first_child())
}

fn next<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    step(call, |node| node.next_sibling())
}

fn previous<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    step(call, |node| node.prev_sibling())
}

/// The number of another node; -1 if there is none.
fn step<'js>(
    call: &Call<'js, '_>,
    to: for<'a> fn(&NodeRef<'a>) -> Option<NodeRef<'a>>,
) -> Outcome<'js> {
    let object = call.this();
    let page = this(call, &object)?;
    let other = to(&node(page, &call.argument(0))?);
    let number = other.and_then(|other| page.number(&other));
    Ok(number.map_or_else(|| call.context.integer(-1), |it| call.context.number(f64::from(it))))
}
