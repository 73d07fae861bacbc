//! The tour, and its page in a real browser.

use std::path::Path;
use std::process::Command;

use crate::browser::nothing_is_cut;
use crate::programs::share_with;
use crate::support::{plimsoll, run};

#[test]
fn the_demo_ends_with_a_report_a_lesson_and_a_page_that_a_browser_shows() {
    let Some(_share) = share_with(&["chromium"]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let finished = run(plimsoll(&["demo"]).current_dir(directory.path()));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let text = &finished.stdout;
    assert!(text.lines().take(5).any(|line| line.starts_with("confidence: ")), "{text}");
    for word in ["10 000", "p99", "300 ms", "closed-loop", "plimsoll-demo.html"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    // A hundred of ten thousand came in the first 100 ms of the stall: the rest of it was theirs.
    let text = &text.split_whitespace().collect::<Vec<_>>().join(" ");
    let waited = text.split("had to wait: p99 ").nth(1).and_then(|rest| rest.split(' ').next());
    let waited_ms: f64 = waited.and_then(|word| word.parse().ok()).expect("a p99");
    assert!((194.0..300.0).contains(&waited_ms), "{text}");
    let file = directory.path().join("plimsoll-demo.html");
    let page = shown_by_chromium(&file);
    assert!(page.contains("class=\"confidence"), "how sure it is");
    assert!(page.matches("<svg").count() >= 3, "charts");
    for word in ["10 000", "p99", "<h1", "</html>"] {
        assert!(page.contains(word), "no {word} in the page");
    }
    // The story comes first, with the figures of this run and links to charts that are there.
    let (story, report) = page.split_once("</section>").expect("a section");
    let story = story.split_once("class=\"story\"").expect("a story").1;
    for word in ["1 000 requests per second", "stood still for 300 ms", "took longer than", "p99"] {
        assert!(story.contains(word), "no {word} in {story}");
    }
    let links: Vec<&str> = story.split("href=\"#").skip(1).collect();
    assert_eq!(links.len(), 3, "{story}");
    for id in links.iter().filter_map(|link| link.split('"').next()) {
        assert!(report.contains(&format!("id=\"{id}\"")), "no {id} in the page");
    }
    let written = std::fs::read_to_string(&file).expect("the page");
    nothing_is_cut(&[("demo", written)]);
    let shown = without_scripts(&page);
    for wrong in ["NaN", "undefined", "Infinity"] {
        assert!(!shown.contains(wrong), "{wrong} in the page");
    }
}

fn without_scripts(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        shown + part.split_once("</script>").map_or("", |(_, rest)| rest)
    })
}

/// The page's document after the browser has worked on it.
fn shown_by_chromium(page: &Path) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    command.args(["--enable-logging=stderr", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("file://{}", page.display()));
    let finished = run(&mut command);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    // Whatever scripts and style sheets complain of ends up on the console.
    let complaints: Vec<&str> =
        finished.stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    finished.stdout
}
