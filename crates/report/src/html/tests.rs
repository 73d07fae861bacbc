//! The page as a whole: it is well formed, harmless, readable and bounded. Its looks are for people
//! to judge.

use super::*;
use crate::page::{browser, checks};
use crate::samples;

fn page(result: &RunResult) -> String {
    super::page(result, None)
}

fn all() -> Vec<RunResult> {
    vec![
        samples::steady(),
        samples::stall(),
        samples::ramp(),
        samples::nothing(),
        samples::cut_short(),
        samples::parts(),
        samples::bare(),
        samples::watched(),
        samples::recorded(),
        samples::hostile(),
    ]
}

#[test]
fn pages_are_well_formed_and_need_nothing_else() {
    for result in all() {
        checks::self_contained(&page(&result));
    }
}

#[test]
fn a_story_stands_above_the_report_and_links_to_its_charts() {
    let story = Story {
        title: "A <b>tour</b>".to_owned(),
        paragraphs: vec!["First & last.".to_owned()],
        places: vec![
            (Place::Latency, "the peak".to_owned()),
            (Place::Percentiles, "where the lines part".to_owned()),
            (Place::Rate, "even".to_owned()),
        ],
    };
    let told = super::page(&samples::stall(), Some(&story));
    checks::self_contained(&told);
    assert_eq!(told.replace(&section_of(&told), ""), page(&samples::stall()));
    insta::assert_snapshot!(section_of(&told), @r##"
    <section class="story">
    <h2>A &lt;b&gt;tour&lt;/b&gt;</h2>
    <p>First &amp; last.</p>
    <ul>
    <li><a href="#latency">Latency over time</a>: the peak</li>
    <li><a href="#spectrum">Latency by percentile</a>: where the lines part</li>
    <li><a href="#rate">Requests per second</a>: even</li>
    </ul>
    </section>
    "##);
    assert!(told.find("class=\"story\"") < told.find("<h1>"), "the story comes first");
    // Nothing was measured, so there is nothing to look at.
    let untold = super::page(&samples::bare(), Some(&story));
    assert!(!section_of(&untold).contains("href"), "{untold}");
}

fn section_of(page: &str) -> String {
    let from = page.find("<section class=\"story\">").expect("a story");
    let (_, rest) = page.split_at(from);
    let (section, _) = rest.split_once("</section>\n").expect("its end");
    format!("{section}</section>\n")
}

#[test]
fn what_comes_from_outside_stays_text() {
    let page = page(&samples::hostile());
    let scripts = checks::elements(&page).iter().filter(|name| *name == "script").count();
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
    assert_eq!(checks::labelled_once(&page), 5);
}

#[test]
fn a_server_that_was_watched_has_charts_and_figures() {
    let page_of_watched = page(&samples::watched());
    for text in ["id=\"server-cpu\"", "id=\"server-memory\"", "nginx (1234)"] {
        assert!(page_of_watched.contains(text), "{text}");
        assert!(!page(&samples::steady()).contains(text), "{text} of a server nobody watched");
    }
    for text in ["fpu sse2 avx2", "mitigations=off", "net.core.somaxconn"] {
        assert!(page_of_watched.contains(text), "{text}");
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
fn nothing_is_cut_at_any_width() {
    let pages: [(&str, RunResult); 8] = [
        ("stall", samples::stall()),
        ("nothing", samples::nothing()),
        ("cut short", samples::cut_short()),
        ("parts", samples::parts()),
        ("watched", samples::watched()),
        ("scenarios", samples::scenarios()),
        ("wide", samples::wide()),
        ("hostile", samples::hostile()),
    ];
    browser::nothing_is_cut(&pages.map(|(name, result)| (name, page(&result))));
}

#[test]
fn metrics_that_a_source_recorded() {
    let page = page(&samples::recorded());
    let (_, rest) = page.split_once("<h2>Custom metrics</h2>").unwrap();
    let (section, _) = rest.split_once("</section>").unwrap();
    insta::assert_snapshot!(section);
    assert!(!super::page(&samples::bare(), None).contains("Custom metrics"));
}

#[test]
fn a_page_says_what_the_text_says() {
    let page = page(&samples::ramp());
    for part in [
        "5 284 of 50 189 failed",
        "suspect",
        "97 % of its CPU",
        "179",
        "truncated_body",
        "tester paused",
        "target",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let cut = super::page(&samples::cut_short(), None);
    assert!(cut.contains("interrupted after") && cut.contains("Warm-up"));
}

#[test]
fn colours_have_enough_contrast_in_every_theme() {
    for theme in 0..3 {
        let colors = checks::colors(crate::page::STYLE, "--ground:", theme);
        let of = |name: &str| colors.iter().find(|(n, _)| n == name).unwrap().1;
        for name in ["text", "muted", "valid", "suspect", "invalid"] {
            for ground in ["ground", "raised"] {
                let ratio = checks::contrast(of(name), of(ground));
                assert!(ratio >= 4.5, "{name} on {ground} in theme {theme}: {ratio:.2}");
            }
        }
        for name in ["response", "service", "failed", "lost", "tester", "limit"] {
            let ratio = checks::contrast(of(name), of("ground"));
            assert!(ratio >= 3.0, "{name} in theme {theme}: {ratio:.2}");
        }
    }
}
