//! Replays what fuzzers are seeded with, and shows that the corpus is more than refusals.

use std::fs;
use std::path::Path;

use crate::http1::fuzz::{fuzz_request, fuzz_response, trace_request, trace_response};
use crate::http1::{Limits, RequestKind};

fn files(role: &str) -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(role);
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
        .expect("the corpus is checked in")
        .map(|entry| {
            let path = entry.expect("a directory entry").path();
            (path.display().to_string(), fs::read(&path).expect("a readable file"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn responses() {
    let mut complete = 0;
    let files = files("response");
    for (_, data) in &files {
        fuzz_response(data);
        let trace = trace_response(Limits::default(), RequestKind::Plain, data, &[]);
        complete += usize::from(trace.iter().any(|line| line.starts_with("end")));
    }
    assert!(files.len() >= 30 && complete >= 10, "{complete} of {} complete", files.len());
}

#[test]
fn requests() {
    let mut complete = 0;
    let files = files("request");
    for (_, data) in &files {
        fuzz_request(data);
        let trace = trace_request(Limits::default(), data, &[]);
        complete += usize::from(trace.iter().any(|line| line.starts_with("end")));
    }
    assert!(files.len() >= 30 && complete >= 10, "{complete} of {} complete", files.len());
}
