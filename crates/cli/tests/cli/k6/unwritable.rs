//! Places that `plimsoll k6` cannot write to: `/dev/full` takes no byte. Nothing is lost in
//! silence, and the exit code is k6's.

use std::fs::File;

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
