//! Limits on the change: how they are read, and what they make of two sides.

use super::documents::side;
use crate::comparison::*;
use crate::result::Tool;

#[test]
fn limits_are_read_or_refused_with_what_to_write() {
    for text in ["p99>+10%", " rate < -5 % ", "errors>+1%", "service.p50>+0.5%", "rss>+0%"] {
        assert!(Limit::parse(text).is_ok(), "{text}");
    }
    for (text, says) in [
        ("", "p99>+10%"),
        ("p99", "p99>+10%"),
        ("p99>10%", "p99>+10%"),
        ("p99>+10", "p99>+10%"),
        ("p99>-10%", "p99>+10%"),
        ("p99<+10%", "p99>+10%"),
        ("p99>+1e3%", "p99>+10%"),
        ("p99>+inf%", "p99>+10%"),
        ("p99>+%", "p99>+10%"),
        ("p99>+1%<-1%", "p99>+10%"),
        ("speed>+1%", "`speed` is no measure"),
        ("rate<-100%", "100 %"),
        ("p99>+99999999999%", "100 %"),
    ] {
        let error = Limit::parse(text).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn limits_are_broken_by_what_is_more_than_noise_and_beyond_them() {
    let steady = [1000, 1010, 990, 1005, 995];
    let rough = [1000, 1500, 700, 1200, 900];
    let by = |services_us: &[u64], percent: u64| -> Vec<u64> {
        services_us.iter().map(|us| us * percent / 100).collect()
    };
    for (limit, base, new, pass, note) in [
        ("p99>+10%", &steady[..], by(&steady, 120), false, None),
        ("p99>+10%", &steady, by(&steady, 105), true, None),
        ("p99>+10%", &steady, by(&steady, 80), true, None),
        ("rate<-10%", &steady, by(&steady, 120), false, None),
        ("rate<-10%", &steady, by(&steady, 105), true, None),
        ("rate>+10%", &steady, by(&steady, 80), false, None),
        ("p99>+10%", &rough, by(&rough, 120), true, Some("noise hides changes below")),
        ("p99>+10%", &steady[..1], by(&steady[..1], 200), false, Some("it takes 4 repeats")),
        ("rss>+10%", &steady, by(&steady, 100), false, Some("rss was not measured")),
        ("errors>+1%", &steady, by(&steady, 120), true, None),
        // Below the least change of the others, because the limit says so.
        ("p50>+0.2%", &[100_000; 5], vec![100_500; 5], false, None),
        ("p50>+2%", &[100_000; 5], vec![100_500; 5], true, None),
    ] {
        let read = Limit::parse(limit).unwrap();
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        let (base, new) = (side("base", 0, base), side("new", 1, &new));
        let found = Contrast::of(&base, &new, Settings::default(), &[read], tool);
        let judged = &found.limits[0];
        assert_eq!((judged.pass, found.passes()), (pass, pass), "{limit}: {found:?}");
        assert_eq!(judged.expr, limit);
        match (note, &judged.note) {
            (Some(want), Some(got)) => assert!(got.contains(want), "{limit}: {got}"),
            (want, got) => assert_eq!(got.as_deref(), want, "{limit}"),
        }
    }
}
