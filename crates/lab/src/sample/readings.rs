//! Reads files of `/proc`, with parsers on text. Anything missing or malformed is `None`, because
//! processes end at any time.

use std::fs::File;
use std::io::Read as _;

/// The most that is read of one file. What is looked for stands at the beginning of each.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The text of a file; `None` when it cannot be read.
pub(super) fn read(path: &str) -> Option<String> {
    read_or(path).ok()
}

/// The text of a file, or why it cannot be read.
pub(super) fn read_or(path: &str) -> std::io::Result<String> {
    let mut bytes = Vec::with_capacity(4096);
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    // Programs may call themselves anything.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A process in `/proc/PID/stat` (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat {
    pub name: String,
    /// It has ended and nobody has asked yet how.
    pub is_zombie: bool,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Of children that have ended and were waited for, and of theirs.
    pub reaped_user_ticks: u64,
    pub reaped_system_ticks: u64,
    pub threads: u32,
    /// After the start of the machine. With the number it tells a process from all others.
    pub start_ticks: u64,
}

impl Stat {
    /// Of a process.
    pub(super) fn read(pid: u32) -> Option<Self> {
        Self::parse(&read(&format!("/proc/{pid}/stat"))?)
    }

    /// The name stands in parentheses and may have parentheses and spaces in it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // proc(5) counts from 1, and the state is the third.
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |at: usize| field(at)?.parse::<u64>().ok();
        let id = |at: usize| field(at)?.parse::<u32>().ok();
        Some(Self {
            name: name.to_owned(),
            is_zombie: matches!(field(3)?, "Z" | "X"),
            parent: id(4)?,
            // A kernel thread's are -1 in some containers.
            group: id(5).unwrap_or(0),
            session: id(6).unwrap_or(0),
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            reaped_user_ticks: number(16)?,
            reaped_system_ticks: number(17)?,
            threads: id(20)?,
            start_ticks: number(22)?,
        })
    }
}

/// A number in a line `NAME:  123 kB`, without its unit.
pub(super) fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?;
        value.split_whitespace().next()?.parse().ok()
    })
}

/// A line of `NAME: 123 kB` in bytes.
pub(super) fn kib_as_bytes(text: &str, name: &str) -> Option<u64> {
    number(text, name)?.checked_mul(1024)
}

/// Context switches of a thread, in its status.
pub(super) fn switches(status: &str) -> Option<(u64, u64)> {
    Some((
        number(status, "voluntary_ctxt_switches")?,
        number(status, "nonvoluntary_ctxt_switches")?,
    ))
}

/// Bytes received and sent on all interfaces of `/proc/PID/net/dev`: name, colon, eight figures of
/// what was received, eight of what was sent.
pub(super) fn interface_bytes(net_dev: &str) -> Option<(u64, u64)> {
    let lines = net_dev.lines().filter_map(|line| line.rsplit_once(':'));
    let bytes = lines.map(|(_, figures)| {
        let mut figures = figures.split_whitespace().map(str::parse::<u64>);
        Some((figures.next()?.ok()?, figures.nth(7)?.ok()?))
    });
    bytes.collect::<Option<Vec<_>>>()?.into_iter().reduce(|a, b| (a.0 + b.0, a.1 + b.1))
}

/// The numbers in the names of a directory: processes, threads.
pub(super) fn numbers_in(path: &str) -> Option<Vec<u32>> {
    let entries = std::fs::read_dir(path).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_call_itself_anything() {
        let rest = "S 1 2 3 0 -1 4194560 100 0 0 0 11 12 13 14 20 0 5 0 777 12345 678 184467";
        for name in ["nginx", "a b", "x) R 9 (y", "(", ""] {
            let stat = Stat::parse(&format!("42 ({name}) {rest}")).expect(name);
            assert_eq!(stat.name, name);
            assert_eq!((stat.parent, stat.group, stat.session), (1, 2, 3));
            assert_eq!((stat.user_ticks, stat.system_ticks), (11, 12));
            assert_eq!((stat.reaped_user_ticks, stat.reaped_system_ticks), (13, 14));
            assert_eq!((stat.threads, stat.start_ticks), (5, 777));
            assert!(!stat.is_zombie);
        }
        let zombie = Stat::parse(&format!("42 (a) {}", rest.replacen('S', "Z", 1)));
        assert!(zombie.is_some_and(|stat| stat.is_zombie));
        for bad in ["", "42", "42 (a", "42 (a) S", "42 (a) S x 2 3", &rest.replace("777", "-")] {
            assert_eq!(Stat::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn lines_with_numbers() {
        let status = "VmHWM:\t  5124 kB\nThreads:\t3\nvoluntary_ctxt_switches:\t7\n\
            nonvoluntary_ctxt_switches:\t2";
        assert_eq!(kib_as_bytes(status, "VmHWM"), Some(5124 * 1024));
        assert_eq!(switches(status), Some((7, 2)));
        assert_eq!(number(status, "Vm"), None);
        assert_eq!(kib_as_bytes("VmHWM: 18446744073709551615 kB", "VmHWM"), None);
        assert_eq!(switches("voluntary_ctxt_switches:\t7"), None);
    }

    #[test]
    fn interfaces_are_added_up() {
        let text = "Inter-|   Receive                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n\
            \x20   lo:  100  1 0 0 0 0 0 0  200 1 0 0 0 0 0 0\n\
            eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n";
        assert_eq!(interface_bytes(text), Some((1100, 2200)));
        assert_eq!(interface_bytes(""), None);
        assert_eq!(interface_bytes("lo: 1 2 3"), None);
    }
}
