//! What a script learns of its test, and what its author is warned about while it runs.

use super::World;

/// As in k6 2.2.
#[test]
fn a_script_is_warned_about_what_has_no_effect() {
    const GET: &str = "http.get(url, {}, {}); http.head(url, null, {}); http.get(url, {});";
    for (script, want) in [
        (
            format!(
                "export default function () {{ {GET} }} export const options = {{ vus: 2, iterations: 4 }};"
            ),
            &[
                "http.get(url, params) takes 2 arguments, and was given 3: the others have no effect",
            ][..],
        ),
        ("export default function () { http.post(url, {}, {}, 1); }".to_owned(), &[]),
        (
            "import { WebSocket } from 'k6/experimental/websockets'; export default function () {}
             export const options = { vus: 2, iterations: 2 };"
                .to_owned(),
            &["'k6/experimental/websockets' is deprecated: import 'k6/websockets'"],
        ),
        (
            "import { WebSocket } from 'k6/websockets'; export default function () {}".to_owned(),
            &[],
        ),
        (
            "export const options = { scenarios: { a: { executor: 'constant-vus', vus: 1,
                 duration: '1s', gracefulStop: '0s' } } };
             export default function () {
                 setInterval(() => {}, 300000); setTimeout(() => {}, 200000);
                 clearTimeout(setTimeout(() => {}, 1)); setTimeout(() => {}, 250000);
             }"
            .to_owned(),
            &[
                "setTimeout 2 and 2 other timers stopped: the iteration was interrupted",
                "no iteration has completed: give the test more time",
            ],
        ),
        ("export default function () { setTimeout(() => {}, 10); }".to_owned(), &[]),
    ] {
        let head = "import http from 'k6/http'; const url = `${__ENV.BASE}/status/200`;";
        let world = World::new(&format!("{head} {script}"));
        let finished = world.run(&["-q", "--as-original"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let warnings = finished.stderr.lines().filter(|line| line.contains("level=warning"));
        let warnings: Vec<&str> = warnings.filter_map(|line| line.split("msg=").nth(1)).collect();
        let want: Vec<String> = want.iter().map(|line| format!("{line:?}")).collect();
        assert_eq!(warnings, want, "{script}");
    }
}

#[test]
fn options_are_what_k6_shows() {
    const TAGS: &str = "check error error_code expected_response group method name proto scenario \
                        service status subproto tls_version url";
    for (flags, tags, scenario) in [
        (&[][..], TAGS, "per-vu-iterations null null"),
        (&["--vus", "2", "--iterations", "3"], TAGS, "shared-iterations 2 3"),
        (&["--system-tags", "vu,status"], "status vu", "per-vu-iterations null null"),
    ] {
        let world = World::new(
            "import exec from 'k6/execution';
             export default function () {
                 const { options } = exec.test;
                 const { executor, vus, iterations } = options.scenarios.default;
                 console.log([options.systemTags.join(' '), executor, `${vus}`, `${iterations}`,
                     ['vus', 'duration', 'iterations', 'stages', 'cloud'].filter((n) => n in options),
                     ['localIPs', 'consoleOutput', 'paused'].every((n) => options[n] === null)].join(' '));
             }",
        );
        let finished = world.run(&[&["-q", "--log-format", "raw"], flags].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let first = finished.stderr.lines().next();
        assert_eq!(first, Some(&*format!("{tags} {scenario}  true")), "{flags:?}");
    }
}
