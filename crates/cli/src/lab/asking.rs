//! Asks on a terminal whether to go on with a host that is unfit. Elsewhere nobody can answer, and
//! the lab stops.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::message;

/// How often a signal is looked for while nobody answers.
const LOOKS: Duration = Duration::from_millis(50);

/// Whether to go on, by the person at the terminal; `stop` is set by Ctrl-C.
pub(super) fn goes_on(why: &str, stop: &AtomicBool) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    message::show(&format!("{why}\ngo on anyway? [y/N]"));
    let (sender, answers) = mpsc::channel();
    // The thread waits for a line even after a signal; it ends with the program.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        // If nobody waits for the answer any more, it does not matter.
        let _ = sender.send(read.is_ok() && is_yes(&line));
    });
    loop {
        match answers.recv_timeout(LOOKS) {
            Ok(answer) => return answer,
            Err(mpsc::RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return false,
        }
    }
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_goes_on() {
        for (line, want) in [
            ("y\n", true),
            ("Yes\n", true),
            (" y ", true),
            ("n\n", false),
            ("\n", false),
            ("", false),
            ("yep", false),
        ] {
            assert_eq!(is_yes(line), want, "{line:?}");
        }
    }
}
