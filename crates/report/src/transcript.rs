//! A transcript as lines: `>` is sent, `<` is received, `*` is what Plimsoll says about it.
//!
//! Every line of a peer stands behind its mark, and what a terminal could take for something other
//! than text is escaped (`\x1b`). So no response can pass for what Plimsoll says, and none can
//! steer a terminal.

use plimsoll_core::outcome::Outcome;
use plimsoll_core::transcript::{Body, Kept, Line, Message, Times, Transcript, Transcripts};
use plimsoll_core::units::{counted, format_count, format_ns};

use crate::facts::push_escaped;

const SENT: char = '>';
const RECEIVED: char = '<';

/// How much of a body that is not text is shown, and how much of that in a line, bytes.
const BINARY_BYTES_MAX: usize = 256;
const BINARY_BYTES_A_LINE: usize = 16;

/// The lines of an exchange. `resolve_ns` is how long it took to look the server's name up, where
/// that was done for this exchange.
#[must_use]
pub fn lines(transcript: &Transcript, resolve_ns: Option<u64>) -> Vec<String> {
    let mut lines = Vec::new();
    message(SENT, &transcript.request, &mut lines);
    if let Some(response) = &transcript.response {
        message(RECEIVED, response, &mut lines);
    }
    if !transcript.trailers.is_empty() {
        lines.push(RECEIVED.to_string());
        lines.extend(transcript.trailers.iter().map(|line| marked(RECEIVED, line)));
    }
    if let Some(failure) = &transcript.failure {
        lines.push(note(&format!("failed: {failure}")));
    } else if transcript.outcome == Outcome::Unfinished {
        lines.push(note("the run ended before the response"));
    }
    lines.extend(transcript.line.iter().map(connection));
    lines.extend(times(&transcript.times, resolve_ns));
    lines
}

/// The lines about a run: its first request, and the first that failed.
#[must_use]
pub fn of_run(transcripts: &Transcripts) -> Vec<String> {
    let Transcripts { first, failed } = transcripts;
    let is_first = |failed: &Transcript| first.iter().any(|first| first.is_same(failed));
    let apart = failed.as_ref().filter(|failed| !is_first(failed));
    let mut all = Vec::new();
    for (place, transcript) in first.iter().enumerate() {
        all.push(match (place, failed.is_some() && apart.is_none()) {
            (0, false) => note("the first request:"),
            (0, true) => note("the first request, which is the first that failed:"),
            _ => note("where it was redirected to:"),
        });
        all.extend(lines(transcript, None));
    }
    if let Some(failed) = apart {
        let number = format_count(failed.number.saturating_add(1));
        all.push(note(&format!("the first that failed, request {number} of the run:")));
        all.extend(lines(failed, None));
    }
    all
}

fn note(text: &str) -> String {
    marked('*', text)
}

fn marked(mark: char, text: &str) -> String {
    if text.is_empty() {
        return mark.to_string();
    }
    let mut line = format!("{mark} ");
    text.chars().for_each(|letter| push_escaped(letter, &mut line));
    line
}

fn message(mark: char, message: &Message, lines: &mut Vec<String>) {
    lines.extend(message.head.iter().map(|line| marked(mark, line)));
    if !message.head.is_empty() {
        lines.push(mark.to_string());
    }
    body(mark, &message.body, lines);
}

fn body(mark: char, body: &Body, lines: &mut Vec<String>) {
    let (shown, total) = match &body.kept {
        Kept::Text(text) => {
            let text_lines = text.split_inclusive('\n').map(|line| {
                let line = line.strip_suffix('\n').unwrap_or(line);
                line.strip_suffix('\r').unwrap_or(line)
            });
            lines.extend(text_lines.map(|line| marked(mark, line)));
            let kept = plimsoll_core::transcript::BODY_BYTES_MAX as u64;
            (body.bytes.min(kept), body.bytes)
        }
        Kept::Binary(bytes) => {
            lines.push(note(&format!("{} that are not text:", counted(body.bytes, "byte"))));
            let shown = &bytes[..bytes.len().min(BINARY_BYTES_MAX)];
            let pieces = shown.chunks(BINARY_BYTES_A_LINE).enumerate();
            lines.extend(pieces.map(|(at, piece)| dumped(mark, at * BINARY_BYTES_A_LINE, piece)));
            (shown.len() as u64, body.bytes)
        }
        Kept::Mask(mask) => {
            let text = format!("{}, masked: {mask}", counted(body.bytes, "byte"));
            lines.push(note(&text));
            return;
        }
    };
    if shown < total {
        let (shown, total) = (format_count(shown), format_count(total));
        lines.push(note(&format!("these are the first {shown} of {total} bytes")));
    }
}

/// Bytes in hexadecimal, and those that are text beside it.
fn dumped(mark: char, at: usize, piece: &[u8]) -> String {
    let digits: Vec<String> = piece.iter().map(|byte| format!("{byte:02x}")).collect();
    let is_shown = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let text: String =
        piece.iter().map(|byte| if is_shown(byte) { char::from(*byte) } else { '.' }).collect();
    format!("{mark} {at:04x}  {:<47}  {text}", digits.join(" "))
}

fn connection(line: &Line) -> String {
    let Line { address, protocol, tls, carried } = line;
    let protocol = match protocol.as_str() {
        "http/1.1" => "HTTP/1.1",
        "h2" => "HTTP/2",
        other => other,
    };
    let tls = tls.as_ref().map_or_else(String::new, |tls| format!(", {tls}"));
    let carried = match carried {
        0 => String::new(),
        carried => format!(", after {} on this connection", counted(*carried, "request")),
    };
    note(&format!("connection: {address}, {protocol}{tls}{carried}"))
}

fn times(times: &Times, resolve_ns: Option<u64>) -> Vec<String> {
    let phases = [
        ("resolve", resolve_ns),
        ("connect", times.connect_ns),
        ("TLS", times.tls_ns),
        ("sending", times.sending_ns),
        ("waiting", times.waiting_ns),
        ("receiving", times.receiving_ns),
    ];
    let known: Vec<String> = phases
        .iter()
        .filter_map(|(name, took_ns)| took_ns.map(|ns| format!("{name} {}", format_ns(ns))))
        .collect();
    let phases = (!known.is_empty()).then(|| note(&format!("phases: {}", known.join(", "))));
    let (response, service) = (format_ns(times.response_ns), format_ns(times.service_ns));
    let clocks = format!("response time {response}, service time {service}");
    phases.into_iter().chain([note(&clocks)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::is_harmful;

    fn transcript(response: Option<Message>) -> Transcript {
        let head = vec!["GET / HTTP/1.1".to_owned(), "Host: a".to_owned()];
        Transcript {
            number: 16,
            hops: 0,
            request: Message { head, body: Body::default() },
            line: Some(Line {
                address: "127.0.0.1:80".to_owned(),
                protocol: "http/1.1".to_owned(),
                tls: Some("TLS 1.3, X".to_owned()),
                carried: 2,
            }),
            response,
            trailers: Vec::new(),
            times: Times { waiting_ns: Some(2_000_000), ..Times::default() },
            ended_ns: 7,
            outcome: Outcome::Completed { status: 503, ok: false },
            failure: Some("status 503".to_owned()),
        }
    }

    fn received(head: &[&str], bytes: u64, kept: Kept) -> Option<Message> {
        let head = head.iter().map(|line| (*line).to_owned()).collect();
        Some(Message { head, body: Body { bytes, kept } })
    }

    #[test]
    fn an_exchange_is_lines_with_marks() {
        let text = Kept::Text("over\r\ncapacity".to_owned());
        let shown = lines(&transcript(received(&["HTTP/1.1 503 No"], 14, text)), Some(1_000_000));
        assert_eq!(
            shown,
            [
                "> GET / HTTP/1.1",
                "> Host: a",
                ">",
                "< HTTP/1.1 503 No",
                "<",
                "< over",
                "< capacity",
                "* failed: status 503",
                "* connection: 127.0.0.1:80, HTTP/1.1, TLS 1.3, X, after 2 requests on this connection",
                "* phases: resolve 1.00 ms, waiting 2.00 ms",
                "* response time 0 ns, service time 0 ns",
            ]
        );
    }

    #[test]
    fn nothing_of_a_peer_steers_a_terminal_or_passes_for_ours() {
        let text = Kept::Text("a\u{1b}]0;x\u{7}\rb\u{9b}\u{202e}\n* failed: no\n".to_owned());
        let head = ["HTTP/1.1 200 \u{1b}[2J", "X: \u{8}y"];
        let shown = lines(&transcript(received(&head, 30, text)), None);
        assert!(shown.iter().flat_map(|line| line.chars()).all(|letter| !is_harmful(letter)));
        assert_eq!(shown[3], "< HTTP/1.1 200 \\x1b[2J");
        assert_eq!(shown[6], "< a\\x1b]0;x\\x07\\x0db\\x9b\\u{202e}");
        assert_eq!(shown[7], "< * failed: no");
    }

    #[test]
    fn what_is_cut_or_not_text_or_masked_is_told_with_its_length() {
        let zeros = Kept::Binary(vec![0; 300]);
        let cases: [(u64, Kept, &[&str]); 3] = [
            (9000, Kept::Text("x".repeat(4096)), &["* these are the first 4 096 of 9 000 bytes"]),
            (
                300,
                zeros,
                &["* 300 bytes that are not text:", "* these are the first 256 of 300 bytes"],
            ),
            (5, Kept::Mask("[masked:00]".to_owned()), &["* 5 bytes, masked: [masked:00]"]),
        ];
        for (bytes, kept, want) in cases {
            let shown = lines(&transcript(received(&[], bytes, kept)), None);
            for line in want {
                assert!(shown.iter().any(|it| it == line), "{line}: {shown:#?}");
            }
        }
        let bytes = Kept::Binary(b"\x89PNG\r\n\x1a\n".to_vec());
        let shown = lines(&transcript(received(&[], 8, bytes)), None);
        let dump = "< 0000  89 50 4e 47 0d 0a 1a 0a                          .PNG....";
        assert!(shown.iter().any(|line| line == dump), "{shown:#?}");
    }

    #[test]
    fn of_a_run_the_first_and_the_first_that_failed_are_shown_once_each() {
        let failed = transcript(None);
        let first = Transcript { number: 0, failure: None, ..failed.clone() };
        let heads = |transcripts: &Transcripts| {
            let lines = of_run(transcripts).into_iter();
            lines.filter(|line| line.ends_with(':')).collect::<Vec<_>>()
        };
        let both = Transcripts { first: vec![first.clone()], failed: Some(failed.clone()) };
        let apart = ["* the first request:", "* the first that failed, request 17 of the run:"];
        assert_eq!(heads(&both), apart);
        let one = Transcripts { first: vec![failed.clone()], failed: Some(failed) };
        assert_eq!(heads(&one), ["* the first request, which is the first that failed:"]);
        let two = Transcripts { first: vec![first.clone(), first], failed: None };
        assert_eq!(heads(&two), ["* the first request:", "* where it was redirected to:"]);
        assert!(of_run(&Transcripts::default()).is_empty());
    }
}
