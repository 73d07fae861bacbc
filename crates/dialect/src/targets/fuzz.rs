//! Fuzz body: any bytes at all, in every format.
//!
//! Not a part of the API. A fuzzer calls [`fuzz_targets`]; a plain test feeds it every prefix of
//! good files and mutations of them.

use plimsoll_core::plan::Endpoint;

use super::{Format, Source, parse};

/// Reads the bytes as each format and panics if the result breaks a promise.
pub fn fuzz_targets(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read_file = |path: &str| match path.len() % 3 {
        0 => Err("no such file".to_owned()),
        _ => Ok(path.as_bytes().to_vec()),
    };
    let read_url = |text: &str| match text.split_once("://") {
        Some((host, path)) => Ok(Endpoint::http(host, 80, &format!("/{path}"))),
        None => Err("not a URL".to_owned()),
    };
    let base = Endpoint::http("base", 80, "/");
    for format in [None, Some(Format::Http), Some(Format::Json), Some(Format::Toml)] {
        for origin in [None, Some(&base)] {
            let source = Source {
                path: "t",
                text,
                format,
                origin,
                read_file: &read_file,
                read_url: &read_url,
            };
            match parse(&source) {
                Ok(read) => {
                    assert!(!read.targets.is_empty());
                    assert!(
                        read.targets.iter().all(|target| target.path.reveal().starts_with('/'))
                    );
                    assert!(read.targets.iter().all(|target| !target.name.is_empty()));
                    assert!(origin.is_none_or(|origin| *origin == read.origin));
                }
                Err(error) => {
                    assert!((1..=text.lines().count() + 1).contains(&error.line), "{error}");
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
        }
    }
}
