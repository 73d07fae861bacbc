//! What is printed instead of a run: the usage, the version, and the reasons not to run.

use crate::UsageText;

/// The exit code of a command line that cannot be read: `EINVAL`, as ab has it.
const INVALID: u8 = 22;

/// The exit code of what cannot be begun.
const FATAL: u8 = 1;

impl UsageText {
    /// A line, and nothing more.
    pub(super) fn fatal(line: &str) -> Self {
        Self { stdout: String::new(), stderr: format!("{line}\n"), code: FATAL }
    }

    /// What is wrong with a command line, if anything, and how one is written.
    pub(super) fn wrong(program: &str, lines: &[&str]) -> Self {
        let mut stderr: String = lines.iter().map(|line| format!("{line}\n")).collect();
        stderr += &format!("Usage: {program} [options] [http[s]://]hostname[:port]/path\n");
        stderr += OPTIONS;
        Self { stdout: String::new(), stderr, code: INVALID }
    }

    /// Something to show that is no error.
    pub(super) fn shown(stdout: String) -> Self {
        Self { stdout, stderr: String::new(), code: 0 }
    }
}

/// A body (`-p`, `-u`) that could not be read.
#[must_use]
pub fn file_not_read(path: &str, reason: &str) -> UsageText {
    UsageText::fatal(&format!("ab: Could not open POST data file ({path}): {reason}"))
}

/// A certificate (`-E`) that could not be read.
#[must_use]
pub fn certificate_not_read(path: &str, reason: &str) -> UsageText {
    UsageText::fatal(&format!("unable to get certificate from '{path}': {reason}"))
}

/// An output file (`-g`, `-e`) that could not be written. `what` is `gnuplot` or `CSV`.
#[must_use]
pub fn file_not_written(what: &str, reason: &str) -> UsageText {
    UsageText::fatal(&format!("Cannot open {what} output file: {reason}"))
}

/// A server's or proxy's name that has no address.
#[must_use]
pub fn name_not_found(host: &str) -> UsageText {
    // APR numbers the resolver's errors from 670000 on, and a process keeps the last byte of that.
    let error = 670_002_u32;
    let line = format!("apr_sockaddr_info_get() for {host}: Name or service not known ({error})");
    UsageText { code: error.to_le_bytes()[0], ..UsageText::fatal(&line) }
}

const OPTIONS: &str = "\
Options are:
    -n requests     How many requests to send; 1 without it
    -c concurrency  How many of them at a time; 1 without it
    -t timelimit    Stop after this many seconds, or after 50000 requests;
                    an -n behind it sets another number
    -s timeout      Seconds that a request may take; 30 without it
    -b windowsize   Accepted, without effect: the kernel sizes its buffers
    -B address      Connect from this address
    -p postfile     POST this file; give -T too
    -u putfile      PUT this file; give -T too
    -T content-type What is in that file; text/plain without it
    -v verbosity    2 and more print the request
    -w              Print the results as an HTML table
    -i              Send HEAD
    -x attributes   Put these into the table's tag
    -y attributes   Put these into the tags of rows
    -z attributes   Put these into the tags of cells
    -C attribute    Send this cookie, such as Apache=1234; the last one counts
    -H attribute    Send this header line too, such as 'Accept-Encoding: gzip';
                    may be repeated, and replaces Host, User-Agent and Accept
    -A attribute    user:password for the server (Basic)
    -P attribute    user:password for the proxy (Basic)
    -X proxy:port   Go through this proxy
    -V              Print the version
    -k              Use connections for more than one request
    -d              Leave the table of percentages out
    -S              Leave deviations, medians and warnings out
    -q              Do not tell how far the run is
    -l              Bodies may differ in length
    -g filename     Write the times of each request to this file
    -e filename     Write the percentages to this file
    -r              Go on after errors of connections
    -m method       Send this method
    -h              Print this
    -I              Do not send the server's name in the TLS handshake
    -Z ciphersuite  Accepted, without effect: suites are not chosen
    -f protocol     TLS1.2, TLS1.3 or ALL
    -E certfile     Show this certificate; the file holds its key too
Options of Plimsoll's own:
    --as-original   Compute as ab does, where it is wrong too
    --driver kind   auto, uring or epoll
    --spin when     auto, on or off
    --json-result f Write the result document to this file
    --quiet         No verdict and no warnings
";
