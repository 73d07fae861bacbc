//! What the host says of itself: what it is, what it allows, what the process has used of it, and
//! what was taken away meanwhile.
//!
//! Everything is read from `/proc` and `/sys` by small parsers that work on text and accept what is
//! missing: a container hides files, another system has none, and a load test must not fail for
//! that. What cannot be read is `None` or a documented default, never a guess.
//!
//! Absent on purpose: serialization (the result document has its own types), other processes but
//! for what only the kernel's interface in C tells of them, and judgement. Whether a figure makes a
//! run suspect is the engine's to say.

mod cgroup;
mod cpus;
mod environment;
mod limits;
mod lost_cpu_time;
mod network;
mod own_cgroup;
mod processor;
mod resolve;
mod settings;
mod snapshot;
mod system;
mod usage;

pub use cgroup::{Cgroup, cpu_limit, memory_limit_bytes};
pub use cpus::{interrupts, shared_cores};
pub use environment::{HostEnvironment, memory_available_bytes};
pub use limits::{HostLimits, raise_open_files};
pub use lost_cpu_time::{CpuTicks, Throttling};
pub use network::TcpCounters;
pub use own_cgroup::{CgroupCounter, CgroupCpu, OwnCgroup};
pub use resolve::{reachable, resolve};
pub use settings::{Conntrack, KernelSettings};
pub use snapshot::{Happened, Snapshot};
pub use usage::{Rusage, process_cpu_ns, rss_bytes, rss_peak_bytes, run_delay_ns};

/// The text of a file without the white space around it; `None` when it cannot be read or is
/// empty.
fn read(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    if text.is_empty() { None } else { Some(text.to_owned()) }
}

/// The value of the first `KEY<separator>VALUE` line with this key, without the white space around
/// it.
fn field<'a>(text: &'a str, key: &str, separator: char) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "MemTotal:  16 kB\nMem: 3\nEmpty:\nno separator";
        for (key, want) in [
            ("MemTotal", Some("16 kB")),
            ("Mem", Some("3")),
            ("Empty", Some("")),
            ("Total", None),
            ("no separator", None),
        ] {
            assert_eq!(field(text, key, ':'), want, "{key}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_reads_as_nothing() {
        assert_eq!(read("/proc/no such file"), None);
    }
}
