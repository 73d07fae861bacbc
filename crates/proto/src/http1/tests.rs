//! Tests of both decoders: tables of bytes and events, round trips, and the corpus.

mod corpus;
mod limits;
mod requests;
mod responses;
mod round_trip;

/// Compares `trace` with `expected` for the whole of `data`, byte by byte, cut in two at every
/// place, and for every prefix.
fn check(data: &[u8], expected: &[&str], trace: impl Fn(&[u8], &[usize]) -> Vec<String>) {
    let shown = data[..data.len().min(500)].escape_ascii();
    assert_eq!(trace(data, &[]), expected, "whole: {shown}");
    let every_byte: Vec<usize> = (1..data.len()).collect();
    assert_eq!(trace(data, &every_byte), expected, "byte by byte: {shown}");
    for cut in 1..data.len() {
        assert_eq!(trace(data, &[cut]), expected, "cut at {cut}: {shown}");
    }
    for length in 0..data.len() {
        check_prefix(&trace(&data[..length], &[]), expected, &format!("first {length}: {shown}"));
    }
}

/// A prefix gives the first of the events, and then it is between messages or says that it was cut.
fn check_prefix(lines: &[String], expected: &[&str], shown: &str) {
    let (last, events) = lines.split_last().expect("a trace ends in what the close gave");
    let truncated = ["idle", "done", "end close", "error truncated_head", "error truncated_body"];
    let same_error = last.starts_with("error") && expected.last() == Some(&last.as_str());
    assert!(truncated.contains(&last.as_str()) || same_error, "{last:?} of {shown}");
    for (index, line) in events.iter().enumerate() {
        let full = expected.get(index).copied().unwrap_or_default();
        let part_of_body =
            index + 1 == events.len() && line.starts_with("body ") && full.starts_with(line);
        assert!(line == full || part_of_body, "{line:?} instead of {full:?} of {shown}");
    }
}
