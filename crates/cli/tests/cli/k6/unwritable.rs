//! Places that `plimsoll k6` cannot write to: `/dev/full` takes no byte. Nothing is lost in
//! silence, and the exit code is k6's.

use std::fs::File;
use std::process::Command;

use super::World;

const SCRIPT: &str = "export default function () { console.log('said'); }";

const MADE: &str = "export default function () {}
    export const handleSummary = () => ({ stdout: 'made', 'made.txt': 'made' });";

#[test]
fn a_line_says_what_could_not_be_written() {
    let full = "No space left on device";
    let world = World::new(SCRIPT);
    std::fs::write(world.path("made.js"), MADE).expect("a script");
    for (arguments, code, says) in [
        (&["run", "script.js"][..], 0, "cannot write the summary to 'stdout'"),
        (&["run", "-q", "made.js"], 0, "cannot write the summary to 'stdout'"),
        (
            &["run", "--summary-export", "/dev/full", "script.js"],
            0,
            "cannot write the summary to '/dev/full'",
        ),
        (&["run", "--console-output", "/dev/full", "script.js"], 0, "the log cannot be written"),
        (&["run", "--log-output", "file=/dev/full", "script.js"], 0, "the log cannot be written"),
        (&["run", "-o", "json=/dev/full", "script.js"], 255, "the outputs cannot be written"),
        (&["inspect", "script.js"], 255, "cannot write to stdout"),
        (&["new", "new.js"], 255, "cannot write to stdout"),
    ] {
        let stdout = File::options().write(true).open("/dev/full").expect("a device");
        let output = world.k6(arguments).stdout(stdout).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        let lines = stderr.lines().filter(|line| line.contains(says) && line.contains(full));
        assert_eq!(lines.count(), 1, "{arguments:?}: {says}: {stderr}");
    }
    assert_eq!(world.read("made.txt"), "made", "the other places are written");
}

/// A file may have 512 bytes, and each of these is longer.
#[test]
fn a_file_that_may_not_be_written_whole_stays_as_it_was() {
    let world = World::new(SCRIPT);
    let long = "export default function () {}
        export const handleSummary = () => ({ 'long.txt': 'x'.repeat(2000), 'short.txt': 'x' });";
    std::fs::write(world.path("long.js"), long).expect("a script");
    for (arguments, file) in [
        (&["run", "--summary-export", "summary.json", "script.js"][..], "summary.json"),
        (&["run", "long.js"], "long.txt"),
        (&["run", "script.js"], "report.html"),
    ] {
        std::fs::write(world.path(file), "earlier").expect("an earlier file");
        let k6 = world.k6(arguments);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]).arg(k6.get_program());
        limited.args(k6.get_args()).current_dir(k6.get_current_dir().expect("its folder"));
        if file == "report.html" {
            limited.env("K6_WEB_DASHBOARD", "true").env("K6_WEB_DASHBOARD_EXPORT", file);
        }
        let output = limited.output().expect("a shell");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{file}: {stderr}");
        let is_told = |line: &str| line.contains(file) && line.contains("ulimit -f");
        assert_eq!(stderr.lines().filter(|line| is_told(line)).count(), 1, "{stderr}");
        assert_eq!(world.read(file), "earlier");
    }
    assert_eq!(world.read("short.txt"), "x");
}
