//! ApacheBench: makes a plan of its command line, and its report of a result.
//!
//! The facts are those of `ab` 2.3 as httpd 2.4 ships it. Labels, widths, rounding and blank lines
//! are kept, because scripts read them. Where ab measures wrongly, the true figure takes its place,
//! unless `--as-original` asks for ab's arithmetic; `docs/dialects/ab.md` lists each difference.
//!
//! Absent: opening files and printing, which the caller does. A [`Command`] names the files it
//! wants, and everything shown is text made from a result.

mod arguments;
mod counts;
mod files;
mod plan;
mod progress;
mod table;
mod text;
mod times;
mod url;
mod usage;

use std::net::IpAddr;

use plimsoll_core::plan::{DriverPlan, Endpoint, Spin, TlsVersions};
use plimsoll_core::secret::Masks;

pub use arguments::parse;
pub use files::{csv, gnuplot};
pub use plan::{FLAGS, Files};
pub use progress::{Ending, Heartbeat, ending, not_reached};
pub use text::{banner, report};
pub use usage::{certificate_not_read, file_not_read, file_not_written, name_not_found};

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Where the requests go.
    pub endpoint: Endpoint,
    /// How many requests to send at most (`-n`).
    pub requests: u64,
    /// How many at a time (`-c`).
    pub concurrency: u32,
    /// When to stop sending, seconds after the start (`-t`).
    pub time_limit_s: Option<u64>,
    /// How long a request may take, seconds (`-s`).
    pub timeout_s: u64,
    /// The address to connect from (`-B`).
    pub bind: Option<IpAddr>,
    /// Method, as sent.
    pub method: String,
    /// The file with the body to send (`-p`, `-u`).
    pub body_path: Option<String>,
    /// The body's content type (`-T`).
    pub content_type: String,
    /// How much to tell (`-v`).
    pub verbosity: i32,
    /// Print the report as an HTML table (`-w`).
    pub html: Option<HtmlAttributes>,
    /// The value of the Cookie field (`-C`).
    pub cookie: Option<String>,
    /// `user:password`, in order, each with the name of its field (`-A`, `-P`).
    pub credentials: Vec<(String, String)>,
    /// Other fields, in order (`-H`).
    pub headers: Vec<(String, String)>,
    /// Host and port of a proxy (`-X`).
    pub proxy: Option<(String, u16)>,
    /// Use connections for more than one request (`-k`).
    pub keep_alive: bool,
    /// Whether to print the table of percentages; `-d` does not.
    pub percentages: bool,
    /// Whether to print deviations, medians and warnings; `-S` does not.
    pub confidence: bool,
    /// Whether to tell how far the run is; `-q` does not.
    pub heartbeat: bool,
    /// Bodies may differ in length (`-l`).
    pub variable_length: bool,
    /// Where to write the times of each request (`-g`).
    pub gnuplot_path: Option<String>,
    /// Where to write the percentages (`-e`).
    pub csv_path: Option<String>,
    /// Go on after errors of connections (`-r`).
    pub goes_on: bool,
    /// Whether to send the server's name in the TLS handshake; `-I` does not.
    pub sni: bool,
    /// Versions of TLS to offer (`-f`).
    pub tls_versions: TlsVersions,
    /// The file with the client's certificate and key (`-E`).
    pub certificate_path: Option<String>,
    /// Reproduce the arithmetic of `ab` (`--as-original`).
    pub as_original: bool,
    /// Which driver to use (`--driver`).
    pub driver: DriverPlan,
    /// Whether to spin (`--spin`).
    pub spin: Spin,
    /// Where to write the result document (`--json-result`).
    pub json_path: Option<String>,
    /// Leave the verdict and the warnings out (`--quiet`).
    pub quiet: bool,
    /// What was asked for and cannot be done, or was read otherwise than it may have been meant: a
    /// line each, for stderr.
    pub warnings: Vec<String>,
}

/// What to put into the tags of the HTML table, as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlAttributes {
    /// Into `<table>` (`-x`).
    pub table: String,
    /// Into `<tr>` (`-y`).
    pub row: String,
    /// Into `<td>` and `<th>` (`-z`).
    pub cell: String,
}

impl Default for HtmlAttributes {
    fn default() -> Self {
        Self { table: String::new(), row: String::new(), cell: "bgcolor=white".to_owned() }
    }
}

impl Command {
    /// The path as reports show it.
    fn path_shown(&self) -> String {
        Masks::default().url(self.endpoint.path.reveal())
    }

    /// The value that `-H` gives a field.
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The name sent in the TLS handshake: that of `-H 'Host: ..'`, else the URL's; none for an
    /// address, which may not be sent (RFC 6066 section 3).
    fn tls_name(&self) -> Option<&str> {
        let given = self.header("Host").map(url::without_port);
        let name = given.unwrap_or(&self.endpoint.host);
        let is_sent = self.endpoint.is_tls() && self.sni && !name.is_empty();
        (is_sent && name.parse::<IpAddr>().is_err()).then_some(name)
    }
}

#[cfg(test)]
mod tests;
