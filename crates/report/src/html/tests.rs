//! The page as a whole: that it is well formed, harmless, readable and bounded. What it looks like
//! is for eyes.

use super::*;
use crate::samples;

fn all() -> Vec<RunResult> {
    vec![
        samples::steady(),
        samples::stall(),
        samples::ramp(),
        samples::nothing(),
        samples::cut_short(),
        samples::parts(),
        samples::bare(),
        samples::hostile(),
    ]
}

/// Elements in order, without what is inside of style and script; panics where tags do not nest.
fn elements(page: &str) -> Vec<String> {
    let void = ["meta", "link", "path", "rect", "!doctype"];
    let (mut names, mut open) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap();
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}>");
            continue;
        }
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next().unwrap().to_owned();
        names.push(name.clone());
        if matches!(name.as_str(), "style" | "script") {
            let (_, after) = rest.split_once(&format!("</{name}>")).unwrap();
            rest = after;
        } else if !void.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<String>::new());
    names
}

#[test]
fn pages_are_well_formed_and_need_nothing_else() {
    for result in all() {
        let page = page(&result);
        let names = elements(&page);
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
        ];
        for name in &names {
            assert!(known.contains(&name.as_str()), "<{name}>");
        }
        for fetched in ["src=", "@import", "url(", "href=\"http", "fetch("] {
            assert!(!page.contains(fetched), "{fetched}");
        }
    }
}

#[test]
fn what_comes_from_outside_stays_text() {
    let page = page(&samples::hostile());
    let scripts = elements(&page).iter().filter(|name| *name == "script").count();
    assert_eq!(scripts, 2);
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains('\x1b') && !page.contains('\u{202e}'));
    let shown = page.matches("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;").count();
    assert!(shown >= 12, "{shown}");
    assert!(page.contains("&amp;amp;"), "an entity is not text twice");
}

#[test]
fn every_id_is_there_once_and_every_label_refers_to_one() {
    let page = page(&samples::ramp());
    let values = |name: &str| -> Vec<String> {
        let pattern = format!(" {name}=\"");
        page.split(&pattern)
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    let mut ids = values("id");
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let labels = values("aria-labelledby");
    assert_eq!(labels.len(), 5);
    for label in labels.iter().flat_map(|label| label.split(' ')) {
        assert!(ids.iter().any(|id| id == label), "{label}");
    }
}

#[test]
fn the_size_does_not_grow_with_the_run() {
    let hour = page(&samples::hour()).len();
    assert!(hour < 300_000, "{hour}");
    for result in all() {
        assert!(page(&result).len() < 100_000);
    }
}

#[test]
fn the_data_is_json_with_a_value_for_each_interval() {
    for result in all() {
        let page = page(&result);
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let intervals = data["groups"]["time"]["to"].as_array().map_or(0, Vec::len);
        for (chart, lines) in data["charts"].as_object().unwrap() {
            for line in lines.as_array().unwrap() {
                let values = line["v"].as_array().unwrap().len();
                let expected = line["x"].as_array().map_or(intervals, Vec::len);
                assert_eq!(values, expected, "{chart}");
            }
        }
    }
}

#[test]
fn a_page_says_what_the_text_says() {
    let page = page(&samples::ramp());
    for part in ["SUSPECT", "97 % of its CPU", "179", "closed_early", "tester paused", "target"] {
        assert!(page.contains(part), "{part}");
    }
    let cut = super::page(&samples::cut_short());
    assert!(cut.contains("interrupted after") && cut.contains("Warm-up"));
}

/// Colours of one theme: the declarations of the `n`th block of variables.
fn colors(n: usize) -> Vec<(String, [f64; 3])> {
    let block = STYLE.split("{").filter(|block| block.contains("--ground:")).nth(n).unwrap();
    let block = block.split('}').next().unwrap();
    let channel = |hex: &str| f64::from(u8::from_str_radix(hex, 16).unwrap()) / 255.0;
    block
        .split(';')
        .filter_map(|declaration| declaration.trim().strip_prefix("--")?.split_once(": #"))
        .map(|(name, hex)| {
            (name.to_owned(), [channel(&hex[0..2]), channel(&hex[2..4]), channel(&hex[4..6])])
        })
        .collect()
}

/// Contrast as WCAG 2.1 defines it.
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    let luminance =
        |[r, g, b]: [f64; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

#[test]
fn colours_have_enough_contrast_in_every_theme() {
    for theme in 0..3 {
        let colors = colors(theme);
        let of = |name: &str| colors.iter().find(|(n, _)| n == name).unwrap().1;
        for name in ["text", "muted", "valid", "suspect", "invalid"] {
            for ground in ["ground", "raised"] {
                let ratio = contrast(of(name), of(ground));
                assert!(ratio >= 4.5, "{name} on {ground} in theme {theme}: {ratio:.2}");
            }
        }
        for name in ["response", "service", "failed", "lost", "tester", "limit"] {
            let ratio = contrast(of(name), of("ground"));
            assert!(ratio >= 3.0, "{name} in theme {theme}: {ratio:.2}");
        }
    }
}
