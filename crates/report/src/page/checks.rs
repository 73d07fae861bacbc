//! What tests require of every page: tags nest, nothing is loaded, labels refer to existing
//! elements, and colours have enough contrast.

/// Elements in order, without what is inside of style and script; panics where tags do not nest.
pub(crate) fn elements(page: &str) -> Vec<String> {
    let void = ["meta", "link", "path", "rect", "!doctype"];
    let (mut names, mut open) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("as the test takes it");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}>");
            continue;
        }
        let name = tag
            .split(|c: char| c.is_whitespace() || c == '/')
            .next()
            .expect("as the test takes it")
            .to_owned();
        names.push(name.clone());
        if matches!(name.as_str(), "style" | "script") {
            let (_, after) = rest.split_once(&format!("</{name}>")).expect("as the test takes it");
            rest = after;
        } else if !void.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<String>::new());
    names
}

/// Panics if a page has an element that we don't write, or could load something.
pub(crate) fn self_contained(page: &str) {
    let names = elements(page);
    let known = [
        "!doctype",
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "main",
        "header",
        "p",
        "span",
        "div",
        "h1",
        "h2",
        "h3",
        "ul",
        "li",
        "code",
        "time",
        "dl",
        "dt",
        "dd",
        "section",
        "figure",
        "figcaption",
        "svg",
        "desc",
        "rect",
        "path",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "footer",
        "script",
        "nav",
        "a",
        "b",
        "i",
        "small",
        "pre",
    ];
    for name in &names {
        assert!(known.contains(&name.as_str()), "<{name}>");
    }
    for fetched in ["src=", "@import", "url(", "href=\"http", "fetch("] {
        assert!(!page.contains(fetched), "{fetched}");
    }
}

/// Panics where an id is there twice or a label refers to none; how many elements have labels.
pub(crate) fn labelled_once(page: &str) -> usize {
    let values = |name: &str| -> Vec<String> {
        let pattern = format!(" {name}=\"");
        page.split(&pattern)
            .skip(1)
            .map(|rest| rest.split('"').next().expect("as the test takes it").to_owned())
            .collect()
    };
    let mut ids = values("id");
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let labels = values("aria-labelledby");
    for label in labels.iter().flat_map(|label| label.split(' ')) {
        assert!(ids.iter().any(|id| id == label), "{label}");
    }
    labels.len()
}

/// Colours of one theme: the declarations of the `n`th block of a style sheet that has
/// `variable`.
pub(crate) fn colors(style: &str, variable: &str, n: usize) -> Vec<(String, [f64; 3])> {
    let block = style
        .split("{")
        .filter(|block| block.contains(variable))
        .nth(n)
        .expect("as the test takes it");
    let block = block.split('}').next().expect("as the test takes it");
    let channel =
        |hex: &str| f64::from(u8::from_str_radix(hex, 16).expect("as the test takes it")) / 255.0;
    block
        .split(';')
        .filter_map(|declaration| declaration.trim().strip_prefix("--")?.split_once(": #"))
        .map(|(name, hex)| {
            (name.to_owned(), [channel(&hex[0..2]), channel(&hex[2..4]), channel(&hex[4..6])])
        })
        .collect()
}

/// Contrast as WCAG 2.1 defines it.
pub(crate) fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    let luminance =
        |[r, g, b]: [f64; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

/// The measuring itself finds what is cut: a wide table, a clipped word, a label beyond the edge.
mod tests {
    use crate::page::browser::{cut, is_here};

    #[test]
    fn what_is_cut_is_found() {
        if !is_here() {
            return;
        }
        let page = |body: &str| format!("<!doctype html><body style=\"margin:0\">{body}");
        let fine = "<table><tr><th>a</th><td>b</td></tr></table>";
        let wide = "<div style=\"overflow-x:auto\"><table style=\"width:500px\"><tr><td>b</td></tr>\
                    </table></div>";
        let clipped = "<p style=\"width:40px;overflow:hidden;white-space:nowrap\">a long word</p>";
        let folded = format!("<details><summary>more</summary>{wide}</details>");
        let label = "<figure style=\"margin:0\"><div class=\"plot\" style=\"position:relative\">\
                     <div class=\"x\"><span style=\"position:absolute;left:95%;white-space:nowrap\">\
                     a label beyond the edge</span></div></div></figure>";
        let drawn = "<figure style=\"margin:0\"><svg width=\"60\" height=\"20\"><text x=\"50\" \
                     y=\"15\">a text</text></svg></figure>";
        let counts = [fine, wide, clipped, &folded, label, drawn].map(|body| {
            let found = cut(&[("page", page(body))]);
            found.iter().filter(|line| line.starts_with("page at 360: ")).count()
        });
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|count| *count > 0), "{counts:?}");
    }
}
