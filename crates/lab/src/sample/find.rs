//! Finds the processes to watch: by number, by the name of the program, by the port they listen on.
//!
//! If several match, only those without a matching ancestor count: the masters, whose workers are
//! followed anyway. The tester itself never matches.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::readings::{Stat, number, numbers_in, read};

/// What is to be watched, as `--monitor` is given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessSelector {
    /// `1234`: a process.
    Process(u32),
    /// `nginx`: all processes of this name, by the kernel or by their command line.
    Name(String),
    /// `:8080`: who listens on this port, in the tester's network namespace.
    Port(u16),
}

/// A process to start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks after the start of the machine: with the number it tells
    /// this process from any other that will ever have its number.
    pub start_ticks: u64,
    /// Its name.
    pub name: String,
}

/// Why there is nothing to watch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// Not something that can be watched.
    #[error("'{0}' is not a process: give a number, a name or :PORT")]
    Malformed(String),
    /// No such number.
    #[error("there is no process {0} here")]
    NoProcess(u32),
    /// The tester's own number.
    #[error("process {0} is the tester itself: its report has its CPU and memory anyway")]
    Tester(u32),
    /// No such name.
    #[error("no process here is called '{0}': give its number or :PORT")]
    NoName(String),
    /// A port without a listener.
    #[error("nobody listens on TCP port {0} here")]
    NoListener(u16),
    /// A process listens, and its files may not be read.
    #[error(
        "port {port} is served by a process of user {uid}, whose open files may not be read: run \
         as that user or as root, or give the process by its number"
    )]
    Hidden {
        /// The port.
        port: u16,
        /// The user.
        uid: u32,
    },
}

impl FromStr for ProcessSelector {
    type Err = FindError;

    fn from_str(text: &str) -> Result<Self, FindError> {
        let malformed = || FindError::Malformed(text.to_owned());
        if let Some(port) = text.strip_prefix(':') {
            return port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .map(Self::Port)
                .ok_or_else(malformed);
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let pid = text.parse().ok().filter(|pid| (1..=i32::MAX as u32).contains(pid));
            return pid.map(Self::Process).ok_or_else(malformed);
        }
        let is_name = !text.contains('/') && !text.chars().any(char::is_control);
        is_name.then(|| Self::Name(text.to_owned())).ok_or_else(malformed)
    }
}

impl Root {
    /// The process of this number.
    ///
    /// # Errors
    /// No such process.
    pub fn of(pid: u32) -> Result<Self, FindError> {
        let stat = Stat::read(pid).filter(|stat| !stat.is_zombie);
        let stat = stat.ok_or(FindError::NoProcess(pid))?;
        Ok(Self { pid, start_ticks: stat.start_ticks, name: stat.name })
    }

    /// Whether it is this process or one of its descendants, or in its session or process group.
    pub(crate) fn descends_from(&self, pid: u32) -> bool {
        // Parents that were read one after the other might form a ring.
        const GENERATIONS_MAX: usize = 1000;
        let mut above = self.pid;
        for _ in 0..GENERATIONS_MAX {
            if above == pid {
                return true;
            }
            let Some(stat) = Stat::read(above) else { return false };
            if [stat.group, stat.session].contains(&pid) {
                return true;
            }
            above = stat.parent;
        }
        false
    }
}

impl ProcessSelector {
    /// The processes that are meant, in the order of their numbers; never none.
    ///
    /// # Errors
    /// No such process, or none that may be looked at.
    pub fn find(&self) -> Result<Vec<Root>, FindError> {
        let tester = std::process::id();
        let pids = match self {
            Self::Process(pid) if *pid == tester => return Err(FindError::Tester(*pid)),
            Self::Process(pid) => return Ok(vec![Root::of(process_of(*pid))?]),
            Self::Name(name) => named(name),
            Self::Port(port) => listeners(*port)?,
        };
        let fitting: BTreeSet<u32> = pids.into_iter().filter(|pid| *pid != tester).collect();
        let parents: BTreeMap<u32, u32> = processes()
            .into_iter()
            .filter_map(|pid| Some((pid, Stat::read(pid)?.parent)))
            .collect();
        let roots: Vec<Root> =
            topmost(&fitting, &parents).into_iter().filter_map(|pid| Root::of(pid).ok()).collect();
        if !roots.is_empty() {
            return Ok(roots);
        }
        Err(match self {
            Self::Process(pid) => FindError::NoProcess(*pid),
            Self::Name(name) => FindError::NoName(name.clone()),
            Self::Port(port) => FindError::NoListener(*port),
        })
    }
}

fn processes() -> Vec<u32> {
    numbers_in("/proc").unwrap_or_default()
}

/// The process of a thread: numbers of threads can be given too, and are not in the list of
/// processes.
fn process_of(pid: u32) -> u32 {
    let status = read(&format!("/proc/{pid}/status"));
    let process = status.and_then(|status| u32::try_from(number(&status, "Tgid")?).ok());
    process.unwrap_or(pid)
}

/// The kernel keeps this many bytes of a process's name.
const NAME_BYTES: usize = 15;

fn named(name: &str) -> Vec<u32> {
    let fits = |pid: &u32| {
        let Some(stat) = Stat::read(*pid).filter(|stat| !stat.is_zombie) else { return false };
        let command = read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_called(name, &stat.name, &command)
    };
    processes().into_iter().filter(fits).collect()
}

/// Whether a process is called so: by the kernel, or by the last part of what it was started with.
fn is_called(name: &str, by_kernel: &str, command: &str) -> bool {
    let program = command.split('\0').next().unwrap_or("");
    let program = program.rsplit('/').next().unwrap_or(program);
    let is_cut = by_kernel.len() == NAME_BYTES && name.starts_with(by_kernel);
    by_kernel == name || program == name || (is_cut && program.starts_with(name))
}

/// Those none of whose ancestors is among them too.
fn topmost(fitting: &BTreeSet<u32>, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
    // What starts all others listens for some of them (socket activation); it is not the server
    // then.
    let has_others = fitting.len() > 1;
    let counts = |pid: u32| fitting.contains(&pid) && !(pid == 1 && has_others);
    let has_ancestor = |pid: u32| {
        let mut above = parents.get(&pid).copied();
        // Parents that were read one after the other might form a ring.
        for _ in 0..parents.len() {
            let Some(pid) = above.filter(|pid| *pid != 0) else { return false };
            if counts(pid) {
                return true;
            }
            above = parents.get(&pid).copied();
        }
        false
    };
    fitting.iter().copied().filter(|pid| counts(*pid) && !has_ancestor(*pid)).collect()
}

/// A listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Listener {
    inode: u64,
    uid: u32,
}

/// Who has a listening socket of this port open.
fn listeners(port: u16) -> Result<Vec<u32>, FindError> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| read(path).unwrap_or_default());
    let sockets: Vec<Listener> =
        tables.iter().flat_map(|table| table.lines()).filter_map(|l| listener(l, port)).collect();
    let Some(first) = sockets.first() else { return Err(FindError::NoListener(port)) };
    let links: BTreeSet<String> =
        sockets.iter().map(|socket| format!("socket:[{}]", socket.inode)).collect();
    let holders: Vec<u32> = processes().into_iter().filter(|pid| has_open(*pid, &links)).collect();
    if holders.is_empty() {
        return Err(FindError::Hidden { port, uid: first.uid });
    }
    Ok(holders)
}

/// The state of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// A line of `/proc/net/tcp` (proc(5)): slot, local address, remote address, state, queues, timer,
/// retransmits, user, timeout, inode.
fn listener(line: &str, port: u16) -> Option<Listener> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
    let is_it = u16::from_str_radix(local_port, 16).ok()? == port && *fields.get(3)? == LISTEN;
    if !is_it {
        return None;
    }
    Some(Listener { uid: fields.get(7)?.parse().ok()?, inode: fields.get(9)?.parse().ok()? })
}

/// Whether a process has one of these open. False where its files may not be read.
fn has_open(pid: u32, links: &BTreeSet<String>) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().any(|file| {
        let link = std::fs::read_link(file.path());
        link.is_ok_and(|link| link.to_str().is_some_and(|link| links.contains(link)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_given() {
        for (text, want) in [
            ("1234", Ok(ProcessSelector::Process(1234))),
            (":80", Ok(ProcessSelector::Port(80))),
            ("nginx", Ok(ProcessSelector::Name("nginx".to_owned()))),
            ("my server", Ok(ProcessSelector::Name("my server".to_owned()))),
            ("7zip", Ok(ProcessSelector::Name("7zip".to_owned()))),
        ] {
            assert_eq!(text.parse(), want, "{text:?}");
        }
        for bad in ["", "0", "99999999999", ":", ":0", ":70000", ":http", "/usr/sbin/nginx", "a\nb"]
        {
            assert_eq!(bad.parse::<ProcessSelector>(), Err(FindError::Malformed(bad.to_owned())));
        }
    }

    #[test]
    fn names_by_kernel_and_command() {
        for (name, by_kernel, command, want) in [
            ("nginx", "nginx", "nginx: master process nginx", true),
            ("http-echo", "http-echo", "/opt/http-echo\0-text\0a", true),
            ("node", "MainThread", "/usr/bin/node\0server.js", true),
            ("a-server-with-a-long-name", "a-server-with-a", "/x/a-server-with-a-long-name", true),
            ("a-server-with-a-longer", "a-server-with-a", "/x/a-server-with-a-long-name", false),
            ("server.js", "node", "/usr/bin/node\0server.js", false),
            ("ngin", "nginx", "nginx", false),
        ] {
            assert_eq!(is_called(name, by_kernel, command), want, "{name} {by_kernel} {command}");
        }
    }

    #[test]
    fn masters_stand_for_their_workers() {
        let parents =
            BTreeMap::from([(1, 0), (10, 1), (11, 10), (12, 11), (20, 1), (30, 31), (31, 30)]);
        for (fitting, want) in [
            (vec![10, 11, 12], vec![10]),
            (vec![12, 20], vec![12, 20]),
            (vec![10, 12], vec![10]),
            (vec![1, 20], vec![20]),
            (vec![1], vec![1]),
            (vec![99], vec![99]),
            (vec![30], vec![]),
            (vec![], vec![]),
        ] {
            assert_eq!(topmost(&fitting.iter().copied().collect(), &parents), want, "{fitting:?}");
        }
    }

    #[test]
    fn lines_of_the_socket_table() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  \
                    33        0 654321 1 0000000000000000 100 0 0 10 0";
        assert_eq!(listener(line, 8080), Some(Listener { inode: 654_321, uid: 33 }));
        let six = line.replacen("0100007F", "00000000000000000000000000000000", 1);
        assert_eq!(listener(&six, 8080), Some(Listener { inode: 654_321, uid: 33 }));
        assert_eq!(listener(line, 8081), None);
        assert_eq!(listener(&line.replacen("0A", "01", 1), 8080), None);
        for bad in ["", "  sl  local_address rem_address   st", "0: x:y z 0A", &line[..60]] {
            assert_eq!(listener(bad, 8080), None, "{bad:?}");
        }
    }
}
