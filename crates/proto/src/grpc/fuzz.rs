//! Fuzz bodies: they feed arbitrary bytes, whole and in pieces, and check what must hold.
//!
//! Not part of the API. A fuzzer calls [`fuzz_messages`] and [`fuzz_values`]; a plain test replays
//! them over a corpus.

use super::{Code, MessageEvent, MessageReader, is_content_type, status_message, timeout};
use crate::cuts::{check_cuts, inputs};

/// A limit that short inputs can exceed.
const BYTES_MAX: u32 = 64;

/// Feeds `data` to a reader in many ways and panics if they differ.
pub fn fuzz_messages(data: &[u8]) {
    for has_coding in [false, true] {
        check_cuts(data, |cuts| trace(data, cuts, BYTES_MAX, has_coding));
    }
}

/// Reads `data` as the value of each field, and panics unless what was read survives being written.
pub fn fuzz_values(data: &[u8]) {
    if let Some(ns) = timeout::read(data) {
        let mut text = Vec::new();
        timeout::write(ns, &mut text);
        assert!(text.len() <= timeout::BYTES_MAX, "{}", text.escape_ascii());
        assert!(timeout::read(&text) >= Some(ns.max(1)), "{}", text.escape_ascii());
    }
    let mut decoded = Vec::new();
    status_message::read(data, BYTES_MAX as usize, &mut decoded);
    assert!(decoded.len() <= data.len().min(BYTES_MAX as usize), "{}", data.escape_ascii());
    let text = String::from_utf8_lossy(data);
    let (mut encoded, mut again) = (Vec::new(), Vec::new());
    status_message::write(&text, &mut encoded);
    assert!(encoded.iter().all(|byte| (b' '..0x7f).contains(byte)), "{text:?}");
    status_message::read(&encoded, usize::MAX, &mut again);
    assert_eq!(again, text.as_bytes());
    let code = Code::read(data);
    assert!(code.is_none_or(|code| data.ends_with(code.0.to_string().as_bytes())));
    assert!(!(is_content_type(data) && code.is_some()));
}

/// What became of a body and its end: a line for each event, pieces of a message joined.
pub(super) fn trace(data: &[u8], cuts: &[usize], bytes_max: u32, has_coding: bool) -> Vec<String> {
    let mut reader = MessageReader::new(bytes_max, has_coding);
    let mut lines: Vec<String> = Vec::new();
    for mut input in inputs(data, cuts) {
        loop {
            match reader.next(&mut input) {
                Ok(None) => break,
                Ok(Some(MessageEvent::Started { bytes, is_compressed })) => {
                    let flag = if is_compressed { " compressed" } else { "" };
                    lines.push(format!("message {bytes}{flag}:"));
                }
                Ok(Some(MessageEvent::Piece(piece))) => {
                    assert!(!piece.is_empty(), "an empty piece");
                    let last = lines.last_mut().expect("pieces follow a start");
                    last.push_str(&piece.escape_ascii().to_string());
                }
                Ok(Some(MessageEvent::Ended)) => lines.push("end".to_owned()),
                Err(error) => {
                    let again = reader.next(&mut input);
                    assert_eq!(again, Err(error), "an error stays");
                    assert_eq!(reader.ended(), Err(error), "an error stays");
                    lines.push(error.kind().to_owned());
                    return lines;
                }
            }
        }
        assert!(input.is_empty(), "{} bytes were left", input.len());
    }
    lines.extend(reader.ended().err().map(|error| error.kind().to_owned()));
    lines
}
