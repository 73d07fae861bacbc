//! The page as a whole: it is well formed, harmless, readable and bounded. Its looks are for people
//! to judge.

use super::*;
use crate::heads;
use crate::page::{browser, checks};
use crate::study::samples;

fn all() -> Vec<Study> {
    vec![
        samples::echo(),
        samples::doubtful(),
        samples::small(),
        samples::nothing(),
        samples::hostile(),
    ]
}

#[test]
fn pages_are_well_formed_and_need_nothing_else() {
    for study in all() {
        checks::self_contained(&heads::checked(page(&study)));
    }
}

#[test]
fn nothing_is_cut_at_any_width() {
    let pages: [(&str, Study); 5] = [
        ("doubtful", samples::doubtful()),
        ("small", samples::small()),
        ("nothing", samples::nothing()),
        ("crowded", samples::crowded()),
        ("hostile", samples::hostile()),
    ];
    browser::nothing_is_cut(&pages.map(|(name, study)| (name, page(&study))));
}

#[test]
fn what_comes_from_outside_stays_text() {
    let page = page(&samples::hostile());
    let scripts = checks::elements(&page).iter().filter(|name| *name == "script").count();
    assert_eq!(scripts, 1);
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains('\x1b') && !page.contains('\u{202e}'));
    let shown = page.matches("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;").count();
    assert!(shown > 100, "{shown}");
}

#[test]
fn every_id_is_there_once_and_every_label_refers_to_one() {
    // Five loads, two charts for each server and one of percentiles; latency against rate.
    assert_eq!(checks::labelled_once(&page(&samples::echo())), 14 * 2 + 5 + 1);
    assert_eq!(checks::labelled_once(&page(&samples::small())), 0);
    checks::labelled_once(&page(&samples::hostile()));
}

#[test]
fn links_lead_somewhere() {
    let page = page(&samples::echo());
    let links: Vec<&str> = page.split("href=\"#").skip(1).collect();
    assert_eq!(links.len(), 5);
    for link in links {
        let id = link.split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

#[test]
fn a_page_says_what_the_text_says() {
    let page = page(&samples::echo());
    for part in [
        "skipped: no program `pipy` in PATH",
        "skipped: excluded: it closes each connection late",
        "<td class=\"verdict\" data-l=\"Verdict\">FAILED 1/5</td>",
        "<td class=\"verdict\" data-l=\"Verdict\">suspect 1/5</td>",
        "97 % of its CPU",
        "panic: runtime error: out of memory\n",
        "82 012<small>80 970 – 82 322</small>",
        "≈ 1–3",
        "slower",
        "the same",
        "http-echo</b>: SLOWER: p50 +92.0 %",
        "Intel Xeon Gold 6338",
        "wrk -c100 -t1 -d20s --latency {url}",
        "nginx/1.26.3",
        "requests/s\n    done\n",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// The number of repeats is the study's, wherever it stands.
#[test]
fn a_page_speaks_of_the_repeats_there_are() {
    let three = page(&samples::doubtful());
    assert!(!three.contains("5 repeats"), "{three}");
    assert!(three.contains("plimsoll lab suite.toml --repeats 3 --seed 1"));
    let mut study = samples::echo();
    study.cases.iter_mut().for_each(|case| case.runs.truncate(3));
    assert!(page(&study).contains("with at least 75 % confidence"));
    assert!(page(&samples::echo()).contains("with at least 87 % confidence"));
}

#[test]
fn runs_that_do_not_count_are_marked_and_win_nothing() {
    let page = page(&samples::doubtful());
    for part in [
        "<tr class=\"invalid\"><td class=\"n\" data-l=\"#\" data-v=\"3\">3</td>",
        "<td class=\"verdict\" data-l=\"Verdict\">invalid 2/3</td>",
        "<td class=\"verdict\" data-l=\"Verdict\">FAILED</td><td class=\"n\" data-l=\"QPS\">–</td>",
        "<small>invalid 2/3</small></th><td class=\"bar\">",
        "because no run counts: http-echo (FAILED)",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("Connection refused").count(), 1, "said once");
}

#[test]
fn servers_that_cannot_be_told_apart_have_no_ranks_of_their_own() {
    let mut study = samples::echo();
    study.cases.iter_mut().for_each(|case| case.runs.truncate(3));
    let page = page(&study);
    assert!(page.contains("<td class=\"rank\">≈ 1–"));
    assert!(!page.contains("<td class=\"rank\">1</td>"), "three repeats tell nothing");
}

#[test]
fn the_size_is_bounded() {
    let large = page(&samples::large());
    assert!(large.len() < 3 << 20, "{}", large.len());
    assert!(large.contains("bytes left out here"));
    let echo = page(&samples::echo());
    assert!(echo.len() < 300_000, "{}", echo.len());
    assert!(!echo.contains("left out here"));
}

#[test]
fn what_is_capped_keeps_its_ends() {
    for (text, most, want) in [
        ("short", 5, "short\n"),
        (
            "0123456789",
            4,
            "01\n\n… 6 bytes left out here; the JSON document has what was kept …\n89\n",
        ),
        ("éééééé", 6, "é\n\n… 8 bytes left out here; the JSON document has what was kept …\né\n"),
        (
            "<<<<<<",
            2,
            "&lt;\n\n… 4 bytes left out here; the JSON document has what was kept …\n&lt;\n",
        ),
    ] {
        let mut page = String::new();
        capped(text, most, &mut page);
        assert_eq!(page, want, "{text}");
    }
}

#[test]
fn colours_of_servers_have_enough_contrast_in_every_theme() {
    for theme in 0..3 {
        let grounds = checks::colors(crate::page::STYLE, "--ground:", theme);
        let servers = checks::colors(STYLE, "--c0:", theme);
        assert_eq!(servers.len(), 8);
        let ground = grounds.iter().find(|(name, _)| name == "ground").unwrap().1;
        for (name, color) in servers {
            let ratio = checks::contrast(color, ground);
            assert!(ratio >= 3.0, "{name} in theme {theme}: {ratio:.2}");
        }
    }
}
