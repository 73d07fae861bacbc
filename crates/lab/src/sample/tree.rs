//! The CPU time of a tree of processes, with nothing lost and nothing counted twice.
//!
//! A process that ends takes its counters with it. When its parent waits for it, the kernel adds
//! the child's time, and what the child had from its own children, to a counter of the parent. So
//! the sum over the living processes, of what they used and what they have from children, stays
//! right. It does not if nobody waits (a parent that ignores SIGCHLD) or if a process outside the
//! tree does (a daemon whose parent has gone). So each parent is credited with what its children
//! had when they were last seen, or with the rise of its own counter, whichever is more. Time that
//! no process in the tree can be credited with is kept apart.
//!
//! Time from before the measured part is subtracted where it was counted, and again where it
//! reappears in a parent's counter.
//!
//! Plain arithmetic on readings; `watch` does the reading.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cpu {
    pub total_ns: u64,
    /// Of it, in user mode.
    pub user_ns: u64,
}

impl AddAssign for Cpu {
    fn add_assign(&mut self, other: Self) {
        self.total_ns += other.total_ns;
        self.user_ns += other.user_ns;
    }
}

impl Cpu {
    fn less(self, other: Self) -> Self {
        Self {
            total_ns: self.total_ns.saturating_sub(other.total_ns),
            user_ns: self.user_ns.saturating_sub(other.user_ns),
        }
    }
}

/// What was read of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub parent: u32,
    /// In ticks of [`Stat::start_ticks`](super::readings::Stat::start_ticks).
    pub start_ticks: u64,
    /// Its own time.
    pub own: Cpu,
    /// What it has from children.
    pub reaped: Cpu,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    last: Reading,
    /// Its own time before the measured part.
    own_before: Cpu,
    /// What it had from children before.
    reaped_before: Cpu,
    /// Of what it has from children since, what those had used before.
    inherited_before: Cpu,
    /// What children that have ended are known to have used.
    ended: Cpu,
}

impl Node {
    fn new(last: Reading, is_born: bool) -> Self {
        let before = |cpu: Cpu| if is_born { Cpu::default() } else { cpu };
        Self {
            last,
            own_before: before(last.own),
            reaped_before: before(last.reaped),
            inherited_before: Cpu::default(),
            ended: Cpu::default(),
        }
    }

    /// What it and its ended children used in the measured part.
    fn used(&self) -> Cpu {
        let reaped = self.last.reaped.less(self.reaped_before).less(self.inherited_before);
        let mut used = self.last.own.less(self.own_before);
        used += if reaped.total_ns >= self.ended.total_ns { reaped } else { self.ended };
        used
    }
}

/// The processes of a tree, by number.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<u32, Node>,
    /// Of processes that have ended and whose parent is not in the tree.
    ended: Cpu,
}

impl Tree {
    /// Starts over: what was used until now is before the measured part.
    pub(super) fn begin(&mut self) {
        self.ended = Cpu::default();
        for node in self.nodes.values_mut() {
            *node = Node::new(node.last, false);
        }
    }

    /// Takes a reading of a process. One that is new counts from its start if that `is_born` in
    /// the measured part, else from now on.
    pub(super) fn put(&mut self, pid: u32, reading: Reading, is_born: bool) {
        match self.nodes.get_mut(&pid) {
            Some(node) if node.last.start_ticks == reading.start_ticks => node.last = reading,
            _ => {
                self.end(&[pid]);
                self.nodes.insert(pid, Node::new(reading, is_born));
            }
        }
    }

    /// Takes a process's own time alone.
    pub(super) fn put_own(&mut self, pid: u32, own: Cpu) {
        if let Some(node) = self.nodes.get_mut(&pid) {
            node.last.own = own;
        }
    }

    /// Notes that processes have ended. The counters of parents that are still there have to be
    /// put in the same turn.
    pub(super) fn end(&mut self, pids: &[u32]) {
        let mut ended: Vec<u32> =
            pids.iter().copied().filter(|pid| self.nodes.contains_key(pid)).collect();
        // Children before their parents, who hand on what they have.
        ended.sort_by_key(|pid| std::cmp::Reverse((self.nodes[pid].last.start_ticks, *pid)));
        for pid in ended {
            let Some(node) = self.nodes.remove(&pid) else { continue };
            let used = node.used();
            match self.nodes.get_mut(&node.last.parent) {
                None => self.ended += used,
                Some(parent) => {
                    parent.ended += used;
                    parent.inherited_before += node.own_before;
                    parent.inherited_before += node.reaped_before;
                    parent.inherited_before += node.inherited_before;
                }
            }
        }
    }

    /// What the tree has used in the measured part.
    pub(super) fn used(&self) -> Cpu {
        self.nodes.values().fold(self.ended, |mut sum, node| {
            sum += node.used();
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(total_ns: u64) -> Cpu {
        Cpu { total_ns, user_ns: total_ns / 2 }
    }

    fn reading(parent: u32, own: u64, reaped: u64) -> Reading {
        Reading { parent, start_ticks: 1, own: cpu(own), reaped: cpu(reaped) }
    }

    /// Master 10 with workers 11 and 12, which used 100 each before.
    fn server() -> Tree {
        let mut tree = Tree::default();
        tree.put(10, reading(1, 50, 30), false);
        tree.put(11, reading(10, 100, 0), false);
        tree.put(12, reading(10, 100, 0), false);
        tree.begin();
        tree
    }

    #[test]
    fn what_was_used_before_is_no_ones() {
        let mut tree = server();
        assert_eq!(tree.used(), Cpu::default());
        tree.put(11, reading(10, 140, 0), false);
        tree.put(10, reading(1, 52, 30), false);
        assert_eq!(tree.used(), Cpu { total_ns: 42, user_ns: 21 });
        tree.begin();
        assert_eq!(tree.used(), Cpu::default());
    }

    #[test]
    fn a_worker_that_ends_is_counted_once() {
        for (name, reaped, want) in [
            ("waited for: its 100 of before come up too, and 5 after it was last seen", 175, 45),
            ("nobody asked", 30, 40),
        ] {
            let mut tree = server();
            tree.put(11, reading(10, 140, 0), false);
            tree.put(10, reading(1, 50, reaped), false);
            tree.end(&[11]);
            assert_eq!(tree.used().total_ns, want, "{name}");
        }
    }

    #[test]
    fn children_nobody_saw_are_in_their_parents_counter() {
        let mut tree = server();
        tree.put(12, reading(10, 100, 70), false);
        assert_eq!(tree.used().total_ns, 70);
        // It ends itself: all it used and had, before and since, goes to the master.
        tree.put(10, reading(1, 50, 30 + 100 + 75), false);
        tree.end(&[12]);
        assert_eq!(tree.used().total_ns, 75);
    }

    #[test]
    fn whole_branches_end_at_once() {
        let mut tree = server();
        tree.put(13, Reading { start_ticks: 2, ..reading(11, 9, 0) }, true);
        tree.put(11, reading(10, 120, 0), false);
        tree.end(&[10, 11, 12, 13]);
        assert_eq!(tree.used().total_ns, 20 + 9);
        tree.end(&[10, 99]);
        assert_eq!(tree.used().total_ns, 29);
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let mut tree = server();
        tree.put(11, reading(10, 110, 0), false);
        tree.put(11, Reading { start_ticks: 9, ..reading(10, 3, 0) }, true);
        assert_eq!(tree.used().total_ns, 10 + 3);
    }

    #[test]
    fn one_that_was_there_before_and_is_found_late_counts_from_then() {
        let mut tree = server();
        tree.put(20, reading(10, 500, 500), false);
        assert_eq!(tree.used().total_ns, 0);
        tree.put(20, reading(10, 507, 500), false);
        assert_eq!(tree.used().total_ns, 7);
    }
}
