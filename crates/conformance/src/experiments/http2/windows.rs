//! Flow control both ways, and the bytes of frames and header blocks.

use super::{Experiment, MS, keeps_to_http2, over_streams};
use crate::doubts::{self, Told, Topic};
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile, quantile_of, said};
use crate::oracle::{Entry, Http2Mode, Log, Mode};
use crate::tool::{Ask, Further, Need, Reading};

pub(super) const ALL: [Experiment; 3] = [
    Experiment {
        name: "upload-window",
        row: 48,
        title: "An upload that waits for the server's window looks like a slow server",
        method: "HTTP/2, one stream, 8 requests with bodies of 256 KiB; the oracle's window is of \
                 64 KiB, and opens again 50 ms after it is used up, in the control at once; each \
                 is answered 20 ms after its end",
        truth: "150 ms to send, all of it spent waiting for the window, and 20 ms for the server",
        tolerance: "p50, and beside it sending, the part of it that waited for the window, and \
                    waiting, 10 % and 15 ms each; or words about the window, and not in the \
                    control",
        needs_quiet: false,
        run: upload_window,
    },
    Experiment {
        name: "receive-window",
        row: 32,
        title: "The tester's own flow-control window limits the server",
        method: "HTTP/2, one stream, 20 requests, answers of 1 MiB; the oracle hears each \
                 WINDOW_UPDATE 20 ms late, as over a long way",
        truth: "an answer needs no more than two such ways when the windows are large: 40 ms. With \
                the default of 64 KiB it needs sixteen",
        tolerance: "p50 at most 45 ms",
        needs_quiet: false,
        run: receive_window,
    },
    Experiment {
        name: "frame-bytes",
        row: 53,
        title: "The bytes of frames and header blocks are not counted",
        method: "HTTP/2, 1000 requests with three headers over one connection with 10 streams",
        truth: "the oracle's count of the bytes of the requests and answers as they were on the \
                connection, header blocks compressed",
        tolerance: "both ways the whole, with or without the frames that belong to no stream; \
                    header blocks none; a count that the tester does not print is not judged",
        needs_quiet: false,
        run: frame_bytes,
    },
];

const WINDOW: Topic = Topic {
    expected: "sending apart from waiting, or a word of the window",
    tells: &["flow control", "flow-control", "window_update", "server's window", "peer's window"],
    names: &["window"],
    figures: &[],
};

fn upload_window(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let run = |window_update_ns| {
        let mut ask = Ask { requests: Some(bench.pick(8, 4)), ..over_streams(1, 1) };
        ask.extra.push(Need::Upload(256 << 10));
        let http2 = Http2Mode { window_bytes: 64 << 10, window_update_ns, ..Http2Mode::default() };
        bench.hear(subject, &Setup::new(ask, Mode { http2, ..Mode::delay_ns(20 * MS) }))
    };
    let (slow, control) = (run(50 * MS)?, run(0)?);
    judge_upload(&slow, &control.reading)
}

fn median_s(log: &Log, of: impl Fn(&Entry) -> u64) -> f64 {
    let answered = log.entries.iter().filter(|entry| entry.sent_ns > 0);
    let mut times_s: Vec<f64> = answered.map(|entry| of(entry) as f64 / 1e9).collect();
    times_s.sort_by(f64::total_cmp);
    quantile_of(&times_s, 0.5).unwrap_or(f64::NAN)
}

fn judge_upload(run: &Run, control: &Reading) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let sending_s = median_s(&run.log, |entry| entry.received_ns - entry.opened_ns);
    let whole_s = median_s(&run.log, |entry| entry.sent_ns - entry.opened_ns);
    checks.near("p50", Unit::Time, quantile(&run.reading, 0.5)?, whole_s, 0.1, 0.015);
    let Further { sending_s: sending, stalled_s: stalled, waiting_s: waiting, .. } = run.further;
    if let Some(value_s) = sending {
        checks.near("sending", Unit::Time, value_s, sending_s, 0.1, 0.015);
    }
    if let Some(value_s) = stalled {
        checks.near("stalled", Unit::Time, value_s, sending_s, 0.1, 0.015);
    }
    if let Some(value_s) = waiting {
        checks.near("waiting", Unit::Time, value_s, whole_s - sending_s, 0.1, 0.015);
    }
    match doubts::told(&WINDOW, &run.reading, control) {
        _ if sending.is_some() || stalled.is_some() => {}
        Told::Rightly(word) => checks.note(format!("it says so ('{word}')")),
        _ => checks.holds(false, "one figure for all of it", WINDOW.expected),
    }
    Ok(checks.outcome())
}

fn receive_window(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { requests: Some(bench.pick(20, 10)), ..over_streams(1, 1) };
    let http2 = Http2Mode { updates_heard_ns: 20 * MS, ..Http2Mode::default() };
    let mode = Mode { body_bytes: 1 << 20, http2, ..Mode::default() };
    judge_download(&bench.measure(subject, &Setup::new(ask, mode))?)
}

fn judge_download(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    checks.between("p50", Unit::Time, quantile(&run.reading, 0.5)?, 0.0, 0.045);
    Ok(checks.outcome())
}

fn frame_bytes(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let header = |name: &str| (name.to_owned(), format!("a value of {name}"));
    let headers = ["x-first", "x-second", "x-third"].map(header).to_vec();
    let ask = Ask { requests: Some(1000), headers, ..over_streams(1, 10) };
    judge_bytes(&bench.measure(subject, &Setup::new(ask, Mode::default()))?)
}

fn judge_bytes(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let (entries, connections) = (&run.log.entries, &run.log.connections);
    let entries = |of: fn(&Entry) -> u32| entries.iter().map(|e| u64::from(of(e))).sum::<u64>();
    let Further { bytes_sent, bytes_received, header_bytes_received, .. } = run.further;
    said(bytes_sent.or(bytes_received), "how many bytes there were")?;
    let mut check = |name: &str, told: Option<u64>, of_streams: u64, all: u64| match told {
        Some(told) => {
            checks.between(name, Unit::Count, told as f64, of_streams as f64, all as f64);
        }
        None => checks.note(format!("{name} not said")),
    };
    let all_in = connections.iter().map(|connection| connection.bytes_in).sum();
    let all_out = connections.iter().map(|connection| connection.bytes_out).sum();
    check("bytes sent", bytes_sent, entries(|e| e.bytes_in), all_in);
    check("received", bytes_received, entries(|e| e.bytes_out), all_out);
    let blocks = entries(|e| e.header_bytes_out);
    check("of header blocks", header_bytes_received, blocks, blocks);
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests;
