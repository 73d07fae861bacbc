//! The JSON reports of `-e`: one object each, laid out as the fork lays them out, with its
//! oddities: `rx_bps` is text with a unit, and `http_error` is present only beside another error.

use std::io::{self, Write};

use super::Command;
use super::figures::Figures;
use super::hdr::Hdr;
use crate::units::format_binary;

pub(super) fn write(command: &Command, figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{")?;
    let errors = figures.errors;
    if errors.any() {
        let members = [
            ("connect", errors.connect),
            ("read", errors.read),
            ("write", errors.write),
            ("timeout", errors.timeout),
            ("http_error", figures.failed),
        ];
        let members: Vec<String> = members
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("\"{name}\": {count}"))
            .collect();
        writeln!(out, "\"errors\": {{{}}},", members.join(", "))?;
    }
    writeln!(
        out,
        "\"total_req\": {}, \"rps\": {:.2}, \"rx_bps\": \"{}B\",",
        figures.completed,
        figures.requests_per_second(),
        format_binary(figures.bytes_per_second()),
    )?;
    let histogram = Hdr::new(command.digits, &figures.latency).encoded(command.hist_v1);
    writeln!(out, "\"hist\": \"{histogram}\"\n}}")
}
