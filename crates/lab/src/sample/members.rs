//! Which processes belong to the watched tree: the roots, their descendants, and processes in a
//! session or process group that one of those leads. The last rule finds the children of a process
//! that ended before it was seen: they have another parent by then, but the same group.
//!
//! The decision is made once, when a process id first appears, so that a machine full of other
//! processes costs no more than a look at the list of ids.

use std::collections::{BTreeMap, BTreeSet};

use super::readings::Stat;

/// Who belongs.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Every process there is, and whether it belongs.
    known: BTreeMap<u32, bool>,
    /// All that ever belonged: sessions and groups have the number of who leads them.
    leaders: BTreeSet<u32>,
}

/// What changed in the list of processes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Processes that belong and were not there before.
    pub joined: Vec<u32>,
    /// Processes that belonged and are not there any more.
    pub left: Vec<u32>,
}

impl Members {
    /// Members, `roots` at first. Those in `strangers` never belong.
    pub(super) fn new(roots: &[u32], strangers: &[u32]) -> Self {
        let mut members = Self::default();
        members.known.extend(strangers.iter().map(|pid| (*pid, false)));
        members.known.extend(roots.iter().map(|pid| (*pid, true)));
        members.leaders.extend(roots);
        members
    }

    /// Takes the list of all processes; `stat` is asked for those that were not in it before.
    pub(super) fn update(
        &mut self,
        listed: &BTreeSet<u32>,
        mut stat: impl FnMut(u32) -> Option<Stat>,
    ) -> Change {
        let mut change = Change::default();
        self.known.retain(|pid, belongs| {
            let stays = listed.contains(pid);
            if !stays && *belongs {
                change.left.push(*pid);
            }
            stays
        });
        let new = listed.iter().filter(|pid| !self.known.contains_key(pid));
        let mut candidates: Vec<(u32, Stat)> = new
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|p| Some((p, stat(p)?)))
            .collect();
        loop {
            let (joining, rest): (Vec<_>, Vec<_>) =
                candidates.into_iter().partition(|(_, stat)| self.belongs(stat));
            if joining.is_empty() {
                self.known.extend(rest.into_iter().map(|(pid, _)| (pid, false)));
                return change;
            }
            for (pid, _) in joining {
                self.known.insert(pid, true);
                self.leaders.insert(pid);
                change.joined.push(pid);
            }
            candidates = rest;
        }
    }

    /// Takes in a process that is known from elsewhere to belong. Whether it was not in before.
    pub(super) fn adopt(&mut self, pid: u32) -> bool {
        let is_new = self.known.insert(pid, true) != Some(true);
        self.leaders.insert(pid);
        is_new
    }

    /// Forgets a number: what has it next is looked at anew.
    pub(super) fn forget(&mut self, pid: u32) {
        self.known.remove(&pid);
    }

    fn belongs(&self, stat: &Stat) -> bool {
        self.known.get(&stat.parent) == Some(&true)
            || self.leaders.contains(&stat.session)
            || self.leaders.contains(&stat.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, parent, group and session.
    type Row = (u32, u32, u32, u32);

    fn update(members: &mut Members, rows: &[Row]) -> (Vec<u32>, Vec<u32>) {
        let listed = rows.iter().map(|row| row.0).collect();
        let change = members.update(&listed, |pid| {
            let (_, parent, group, session) = *rows.iter().find(|row| row.0 == pid)?;
            let text = format!(
                "{pid} (a) S {parent} {group} {session} 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0"
            );
            Stat::parse(&text)
        });
        (change.joined, change.left)
    }

    const SHELL: Row = (5, 1, 5, 5);
    const TESTER: Row = (9, 5, 9, 5);
    const MASTER: Row = (10, 5, 10, 5);

    #[test]
    fn descendants_belong_however_they_are_listed() {
        let mut members = Members::new(&[10], &[9]);
        // A grandchild with a lower number than its parent: numbers wrap around.
        let rows = [SHELL, TESTER, MASTER, (7, 30, 7, 5), (30, 10, 10, 5), (40, 5, 40, 5)];
        assert_eq!(update(&mut members, &rows), (vec![30, 7], vec![]));
        let rows = [SHELL, TESTER, MASTER, (30, 10, 10, 5), (41, 9, 9, 5), (42, 7, 7, 5)];
        // 7 left, but what it led stays ours.
        assert_eq!(update(&mut members, &rows), (vec![42], vec![7]));
        assert_eq!(update(&mut members, &rows), (vec![], vec![]));
    }

    #[test]
    fn what_a_process_unseen_left_behind_is_found_by_group_and_session() {
        let mut members = Members::new(&[10], &[9]);
        // 20 was started by 11, a child of 10 that ended before it was seen.
        let rows =
            [SHELL, TESTER, (10, 1, 10, 10), (20, 1, 11, 10), (21, 1, 10, 7), (22, 1, 22, 22)];
        assert_eq!(update(&mut members, &rows), (vec![20, 21], vec![]));
    }

    #[test]
    fn who_is_adopted_belongs_with_descendants() {
        let mut members = Members::new(&[10], &[9]);
        let daemon = (20, 1, 20, 20);
        assert_eq!(update(&mut members, &[MASTER, daemon]), (vec![], vec![]));
        assert!(members.adopt(20) && !members.adopt(20));
        assert_eq!(update(&mut members, &[MASTER, daemon, (21, 20, 20, 20)]), (vec![21], vec![]));
        assert_eq!(update(&mut members, &[MASTER]), (vec![], vec![20, 21]));
    }

    #[test]
    fn the_tester_never_belongs() {
        // Not even when the shell that started it is watched.
        let mut members = Members::new(&[5], &[9]);
        assert_eq!(update(&mut members, &[SHELL, TESTER, MASTER]), (vec![10], vec![]));
    }
}
