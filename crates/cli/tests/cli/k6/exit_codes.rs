//! How a run ends is in its exit code.

use super::World;
use crate::support::run;

#[test]
fn how_a_run_ends_is_in_its_exit_code() {
    let empty = "export default function () {}";
    let thresholds = |list: &str| {
        format!("export const options = {{ thresholds: {{ iterations: [{list}] }} }}; {empty}")
    };
    let throws = "throw new Error('boom');";
    let aborts = "{ threshold: 'count<1', abortOnFail: true }";
    let endless = "import { sleep } from 'k6'; export default function () { sleep(0.01); }";
    let life = |options: &str, setup: &str, teardown: &str| {
        format!(
            "import {{ sleep }} from 'k6'; export const options = {{ {options} }};
             export function setup() {{ {setup} }} export function teardown() {{ {teardown} }}
             {empty}"
        )
    };
    let exec = |call: &str| {
        format!("import exec from 'k6/execution'; export default function () {{ {call} }}")
    };
    let world = World::new(empty);
    for (script, flags, code, says) in [
        (empty.to_owned(), &[][..], 0, ""),
        (thresholds("'count==1'"), &[], 0, ""),
        (thresholds("'count>1'"), &[], 99, "thresholds on metrics 'iterations' have been crossed"),
        (thresholds("'count>1'"), &["--no-thresholds"], 0, ""),
        (
            format!("{} {endless}", thresholds(aborts).replace(empty, "")),
            &["-d", "60s"],
            99,
            "were crossed; one of them ended the test",
        ),
        (thresholds("'rite>1'"), &[], 104, "'rite' of 'rite>1' is not one of"),
        (life("setupTimeout: '100ms'", "sleep(60)", ""), &[], 100, "setup() execution timed out"),
        (life("teardownTimeout: '100ms'", "", "sleep(60)"), &[], 101, "teardown() execution timed"),
        (life("", throws, "console.log('unreached')"), &[], 107, "Error: boom"),
        (life("", "", throws), &[], 107, "Error: boom"),
        (throws.to_owned(), &[], 107, "Error: boom"),
        ("export default function (".to_owned(), &[], 107, "SyntaxError"),
        (format!("export default function () {{ {throws} }}"), &[], 0, "source=stacktrace"),
        (exec("exec.test.abort('enough')"), &[], 108, "test aborted: enough"),
        (exec("exec.test.fail('bad')"), &[], 110, "test run was marked as failed"),
        // Of several reasons: what ended the test, exceptions, `test.fail()`, thresholds.
        (exec("exec.test.fail('bad'); exec.test.abort('enough')"), &[], 108, "marked as failed"),
        (
            format!(
                "{} export function teardown() {{ {throws} }}",
                exec("exec.test.abort('enough')")
            ),
            &[],
            108,
            "Error: boom",
        ),
        (
            format!("{} export function teardown() {{ {throws} }}", exec("exec.test.fail('x')")),
            &[],
            107,
            "marked as failed",
        ),
        (
            format!(
                "{} {}",
                thresholds("'count>1'").replace(empty, ""),
                exec("exec.test.fail('bad')")
            ),
            &[],
            110,
            "have been crossed",
        ),
        (
            format!(
                "export const options = {{ scenarios: {{ a: {{ executor: 'shared-iterations', \
                 exec: 'nope' }} }} }}; {empty}"
            ),
            &[],
            104,
            "scenario 'a' calls 'nope'",
        ),
        (
            format!("export const options = {{ vus: 0 }}; {empty}"),
            &[],
            104,
            "scenario 'default': vus is 0",
        ),
        (empty.to_owned(), &["--vus", "0"], 104, "scenario 'default': vus is 0"),
        ("export const options = {};".to_owned(), &[], 255, "the script exports no functions"),
        (
            format!(
                "export const options = {{ tlsAuth: [{{ cert: '-----BEGIN CERTIFICATE-----', \
                 key: '-----BEGIN PRIVATE KEY-----' }}] }}; {empty}"
            ),
            &[],
            104,
            "tlsAuth: ",
        ),
        (
            empty.to_owned(),
            &["--compatibility-mode", "experimental_enhanced"],
            0,
            "'experimental_enhanced' is deprecated",
        ),
        (empty.to_owned(), &["--features", "freeze-env"], 0, "feature 'freeze-env' has no effect"),
        (empty.to_owned(), &["--features", "mine"], 0, "'mine' is not a feature of k6"),
        (
            format!("export const options = {{ features: ['a'] }}; {empty}"),
            &[],
            0,
            "features in the options of a script have no effect",
        ),
        (
            format!(
                "export const options = {{ thresholds: {{ 'iterations{{vu:1}}': [] }} }}; {empty}"
            ),
            &[],
            0,
            "'vu' is not a tag that thresholds see",
        ),
        (empty.to_owned(), &["--profiling-enabled"], 0, "--profiling-enabled has no effect"),
        // What a later VU says while it is initialised.
        (
            format!(
                "import exec from 'k6/execution'; export const options = {{ vus: 2 }};
                 if (__VU === 2) exec.test.abort('later'); {empty}
                 export function handleSummary() {{ return {{ stderr: 'handled' }} }}"
            ),
            &[],
            108,
            "handled",
        ),
        (
            format!(
                "export const options = {{ vus: 2 }}; if (__VU === 2) {throws} {empty}
                 export function handleSummary() {{ return {{ stderr: 'handled' }} }}"
            ),
            &[],
            107,
            "handled",
        ),
        (
            format!("export const options = () => ({{}}); {empty}"),
            &[],
            255,
            "the options of the script are a function",
        ),
        ("export const options = { vus: 'x' };".to_owned(), &[], 104, "'x' is not a whole number"),
        (
            format!(
                "export const options = {{ tlsVersion: 'tls1.2', \
                 tlsCipherSuites: ['TLS_RSA_WITH_AES_128_GCM_SHA256'] }}; {empty}"
            ),
            &[],
            104,
            "of the cipher suites of TLS 1.2 that are named, none can be offered",
        ),
        (empty.to_owned(), &["--vus", "x"], 255, "--vus: 'x' is not a whole number"),
        (empty.to_owned(), &["--bogus"], 255, "unexpected argument '--bogus' found"),
        (empty.to_owned(), &["-o", "nope"], 255, "output 'nope' is not supported"),
        (empty.to_owned(), &["-o", "web-dashboard"], 255, "K6_WEB_DASHBOARD_EXPORT=FILE"),
        (empty.to_owned(), &["--http-debug"], 0, ""),
        (empty.to_owned(), &["--paused"], 104, "nothing could resume a test that starts paused"),
        (empty.to_owned(), &["--address", "nonsense"], 106, "REST interface cannot listen"),
        (empty.to_owned(), &["--config", "nope.json"], 104, "cannot read the configuration"),
        (empty.to_owned(), &["second.js"], 255, "2 scripts are given"),
    ] {
        std::fs::write(world.path("script.js"), &script).expect("a script");
        let finished = world.run(flags);
        assert_eq!(finished.code, Some(code), "{script}: {finished:?}");
        assert!(finished.stderr.contains(says), "{script}: {says}: {}", finished.stderr);
        assert!(!finished.stderr.contains("unreached"), "{script}: {}", finished.stderr);
        assert!(!finished.stderr.contains("panicked"), "{script}: {}", finished.stderr);
    }
    for (words, says) in [
        (&["run", "no/such.js"][..], "cannot read the script 'no/such.js'"),
        (&["run", "no/such.tar"], "archives are not supported"),
        (&["cloud", "run", "script.js"], "k6's command 'cloud' is not supported: "),
        (&["new", "--template", "browser"], "template 'browser' is not supported: "),
    ] {
        let missing = run(&mut world.k6(words));
        assert_eq!(missing.code, Some(255), "{missing:?}");
        assert!(missing.stderr.contains(says), "{missing:?}");
    }
}
