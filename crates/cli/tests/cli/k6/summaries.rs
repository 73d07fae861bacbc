//! Summaries that a script makes, and the report in place of k6's dashboard.

use serde_json::Value;

use super::World;
use crate::support::run;

#[test]
fn a_script_may_make_the_summary() {
    let world = World::new(
        "export const options = { iterations: 3 };
         export default function () {}
         export function handleSummary(data) {
           return { stdout: `did ${data.metrics.iterations.values.count}\\n`, stderr: 'there\\n',
                    'out.json': JSON.stringify(data), 'no/such/folder': 'x' };
         }",
    );
    let finished = world.run(&["-q"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "did 3\n"), "{finished:?}");
    assert!(finished.stderr.contains("there\n"), "{}", finished.stderr);
    assert!(finished.stderr.contains("cannot write the summary to 'no/such/folder'"));
    let data: Value = serde_json::from_str(&world.read("out.json")).expect("JSON");
    assert_eq!(data["metrics"]["iterations"]["type"], "counter");
    assert_eq!(data["state"]["isStdOutTTY"], false);
    std::fs::remove_file(world.path("out.json")).expect("it was written");
    let none = world.run(&["-q", "--summary-mode", "disabled", "--summary-export", "none.json"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""), "{none:?}");
    assert!(!world.path("out.json").exists() && !world.path("none.json").exists());
    let newer = run(&mut world.k6(&["run", "-q", "--new-machine-readable-summary", "script.js"]));
    assert!(newer.stderr.contains("handleSummary() failed"), "{newer:?}");
    assert!(newer.stdout.contains("TOTAL RESULTS"), "{newer:?}");
}

/// What the function returns decides what is printed, and the export has what it left of the data.
#[test]
fn a_summary_is_what_the_function_makes_of_it() {
    let world = World::new("");
    let usual = "TOTAL RESULTS";
    // What the function does, whether the usual summary is printed, whether there is an export with
    // its changes, and what the log says.
    for (does, is_usual, exports, says) in [
        ("return {};", false, true, ""),
        ("return;", true, true, ""),
        ("return '';", true, true, ""),
        ("return { stdout: 5 };", false, false, "for 'stdout'"),
        ("return 'text';", false, false, "has to return an object"),
        ("sleep(60);", false, false, "so there is no summary: handleSummary() execution timed out"),
    ] {
        let script = format!(
            "import {{ sleep }} from 'k6';
             export const options = {{ handleSummaryTimeout: '1s' }};
             export default function () {{}}
             export function handleSummary(data) {{
               data.metrics.iterations.values.count = 77; data.mine = [1]; {does} }}"
        );
        std::fs::write(world.path("script.js"), script).expect("a script");
        drop(std::fs::remove_file(world.path("out.json")));
        let finished = world.run(&["-q", "--summary-export", "out.json"]);
        assert_eq!(finished.code, Some(0), "{does}: {finished:?}");
        assert_eq!(finished.stdout.contains(usual), is_usual, "{does}: {finished:?}");
        assert!(is_usual || finished.stdout.is_empty(), "{does}: {finished:?}");
        assert!(finished.stderr.contains(says), "{does}: {finished:?}");
        assert_eq!(world.path("out.json").exists(), exports, "{does}");
        if exports {
            let export: Value = serde_json::from_str(&world.read("out.json")).expect("JSON");
            assert_eq!(export["metrics"]["iterations"]["count"], 77, "{does}: {export}");
            assert_eq!(export["mine"], serde_json::json!([1]), "{does}: {export}");
            assert!(export.get("state").is_none(), "{does}: {export}");
        }
    }
}

#[test]
fn a_report_stands_in_for_the_dashboard() {
    let world = World::new("export default function () {}");
    for (variables, warns, writes) in [
        (&[("K6_WEB_DASHBOARD", "true")][..], true, false),
        (&[("K6_WEB_DASHBOARD", "true"), ("K6_WEB_DASHBOARD_EXPORT", "r.html")], true, true),
        (&[("K6_WEB_DASHBOARD", "false"), ("K6_WEB_DASHBOARD_EXPORT", "r.html")], false, true),
    ] {
        drop(std::fs::remove_file(world.path("r.html")));
        let mut command = world.k6(&["run", "-q", "script.js"]);
        let finished = run(command.envs(variables.iter().copied()));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stdout.contains("iterations...........: 1"), "{finished:?}");
        let warned = finished.stderr.contains("K6_WEB_DASHBOARD serves no page here");
        assert_eq!(warned, warns, "{finished:?}");
        let told = finished.stderr.contains("plimsoll's report is in 'r.html'");
        assert_eq!((told, world.path("r.html").exists()), (writes, writes), "{finished:?}");
        assert!(!writes || world.read("r.html").contains("<html"));
    }
    let unwritable =
        run(world.k6(&["run", "-q", "script.js"]).env("K6_WEB_DASHBOARD_EXPORT", "no/such/r.html"));
    assert!(
        unwritable.stderr.contains("cannot write the report 'no/such/r.html'"),
        "{unwritable:?}"
    );
}
