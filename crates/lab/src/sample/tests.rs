//! The sampler over real processes: children of the test, which burn CPU time until they are told
//! to stop.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use plimsoll_core::usage::Usage;
use plimsoll_io::host::OwnCgroup;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::*;

const MS: u64 = 1_000_000;

/// A shell that does what it is told, line by line.
struct Shell(Child);

impl Shell {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.spawn().expect("a shell"))
    }

    /// Runs a line to its end.
    fn run(&mut self, line: &str) {
        let text = format!("{line}\necho -n .\n");
        self.0.stdin.as_mut().expect("piped").write_all(text.as_bytes()).expect("a shell");
        let mut dot = [0];
        self.0.stdout.as_mut().expect("piped").read_exact(&mut dot).expect("its answer");
    }

    fn root(&self) -> Root {
        Root::of(self.0.id()).expect("it is there")
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Burns CPU time in the shell itself.
const BURN: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

fn options() -> SamplerOptions {
    SamplerOptions { interval_ns: 20 * MS, look_interval_ns: 5 * MS, ..SamplerOptions::default() }
}

/// What the kernel says that the children waited for by this process's children have used.
fn ticks(pid: u32) -> u64 {
    let stat = readings::Stat::read(pid).expect("it is there");
    let own = stat.user_ticks + stat.system_ticks;
    own + stat.reaped_user_ticks + stat.reaped_system_ticks
}

fn watch(shell: &mut Shell, line: &str) -> (Usage, u64) {
    let sampler = Sampler::start(vec![shell.root()], options()).expect("a thread");
    let before = ticks(shell.0.id());
    shell.run(line);
    let after = ticks(shell.0.id());
    let usage = sampler.finish().expect("no panic");
    (usage, (after - before) * 1_000_000_000 / rustix::param::clock_ticks_per_second())
}

#[test]
fn cpu_time_is_counted_once_wherever_it_was_used() {
    let in_child = format!("( {BURN} )");
    let in_grandchildren = format!("( ( {BURN} ); ( {BURN} ) )");
    let beside = format!("( {BURN} ) & ( {BURN} ) & wait");
    for line in [BURN, &in_child, &in_grandchildren, &beside] {
        let mut shell = Shell::start();
        shell.run(BURN);
        let (usage, want_ns) = watch(&mut shell, line);
        // Ticks are of 10 ms, and there are up to four counters of them.
        let off_ns = usage.cpu_ns.abs_diff(want_ns);
        assert!(off_ns <= 40 * MS, "{line}: {} instead of {want_ns}", usage.cpu_ns);
        assert!(want_ns > 0 && usage.cpu_ns > 0, "{line}: burnt nothing");
        let samples = &usage.samples;
        assert!(samples.is_sorted_by_key(|sample| (sample.t_ns, sample.cpu_ns())), "{line}");
        assert_eq!((samples[0].t_ns, samples[0].cpu_ns()), (0, 0), "{line}");
        assert_eq!(usage.window_ns, samples.last().expect("samples").t_ns, "{line}");
        assert_eq!(usage.ended_ns, None, "{line}");
    }
}

#[test]
fn sizes_are_the_kernels() {
    let mut shell = Shell::start();
    shell.run("exec 8</dev/null 9</dev/null");
    let (usage, _) = watch(&mut shell, "true");
    let status = readings::read(&format!("/proc/{}/status", shell.0.id())).expect("it is there");
    let last = usage.samples.last().expect("samples");
    assert_eq!(Some(last.rss_bytes), readings::kib_as_bytes(&status, "VmRSS"));
    let files = readings::numbers_in(&format!("/proc/{}/fd", shell.0.id())).expect("its files");
    assert_eq!(last.open_files, Some(files.len() as u64));
    assert_eq!((last.processes, last.threads), (1, 1));
    assert!(last.pss_bytes.is_some_and(|pss| 0 < pss && pss <= last.rss_bytes), "{last:?}");
    assert!(usage.rss_peak_bytes >= last.rss_bytes);
    assert_eq!(usage.watched[0].pids, [shell.0.id()]);
    assert_eq!((usage.network, last.network_sent_bytes), (None, None), "our own namespace");
}

#[test]
fn the_end_of_a_server_is_told() {
    let mut shell = Shell::start();
    let root = shell.root();
    let sampler = Sampler::start(vec![root.clone()], options()).expect("a thread");
    shell.run(BURN);
    sampler.begin();
    shell.run(BURN);
    // Not waited for yet: a zombie is as dead as one that is gone.
    shell.0.kill().expect("our child");
    let without_reaping = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&shell.0)), without_reaping).expect("its end");
    let usage = sampler.finish().expect("no panic");
    let ended_ns = usage.ended_ns.expect("it ended");
    assert!(ended_ns <= usage.window_ns && usage.cpu_ns > 0, "{usage:?}");
    assert_eq!(usage.samples.last().map(|sample| sample.processes), Some(0));
    shell.0.wait().expect("our child");
    let usage = Sampler::start(vec![root], options()).expect("a thread").finish();
    let usage = usage.expect("no panic");
    assert_eq!((usage.ended_ns, usage.cpu_ns), (Some(0), 0), "gone before it began");
}

#[test]
fn another_process_of_the_number_is_not_watched() {
    let shell = Shell::start();
    let root = Root { start_ticks: 1, ..shell.root() };
    let usage = Sampler::start(vec![root], options()).expect("a thread").finish();
    assert_eq!(usage.expect("no panic").processes_max, 0);
}

#[test]
fn processes_are_found_by_what_they_are() {
    let shell = Shell::start();
    let pid = shell.0.id();
    let found = ProcessSelector::Process(pid).find().expect("it is there");
    assert_eq!(found, [shell.root()]);
    let tester = std::process::id();
    assert_eq!(ProcessSelector::Process(tester).find(), Err(FindError::Tester(tester)));
    let gone = u32::MAX / 4;
    assert_eq!(ProcessSelector::Process(gone).find(), Err(FindError::NoProcess(gone)));
    let name = ProcessSelector::Name("no such program".to_owned());
    assert_eq!(name.find(), Err(FindError::NoName("no such program".to_owned())));
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    // The tester is not its own server, though it is the one that listens.
    assert_eq!(ProcessSelector::Port(port).find(), Err(FindError::NoListener(port)));
}

/// A server that starts a process for each request and never asks how it ended: each child says
/// itself what it used, and the sum is the truth. Shells wait for children, so it is Perl.
const FORKS: &str = r#"$SIG{CHLD} = "IGNORE"; $| = 1; <STDIN>;
    for (1..60) {
        if (fork() == 0) {
            for ($i = 0; $i < 100000; $i++) {}
            open(IN, "<", "/proc/self/schedstat"); open(OUT, ">>", $ENV{TRUTH});
            print OUT <IN>; close(OUT); exit;
        }
        1 while wait() != -1;
    }
    print "."; <STDIN>;"#;

fn forks(group: Option<&OwnCgroup>) -> (Usage, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = folder.path().join("truth");
    let mut command = Command::new("perl");
    command.args(["-e", FORKS]).env("TRUTH", &truth);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(group) = group {
        group.holds(&mut command).expect("it can be opened");
    }
    let mut server = Shell(command.spawn().expect("perl"));
    let options = SamplerOptions { group: group.map(|it| it.counter().clone()), ..options() };
    let sampler = Sampler::start(vec![server.root()], options).expect("a thread");
    server.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("it reads");
    server.0.stdout.as_mut().expect("piped").read_exact(&mut [0]).expect("its answer");
    let usage = sampler.finish().expect("no panic");
    let text = std::fs::read_to_string(truth).expect("what the children used");
    let used = text.lines().filter_map(|line| line.split(' ').next()?.parse::<u64>().ok());
    let used: Vec<u64> = used.collect();
    assert_eq!(used.len(), 60, "{text}");
    (usage, used.iter().sum())
}

/// A parent that ignores SIGCHLD is never credited with what its children used: of short-lived ones
/// hardly anything is seen, and no figure is better than that.
#[test]
fn cpu_time_of_children_nobody_waits_for_is_not_known() {
    let (usage, _) = forks(None);
    let reason = usage.cpu_unknown.as_deref().expect("it is not known");
    assert!(reason.contains("ignores SIGCHLD"), "{reason}");
    assert_eq!((usage.known_cpu_ns(), usage.known_cores()), (None, None));
}

/// Where a control group can be made, the kernel counts them all.
#[test]
fn a_control_group_counts_children_nobody_waits_for() {
    let Ok(group) = OwnCgroup::make(&format!("plimsoll-sample-{}", std::process::id())) else {
        return;
    };
    let (usage, truth_ns) = forks(Some(&group));
    assert_eq!(usage.cpu_unknown, None);
    // The parent's own time comes on top: it starts sixty processes.
    assert!(usage.cpu_ns >= truth_ns, "{} of {truth_ns}", usage.cpu_ns);
}

/// A process that left the tree is still in the group.
#[test]
fn a_control_group_has_daemons_in_it() {
    let Ok(group) = OwnCgroup::make(&format!("plimsoll-daemon-{}", std::process::id())) else {
        return;
    };
    let mut command = Command::new("sh");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    group.holds(&mut command).expect("it can be opened");
    let mut shell = Shell(command.spawn().expect("a shell"));
    shell.run("( setsid sh -c 'while :; do :; done' >/dev/null 2>&1 & )");
    let options = SamplerOptions { group: Some(group.counter().clone()), ..options() };
    let sampler = Sampler::start(vec![shell.root()], options).expect("a thread");
    shell.run(BURN);
    let usage = sampler.finish().expect("no panic");
    assert_eq!(usage.processes_max, 2, "{usage:?}");
    assert!(usage.rss_peak_bytes > 0 && usage.cpu_unknown.is_none());
}

#[test]
fn the_busiest_thread_is_told() {
    let mut shell = Shell::start();
    let sampler = Sampler::start(vec![shell.root()], options()).expect("a thread");
    while ticks(shell.0.id()) < 30 {
        shell.run(BURN);
    }
    let usage = sampler.finish().expect("no panic");
    let busiest = usage.thread_percent_max.expect("it was seen");
    // Its only thread: what the process used, but for ticks of 10 ms and where it was seen first.
    let off = (busiest - usage.cpu_percent_mean).abs() * usage.window_ns as f64 / 1e2;
    assert!(off <= 60e6, "{busiest} instead of {}: {off} ns", usage.cpu_percent_mean);
}
