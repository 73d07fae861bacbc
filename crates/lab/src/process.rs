//! Processes that the lab starts: tied to CPUs, signalled, and never left behind.
//!
//! Each is killed by its own id when its owner is dropped, on every path, and by [`kill_all`] when
//! there is no time for that. A process that leads a group takes the group with it, so that its
//! children do not outlive it. Processes that put themselves into another session are held
//! separately: in a control group, or by their ids.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_io::clock;
use plimsoll_io::host::OwnCgroup;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::sample::Root;

/// What must not outlive this program.
#[derive(Debug)]
pub(crate) enum Held {
    /// A child that is not waited for yet, and whether it leads a group.
    Child(Pid, bool),
    /// A process that is no child.
    Other(Root),
    /// A control group with all that is in it.
    Group(Arc<OwnCgroup>),
}

/// All of it. Locked while a child is started and while one is waited for, so that no id of one in
/// it can be another process's.
static RUNNING: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// Adds to what must not outlive this program.
pub(crate) fn hold(held: Held) {
    running().push(held);
}

/// Takes out what is gone.
pub(crate) fn release(is_gone: impl Fn(&Held) -> bool) {
    running().retain(|held| !is_gone(held));
}

/// Sends a signal to a process that is no child, if it is still there.
pub(crate) fn signal_other(root: &Root, signal: Signal) {
    let pid = i32::try_from(root.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| Root::of(root.pid).as_ref() == Ok(root)) {
        // Gone meanwhile is no error.
        let _ = kill_process(pid, signal);
    }
}

fn running() -> MutexGuard<'static, Vec<Held>> {
    // A thread that panicked under the lock left a list of ids that is still right.
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all that were started here, with their groups. For a program that ends now: none is
/// waited for, and none can be started afterwards. Where one is waited for that cannot be killed at
/// all, the others are left after a second, so that the program ends.
pub fn kill_all() {
    for _ in 0..1000 {
        if let Ok(running) = RUNNING.try_lock() {
            for held in &*running {
                match held {
                    Held::Child(pid, leads_group) => kill(*pid, *leads_group),
                    Held::Other(root) => signal_other(root, Signal::KILL),
                    Held::Group(group) => group.remove(),
                }
            }
            std::mem::forget(running);
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// One that is gone is no error.
fn kill(pid: Pid, leads_group: bool) {
    if leads_group {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = kill_process(pid, Signal::KILL);
}

/// Ties the calling thread to CPUs, where there are any.
///
/// # Errors
/// Which cannot be had, and what to do.
pub(crate) fn tie_to(cpus: &[usize]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    clock::pin_to_cpus(cpus).map_err(|error| {
        let numbers: Vec<String> = cpus.iter().map(usize::to_string).collect();
        io::Error::new(
            error.kind(),
            format!(
                "it cannot be tied to CPU {}: {error}: change server_cpus, tester_cpus or cpus",
                numbers.join(",")
            ),
        )
    })
}

/// A child that does not outlive this value.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The exit, once waited for.
    status: Option<ExitStatus>,
    leads_group: bool,
}

/// How long to sleep between two looks at a process.
const LOOK: Duration = Duration::from_millis(1);

impl Process {
    /// Starts it, bound to these CPUs where there are any.
    ///
    /// # Errors
    /// Those of starting a process and of binding it.
    pub fn start(command: Command, cpus: &[usize]) -> io::Result<Self> {
        Self::spawn(command, cpus, false)
    }

    /// Starts it as the leader of a group of its own, which ends with it: its children are killed
    /// too, and Ctrl-C on the terminal reaches none of them.
    ///
    /// # Errors
    /// Those of starting a process and of binding it.
    pub fn start_group(mut command: Command, cpus: &[usize]) -> io::Result<Self> {
        command.process_group(0);
        Self::spawn(command, cpus, true)
    }

    fn spawn(mut command: Command, cpus: &[usize], leads_group: bool) -> io::Result<Self> {
        let cpus = cpus.to_vec();
        let mut running = running();
        // A child takes over the CPUs of the thread that starts it.
        let child = std::thread::spawn(move || {
            tie_to(&cpus)?;
            command.spawn()
        })
        .join()
        .map_err(|_| io::Error::other("the thread that starts processes panicked"))??;
        running.push(Held::Child(Pid::from_child(&child), leads_group));
        Ok(Self { child, status: None, leads_group })
    }

    /// The child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal; one to a process that has ended is lost.
    pub fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            // Gone already is no error: it is not waited for yet, so the id is still its own.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }

    /// Whether it has ended. Its usage can still be read until it is waited for.
    ///
    /// # Errors
    /// Those of `waitid`.
    pub fn has_ended(&self) -> io::Result<bool> {
        Ok(self.peek()?.is_some())
    }

    /// How it ended, without waiting for it: its group lives on. `None`: it has not; otherwise its
    /// exit code, none where a signal ended it.
    ///
    /// # Errors
    /// Those of `waitid`.
    pub fn peek(&self) -> io::Result<Option<Option<i32>>> {
        if let Some(status) = self.status {
            return Ok(Some(status.code()));
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?;
        Ok(ended.map(|status| status.exit_status()))
    }

    /// Waits for its end up to a limit, then kills it. `None`: it had to be killed.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn finish(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let until_ns = clock::now_ns().saturating_add(limit.as_nanos() as u64);
        while !self.has_ended()? {
            if clock::now_ns() >= until_ns {
                self.kill()?;
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
        self.wait().map(Some)
    }

    /// Kills it, with its group where it leads one, and waits for it.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn kill(&mut self) -> io::Result<()> {
        self.wait().map(drop)
    }

    /// Its exit, after which nothing of it is left.
    fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let mut running = running();
        // Before it is waited for: afterwards its id might be another's.
        let pid = Pid::from_child(&self.child);
        kill(pid, self.leads_group);
        let status = self.child.wait()?;
        running.retain(|held| !matches!(held, Held::Child(other, _) if *other == pid));
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ended by itself, or it is beyond reach.
        let _ = self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn sh(script: &str) -> Process {
        Process::start(command(script), &[]).unwrap()
    }

    #[test]
    fn an_end_is_waited_for_and_a_hang_is_not() {
        let mut ends = sh("exit 3");
        assert_eq!(ends.finish(Duration::from_secs(60)).unwrap().unwrap().code(), Some(3));
        assert!(ends.has_ended().unwrap());
        assert_eq!(ends.peek().unwrap(), Some(Some(3)));
        let mut hangs = sh("while :; do sleep 1; done");
        assert!(hangs.finish(Duration::from_millis(20)).unwrap().is_none());
    }

    #[test]
    fn a_process_can_be_stopped_and_is_killed_all_the_same() {
        let process = sh("while :; do sleep 1; done");
        let pid = Pid::from_child(&process.child);
        process.signal(Signal::STOP);
        drop(process);
        assert!(kill_process(pid, Signal::CONT).is_err(), "it is gone and waited for");
    }

    #[test]
    fn children_do_not_outlive_the_leader_of_their_group() {
        use std::io::Read as _;
        // The children hold the pipe open: it ends when all of them are gone.
        for script in
            ["sleep 1000 & sleep 1000 & echo x; exit 0", "sleep 1000 & echo x; sleep 1000"]
        {
            let mut command = command(script);
            command.stdout(std::process::Stdio::piped());
            let mut leader = Process::start_group(command, &[]).unwrap();
            let mut pipe = leader.child().stdout.take().unwrap();
            let mut first = [0; 2];
            pipe.read_exact(&mut first).unwrap();
            leader.finish(Duration::from_millis(50)).unwrap();
            assert_eq!(pipe.read_to_end(&mut Vec::new()).unwrap(), 0, "{script}");
        }
    }
}
