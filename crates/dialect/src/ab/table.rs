//! The report as an HTML table (`-w`, `-x`, `-y`, `-z`).
//!
//! Attributes are put in as given. What comes from the server or from the URL is escaped, which ab
//! does not do.

use std::fmt::Write as _;

use plimsoll_core::result::RunResult;

use super::counts::{Counts, document_length, seconds_taken, server_software};
use super::text::{mean_ms, transfer_rates};
use super::times::{Row, Times, whole_ms};
use super::{Command, HtmlAttributes};

/// The report.
pub(super) fn table(command: &Command, attributes: &HtmlAttributes, result: &RunResult) -> String {
    let counts = Counts::of(command, result);
    let mut table = Table { attributes, text: format!("\n\n<table {}>\n", attributes.table) };
    table.head(command, result);
    table.counts(command, result, &counts);
    table.rates(command, result, &counts);
    if counts.complete > 0 {
        table.times(command, result, &counts);
    }
    table.text + "</table>\n"
}

struct Table<'a> {
    attributes: &'a HtmlAttributes,
    text: String,
}

impl Table<'_> {
    fn head(&mut self, command: &Command, result: &RunResult) {
        let endpoint = &command.endpoint;
        self.line("Server Software:", &escaped(server_software(result)));
        self.line("Server Hostname:", &escaped(&endpoint.host));
        self.line("Server Port:", &endpoint.port.to_string());
        self.line("Document Path:", &escaped(&command.path_shown()));
        self.line("Document Length:", &document_length(command, result));
    }

    fn counts(&mut self, command: &Command, result: &RunResult, counts: &Counts) {
        self.line("Concurrency Level:", &command.concurrency.to_string());
        self.line("Time taken for tests:", &format!("{:.3} seconds", seconds_taken(result)));
        self.line("Complete requests:", &counts.complete.to_string());
        self.line("Failed requests:", &counts.failed().to_string());
        if counts.failed() > 0 {
            let HtmlAttributes { row, cell, .. } = self.attributes;
            // The table has no place for the other kinds.
            let _ = writeln!(
                self.text,
                "<tr {row}><td colspan=4 {cell} >   (Connect: {}, Length: {}, Exceptions: {})\
                 </td></tr>",
                counts.connect, counts.length, counts.exceptions
            );
        }
        if counts.non_2xx > 0 {
            self.line("Non-2xx responses:", &counts.non_2xx.to_string());
        }
        if command.keep_alive {
            self.line("Keep-Alive requests:", &result.details.kept_alive.to_string());
        }
        self.line("Total transferred:", &format!("{} bytes", result.bytes.received));
        if command.body_path.is_some() {
            self.line("Total body sent:", &result.bytes.sent.to_string());
        }
        self.line("HTML transferred:", &format!("{} bytes", result.details.body_bytes));
    }

    fn rates(&mut self, command: &Command, result: &RunResult, counts: &Counts) {
        let seconds = seconds_taken(result);
        if seconds <= 0.0 {
            return;
        }
        self.line("Requests per second:", &format!("{:.2}", counts.complete as f64 / seconds));
        let [received, sent, total] = transfer_rates(result, seconds);
        self.line("Transfer rate:", &format!("{received:.2} kb/s received"));
        if command.body_path.is_none() {
            return;
        }
        let HtmlAttributes { row, cell, .. } = self.attributes;
        for rate in [format!("{sent:.2} kb/s sent"), format!("{total:.2} kb/s total")] {
            let _ = writeln!(
                self.text,
                "<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{rate}</td></tr>"
            );
        }
    }

    fn times(&mut self, command: &Command, result: &RunResult, counts: &Counts) {
        let HtmlAttributes { row, cell, .. } = self.attributes;
        let _ = writeln!(
            self.text,
            "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>\n\
             <tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   \
             <th {cell}>max</th></tr>"
        );
        let times = Times::of(command, result);
        let [connect, processing, _, total] = times.rows(command.as_original).map(|(_, row)| row);
        let rows = if command.as_original {
            original(&connect, &total, counts.complete)
        } else {
            [connect, processing, total]
                .map(|row| [whole_ms(row.min), mean_ms(row.mean), whole_ms(row.max)])
        };
        for (label, [min, mean, max]) in ["Connect:", "Processing:", "Total:"].iter().zip(rows) {
            let _ = writeln!(
                self.text,
                "<tr {row}><th {cell}>{label}</th><td {cell}>{min:>5}</td><td {cell}>{mean:>5}</td>\
                 <td {cell}>{max:>5}</td></tr>"
            );
        }
    }

    /// A line with a name and a value.
    fn line(&mut self, name: &str, value: &str) {
        let HtmlAttributes { row, cell, .. } = self.attributes;
        let _ = writeln!(
            self.text,
            "<tr {row}><th colspan=2 {cell}>{name}</th><td colspan=2 {cell}>{value}</td></tr>"
        );
    }
}

/// The three rows in ab's arithmetic: processing is what is left of the total's extremes without
/// the connects', and averages are whole milliseconds of a whole sum.
fn original(connect: &Row, total: &Row, complete: u64) -> [[u64; 3]; 3] {
    let average = |row: &Row| mean_ms(row.mean * complete as f64) / complete.max(1);
    let of = |row: &Row| [whole_ms(row.min), average(row), whole_ms(row.max)];
    let (connect, total) = (of(connect), of(total));
    let left: [u64; 3] = std::array::from_fn(|at| total[at].saturating_sub(connect[at]));
    [connect, left, total]
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
