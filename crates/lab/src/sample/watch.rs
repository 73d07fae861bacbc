//! The state of a tree of processes while it is watched: readings in, samples and totals out.
//!
//! Each sample reads CPU time, memory and threads of every process. Expensive readings (a file for
//! each thread, or a walk through all memory) are as frequent as a small share of a core allows.
//! Between samples there are cheap looks for peaks of memory.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::usage::{NetworkUsage, Usage, UsageSample, Watched};
use plimsoll_io::clock;
use plimsoll_io::host::{CgroupCounter, CgroupCpu};

use super::busy::Busy;
use super::find::Root;
use super::group::Group;
use super::lost::{Lost, started};
use super::members::Members;
use super::process::{Process, own_network, ticks_now};
use super::readings::{Stat, interface_bytes, numbers_in, read};
use super::record::{Mark, UsageRecord};
use super::sampler::SamplerOptions;
use super::switches::{Count, sum};
use super::tree::{Cpu, Tree};

/// With more samples than this every second one is left out, and they are taken half as often:
/// memory has a bound, however long a run is.
const SAMPLES_MAX: usize = 7200;

/// The same for readings of CPU time alone, of which there are ten times as many.
const MARKS_MAX: usize = 10 * SAMPLES_MAX;

/// After a reading, none of its kind follows for this many times as long as it took.
const RESTS: u64 = 1000;

/// A tree of processes that is watched.
#[derive(Debug)]
pub(super) struct Watch {
    watched: Watched,
    members: Members,
    processes: BTreeMap<u32, Process>,
    tree: Tree,
    /// Of processes that have ended.
    ended_switches: Count,
    groups: Vec<Group>,
    /// The group that they have to themselves, and what it had counted before.
    own: Option<(CgroupCounter, CgroupCpu)>,
    lost: Lost,
    /// The busiest thread of processes that have ended.
    ended_busiest: Vec<Busy>,
    network: Option<Network>,
    notes: BTreeSet<String>,
    began_ns: u64,
    began_ticks: u64,
    /// The least time between samples.
    interval_ns: u64,
    look_interval_ns: u64,
    sample_due_ns: u64,
    look_due_ns: u64,
    counts_due_ns: u64,
    pss_due_ns: u64,
    threads_due_ns: u64,
    /// What was told last of CPU time, which never goes back.
    cpu: Cpu,
    rss_peak_bytes: u64,
    cpu_upercent_peak: u64,
    ended_ns: Option<u64>,
    samples: Vec<UsageSample>,
    marks: Vec<Mark>,
}

/// Counters of a network namespace.
#[derive(Debug)]
struct Network {
    path: String,
    before: (u64, u64),
}

/// Whether dear readings are taken whatever they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    AsPaced,
    Whole,
}

impl Watch {
    /// Looks at the roots; [`Watch::begin`] is to follow.
    pub(super) fn new(roots: &[Root], options: &SamplerOptions) -> Self {
        let pids: Vec<u32> = roots.iter().map(|root| root.pid).collect();
        let mut notes = BTreeSet::new();
        let network = network(&pids, &mut notes);
        let mut groups: Vec<Group> = Vec::new();
        for group in pids.iter().filter_map(|pid| Group::of(*pid)) {
            if groups.iter().all(|known| known.path() != group.path()) {
                groups.push(group);
            }
        }
        let names: BTreeSet<&str> = roots.iter().map(|root| root.name.as_str()).collect();
        let name = names.into_iter().collect::<Vec<_>>().join(", ");
        // A number that has become another process since it was found is not watched.
        let still = |root: &&Root| Root::of(root.pid).as_ref() == Ok(*root);
        let there: Vec<u32> = roots.iter().filter(still).map(|root| root.pid).collect();
        Self {
            watched: Watched { name, pids },
            members: Members::new(&there, &[std::process::id()]),
            processes: there.iter().map(|pid| (*pid, Process::new(*pid, false))).collect(),
            tree: Tree::default(),
            ended_switches: (0, 0),
            groups,
            own: options.group.clone().map(|group| (group, CgroupCpu::default())),
            lost: Lost::default(),
            ended_busiest: Vec::new(),
            network,
            notes,
            began_ns: 0,
            began_ticks: u64::MAX,
            interval_ns: options.interval_ns.max(1_000_000),
            look_interval_ns: options.look_interval_ns.max(1_000_000),
            sample_due_ns: 0,
            look_due_ns: 0,
            counts_due_ns: 0,
            pss_due_ns: 0,
            threads_due_ns: 0,
            cpu: Cpu::default(),
            rss_peak_bytes: 0,
            cpu_upercent_peak: 0,
            ended_ns: None,
            samples: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The measured part begins.
    pub(super) fn begin(&mut self) {
        self.refresh();
        self.began_ns = clock::now_ns();
        self.began_ticks = ticks_now();
        self.tree.begin();
        self.lost.begin(started());
        if let Some((group, before)) = &mut self.own {
            *before = group.cpu().unwrap_or_default();
        }
        self.ended_busiest.clear();
        self.ended_switches = (0, 0);
        for process in self.processes.values_mut() {
            process.count();
            process.begin();
        }
        self.groups.iter_mut().for_each(Group::begin);
        if let Some(network) = &mut self.network {
            network.before = network.read().unwrap_or(network.before);
        }
        self.cpu = Cpu::default();
        (self.rss_peak_bytes, self.cpu_upercent_peak, self.ended_ns) = (0, 0, None);
        self.samples.clear();
        self.marks.clear();
        self.see_threads(self.began_ns);
        // Walking through all memory holds a server up, which a run should not begin with.
        self.pss_due_ns = self.began_ns + 1;
        self.push(self.began_ns, None, true);
        self.sample_due_ns = self.began_ns + self.interval_ns;
        self.look_due_ns = self.began_ns + self.look_interval_ns;
    }

    /// When something is due.
    pub(super) fn due_ns(&self) -> u64 {
        self.sample_due_ns.min(self.look_due_ns)
    }

    /// Does what is due.
    pub(super) fn turn(&mut self) {
        let now_ns = clock::now_ns();
        if now_ns >= self.sample_due_ns {
            self.sample(Depth::AsPaced);
        } else if now_ns >= self.look_due_ns {
            self.look();
        }
    }

    fn look(&mut self) {
        let cpu_before_ns = clock::thread_cpu_ns();
        for (pid, process) in &mut self.processes {
            if let Some(own) = process.look() {
                self.tree.put_own(*pid, own);
            }
        }
        self.see_memory();
        self.advance_cpu();
        self.mark(clock::now_ns());
        let rest_ns = (clock::thread_cpu_ns() - cpu_before_ns) * RESTS;
        self.see_threads(clock::now_ns());
        self.look_due_ns = clock::now_ns() + rest_ns.max(self.look_interval_ns);
        let is_alive = self.processes.values().any(|process| process.is_alive);
        if !is_alive && self.ended_ns.is_none() {
            self.sample(Depth::AsPaced);
        }
    }

    fn mark(&mut self, now_ns: u64) {
        if self.marks.len() >= MARKS_MAX {
            thin(&mut self.marks);
        }
        self.marks.push(Mark { t_ns: now_ns - self.began_ns, cpu: self.cpu });
    }

    /// Where that is cheap enough by now.
    fn see_threads(&mut self, now_ns: u64) {
        if now_ns < self.threads_due_ns {
            return;
        }
        let cpu_before_ns = clock::thread_cpu_ns();
        self.processes.values_mut().for_each(|process| process.see_threads(now_ns));
        self.threads_due_ns = now_ns + (clock::thread_cpu_ns() - cpu_before_ns) * RESTS;
    }

    fn see_memory(&mut self) {
        let sum = self.processes.values().map(|process| process.rss_bytes).sum();
        self.rss_peak_bytes = self.rss_peak_bytes.max(sum);
    }

    fn sample(&mut self, depth: Depth) {
        let now_ns = clock::now_ns();
        self.refresh();
        let counts = depth == Depth::Whole || now_ns >= self.counts_due_ns;
        if counts {
            let cpu_before_ns = clock::thread_cpu_ns();
            self.processes.values_mut().for_each(Process::count);
            let rest_ns = (clock::thread_cpu_ns() - cpu_before_ns) * RESTS;
            self.counts_due_ns = now_ns + rest_ns;
        }
        let mut pss_bytes = None;
        if depth == Depth::Whole || now_ns >= self.pss_due_ns {
            let cpu_before_ns = clock::thread_cpu_ns();
            pss_bytes = self.pss_bytes();
            let rest_ns = (clock::thread_cpu_ns() - cpu_before_ns) * RESTS;
            self.pss_due_ns = now_ns + rest_ns;
        }
        self.groups.iter_mut().for_each(Group::update);
        self.push(now_ns, pss_bytes, counts);
        self.thin();
        // On the beat of the beginning, however long this took.
        let beats = (now_ns - self.began_ns) / self.interval_ns + 1;
        self.sample_due_ns = self.began_ns + beats * self.interval_ns;
        self.look_due_ns = self.look_due_ns.max(now_ns + self.look_interval_ns);
    }

    /// Reads who is there, and the CPU time, memory and threads of each.
    fn refresh(&mut self) {
        let listed: BTreeSet<u32> = numbers_in("/proc").unwrap_or_default().into_iter().collect();
        let change = self.members.update(&listed, Stat::read);
        let began_ticks = self.began_ticks;
        let grouped = self.own.as_ref().map(|(group, _)| group.processes()).unwrap_or_default();
        let adopted: Vec<u32> =
            grouped.into_iter().filter(|pid| self.members.adopt(*pid)).collect();
        for pid in change.joined.into_iter().chain(adopted) {
            let is_born = Stat::read(pid).is_some_and(|stat| stat.start_ticks >= began_ticks);
            self.processes.insert(pid, Process::new(pid, is_born));
        }
        let mut gone = change.left;
        // Parents first: a child that ends meanwhile is then not in its parent's counter and its
        // own at once.
        let mut order: Vec<(u64, u32)> =
            self.processes.iter().map(|(pid, process)| (process.start_ticks, *pid)).collect();
        order.sort_unstable_by_key(|(start, pid)| {
            (if *start == 0 { u64::MAX } else { *start }, *pid)
        });
        for (known_start, pid) in order {
            let stat = Stat::read(pid).filter(|s| known_start == 0 || s.start_ticks == known_start);
            match (stat, self.processes.get_mut(&pid)) {
                (Some(stat), Some(process)) => {
                    let reading = process.take(&stat);
                    if process.ignores_children {
                        self.lost.ignores(pid);
                    }
                    self.tree.put(pid, reading, stat.start_ticks >= began_ticks);
                }
                _ => gone.push(pid),
            }
        }
        self.forget(&gone);
        self.see_memory();
    }

    fn forget(&mut self, gone: &[u32]) {
        self.tree.end(gone);
        for pid in gone {
            self.see_lost(*pid);
        }
        for pid in gone {
            self.members.forget(*pid);
            let Some(process) = self.processes.remove(pid) else { continue };
            self.ended_switches = sum(self.ended_switches, process.switches.counted());
            let record_bytes = process.rss_record_of_run_bytes();
            self.rss_peak_bytes = self.rss_peak_bytes.max(record_bytes.unwrap_or(0));
            self.ended_busiest.push(process.busy);
        }
        // Of thousands of short-lived ones none was busy for long.
        let half_ns = clock::now_ns().saturating_sub(self.began_ns) / 2;
        self.ended_busiest.retain(|busy| busy.busiest(half_ns).is_some());
    }

    /// Whether a watched process has the time of one that is gone. Of the roots it is
    /// told that they ended.
    fn see_lost(&mut self, pid: u32) {
        let Some(process) = self.processes.get(&pid) else { return };
        match self.processes.get(&process.parent) {
            Some(parent) if parent.ignores_children => self.lost.unasked(process.parent),
            Some(_) => {}
            None if self.watched.pids.contains(&pid) || process.start_ticks == 0 => {}
            None => self.lost.orphaned(pid),
        }
    }

    fn pss_bytes(&mut self) -> Option<u64> {
        let all: Result<Vec<u64>, _> = self.processes.values().map(Process::pss_bytes).collect();
        match all {
            Ok(all) => Some(all.iter().sum()),
            Err(error) => {
                self.notes.insert(format!("proportional memory (PSS) cannot be read: {error}"));
                None
            }
        }
    }

    fn push(&mut self, now_ns: u64, pss_bytes: Option<u64>, counts: bool) {
        let t_ns = now_ns - self.began_ns;
        self.advance_cpu();
        self.mark(now_ns);
        let alive = || self.processes.values().filter(|process| process.is_alive);
        let switches = self.switches().filter(|_| counts);
        let network = self.network_bytes();
        let sample = UsageSample {
            t_ns,
            source: 0,
            cpu_user_ns: self.cpu.user_ns,
            cpu_system_ns: self.cpu.total_ns - self.cpu.user_ns,
            rss_bytes: alive().map(|process| process.rss_bytes).sum(),
            pss_bytes,
            processes: alive().count() as u32,
            threads: alive().map(|process| process.threads).sum(),
            open_files: alive().map(|p| p.open_files).sum::<Option<u64>>().filter(|_| counts),
            voluntary_switches: switches.map(|(voluntary, _)| voluntary),
            involuntary_switches: switches.map(|(_, involuntary)| involuntary),
            network_sent_bytes: network.map(|network| network.sent_bytes),
            network_received_bytes: network.map(|network| network.received_bytes),
        };
        if sample.processes == 0 && self.ended_ns.is_none() {
            self.ended_ns = Some(t_ns);
        }
        self.see_peak(&sample);
        self.samples.push(sample);
    }

    /// By the group's count, where they have one; what it said last where it is gone.
    fn own_used(&self) -> Option<Cpu> {
        let (group, before) = self.own.as_ref()?;
        let less = |now: u64, then: u64| now.saturating_sub(then);
        Some(group.cpu().map_or(self.cpu, |now| Cpu {
            total_ns: less(now.total_ns, before.total_ns),
            user_ns: less(now.user_ns, before.user_ns),
        }))
    }

    /// User and system time are split by ticks, which waver: neither may go back.
    fn advance_cpu(&mut self) {
        let used = self.own_used().unwrap_or_else(|| self.tree.used());
        let total_ns = used.total_ns.max(self.cpu.total_ns);
        let added_ns = total_ns - self.cpu.total_ns;
        let most_ns = self.cpu.user_ns + added_ns;
        let user_ns = used.user_ns.clamp(self.cpu.user_ns, most_ns);
        self.cpu = Cpu { total_ns, user_ns };
    }

    /// A stretch shorter than half an interval is no measure of how busy the processes were.
    fn see_peak(&mut self, sample: &UsageSample) {
        let Some(before) = self.samples.last() else { return };
        let length_ns = sample.t_ns - before.t_ns;
        if length_ns >= self.interval_ns / 2 {
            let used_ns = u128::from(sample.cpu_ns() - before.cpu_ns());
            let upercent = used_ns * 100_000_000 / u128::from(length_ns);
            let upercent = u64::try_from(upercent).unwrap_or(u64::MAX);
            self.cpu_upercent_peak = self.cpu_upercent_peak.max(upercent);
        }
    }

    fn switches(&self) -> Option<Count> {
        let alive = self.processes.values().map(|process| process.switches.counted());
        Some(alive.fold(self.ended_switches, sum))
    }

    fn network_bytes(&self) -> Option<NetworkUsage> {
        let network = self.network.as_ref()?;
        let (received, sent) = network.read()?;
        Some(NetworkUsage {
            sent_bytes: sent.saturating_sub(network.before.1),
            received_bytes: received.saturating_sub(network.before.0),
        })
    }

    fn thin(&mut self) {
        if self.samples.len() < SAMPLES_MAX {
            return;
        }
        thin(&mut self.samples);
        self.interval_ns = self.interval_ns.saturating_mul(2);
    }

    /// The measured part is over.
    pub(super) fn finish(mut self) -> UsageRecord {
        self.sample(Depth::Whole);
        let records = self.processes.values().filter_map(Process::rss_record_of_run_bytes);
        self.rss_peak_bytes = records.fold(self.rss_peak_bytes, u64::max);
        let last = self.samples.last().copied().unwrap_or_default();
        let busy = self.processes.values().map(|process| &process.busy);
        let busy = busy.chain(&self.ended_busiest);
        let busiest = busy.filter_map(|busy| busy.busiest(last.t_ns / 2)).max_by(f64::total_cmp);
        let mut usage = Usage {
            watched: vec![self.watched],
            window_ns: last.t_ns,
            cpu_user_ns: last.cpu_user_ns,
            cpu_system_ns: last.cpu_system_ns,
            cpu_upercent_peak: self.cpu_upercent_peak,
            rss_peak_bytes: self.rss_peak_bytes,
            pss_peak_bytes: self.samples.iter().filter_map(|sample| sample.pss_bytes).max(),
            processes_max: self.samples.iter().map(|sample| sample.processes).max().unwrap_or(0),
            threads_max: self.samples.iter().map(|sample| sample.threads).max().unwrap_or(0),
            open_files_max: self.samples.iter().filter_map(|sample| sample.open_files).max(),
            voluntary_switches: last.voluntary_switches,
            involuntary_switches: last.involuntary_switches,
            network: last
                .network_sent_bytes
                .zip(last.network_received_bytes)
                .map(|(sent_bytes, received_bytes)| NetworkUsage { sent_bytes, received_bytes }),
            cgroups: self.groups.iter().map(Group::usage).collect(),
            ended_ns: self.ended_ns,
            cpu_unknown: self.lost.reason(started()).filter(|_| self.own.is_none()),
            thread_percent_max: busiest.map(|share| share * 100.0),
            notes: self.notes.into_iter().collect(),
            samples: self.samples,
            ..Usage::default()
        };
        if usage.cpu_upercent_peak == 0 {
            // Too short for a stretch of its own: the whole is its busiest.
            let upercent = u128::from(last.cpu_ns()) * 100_000_000 / u128::from(last.t_ns.max(1));
            usage.cpu_upercent_peak = u64::try_from(upercent).unwrap_or(u64::MAX);
        }
        usage.refresh();
        let stretch_ns_min = self.interval_ns / 2;
        UsageRecord { usage, marks: self.marks, began_ns: self.began_ns, stretch_ns_min }
    }
}

/// Leaves every second one out.
fn thin<T>(all: &mut Vec<T>) {
    let mut number = 0;
    all.retain(|_| {
        number += 1;
        number % 2 == 1
    });
}

impl Network {
    /// Received and sent.
    fn read(&self) -> Option<(u64, u64)> {
        interface_bytes(&read(&self.path)?)
    }
}

/// The counters of the namespace that all of these are in, where it is another than the tester's.
fn network(pids: &[u32], notes: &mut BTreeSet<String>) -> Option<Network> {
    let paths: Result<Vec<_>, _> = pids.iter().map(|pid| own_network(*pid)).collect();
    let why = match paths {
        Ok(paths) => match paths.as_slice() {
            [Some(path)] => {
                let mut network = Network { path: path.clone(), before: (0, 0) };
                network.before = network.read()?;
                return Some(network);
            }
            // Where nothing counts their bytes apart, as in most places: no note is needed.
            [None, ..] => return None,
            _ => "there are several roots".to_owned(),
        },
        Err(error) => format!("the network namespace cannot be read: {error}"),
    };
    notes.insert(format!("no network bytes: {why}"));
    None
}
