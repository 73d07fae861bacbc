//! A suite that can be read, mistakes in others, and placeholders.

use std::path::Path;

use super::*;

const GOOD: &str = r#"
name = "echo"
repeats = 3
warmup = "500ms"
server_cpus = "0"
tester_cpus = "1-2"
baseline = "nginx"
columns = ["rate", "p99/p50"]

[[servers]]
name = "nginx"
requires = ["nginx"]
command = "nginx -c {work}/nginx.conf -g 'daemon off;'"
files = { "{work}/nginx.conf" = "nginx.conf" }
ready = { http = "/", status = 204, timeout = "5s" }
expect = ["status=200", "body*=hello"]
with = ["backend"]

[[servers]]
name = "own"
command = "{plimsoll} serve --listen 127.0.0.1:{port}"
stop = "INT"
cpus = "3"

[[services]]
name = "backend"
command = "x"

[[loads]]
name = "wrk"
tester = "wrk"
args = "-c1 {url}"
limit = "1m"

[[loads]]
name = "rate"
connections = 10
rate = "1k"

[[exclude]]
server = "own"
load = "wrk"
reason = "for the test"
"#;

fn of(text: &str) -> Result<Suite, String> {
    read(Path::new("labs/echo/suite.toml"), Path::new("labs/echo"), text)
        .map_err(|error| error.to_string())
}

#[test]
fn a_suite_is_read() {
    let suite = of(GOOD).unwrap();
    assert_eq!((suite.repeats, suite.warmup_ns, suite.seed), (3, 500_000_000, 1));
    assert_eq!(suite.directory, Path::new("labs/echo"));
    let nginx = suite.server("nginx").unwrap();
    assert_eq!(nginx.command, ["nginx", "-c", "{work}/nginx.conf", "-g", "daemon off;"]);
    assert_eq!(nginx.ready, Readiness::Http { path: "/".to_owned(), status: 204 });
    assert_eq!(nginx.ready_timeout_ns, 5_000_000_000);
    assert_eq!(nginx.cpus.as_ref().unwrap().numbers(), [0]);
    let own = suite.server("own").unwrap();
    assert_eq!((own.stop, own.ready.clone()), (Stop::Int, Readiness::Port));
    assert_eq!(own.cpus.as_ref().unwrap().numbers(), [3]);
    assert!(matches!(&suite.loads[0].call, LoadCall::Arguments(words) if words[1] == "{url}"));
    assert_eq!(suite.loads[0].limit_ns, 60_000_000_000);
    let LoadCall::Plan(plan) = &suite.loads[1].call else { panic!("a plan") };
    assert_eq!(plan.len(), 2);
    assert_eq!(suite.excluded("own", "wrk"), Some("for the test"));
    assert_eq!(suite.excluded("nginx", "wrk"), None);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (from, to, want) in [
        ("repeats = 3", "repeats = 0", "3: repeats: give 1 to 1000"),
        ("repeats = 3", "repeat = 3", "3: 'repeat' is not a key here: did you mean 'repeats'?"),
        ("\"500ms\"", "\"soon\"", "4: 'soon' is not a duration"),
        ("\"1-2\"", "\"2-1\"", "6: '2-1' is not a list of CPUs"),
        ("baseline = \"nginx\"", "baseline = \"apache\"", "7: baseline: there is no server"),
        ("\"p99/p50\"", "\"p99/speed\"", "8: 'speed' is not a measure"),
        ("name = \"nginx\"", "name = \"../nginx\"", "10: name '../nginx'"),
        ("'daemon off;'", "'daemon off;", "13: command: a quote is not closed"),
        ("body*=hello", "happiness", "10: unknown expectation 'happiness'"),
        ("with = [\"backend\"]", "with = [\"db\"]", "17: with: there is no [[services]] 'db'"),
        ("stop = \"INT\"", "stop = \"HUP\"", "22: stop: 'HUP'"),
        ("name = \"own\"", "name = \"Nginx\"", "19: name 'Nginx' is there twice"),
        ("tester = \"wrk\"", "tester = \"siege\"", "31: tester: 'siege' is not one of plimsoll"),
        ("-c1 {url}", "-c1", "32: args: put {url}"),
        (
            "tester = \"wrk\"",
            "",
            "32: args: begin with run or find, or name the tester they are for",
        ),
        ("-c1 {url}", "-c1 {suit} {url}", "32: args: nothing is known as {suit}"),
        ("limit = \"1m\"", "connections = 3", "33: connections: stands beside args"),
        ("server = \"own\"", "server = \"x\"", "40: exclude: there is no server 'x'"),
        ("reason = \"for the test\"", "", "40: missing field `reason`"),
        ("{plimsoll} serve", "{plimsol} serve", "21: command: nothing is known as {plimsol}"),
        ("rate = \"1k\"", "warmup = \"1s\"", "38: warmup: say it for the whole suite"),
        ("{ http = \"/\", status", "{ port = true, status", "15: ready: give either"),
        ("\"nginx.conf\" }", "\"{suit}/nginx.conf\" }", "14: files: nothing is known as {suit}"),
        ("\"nginx.conf\" }", "\"{url}\" }", "14: files: nothing is known as {url}"),
        ("cpus = \"3\"", "env = { A = \"{url}\" }", "23: env: nothing is known as {url}"),
        (
            "cpus = \"3\"",
            "ready = true",
            "23: invalid type: boolean `true`, expected a table, such",
        ),
        ("{ http = \"/\"", "{ http = \"/{server}\"", "15: ready.http: {server} is not filled in"),
        (
            "body*=hello",
            "body*={suite}",
            "16: expect: {suite} is not filled in here, only in build",
        ),
        ("requires = [\"nginx\"]", "requires = [\"{work}/x\"]", "12: requires: {work} is not"),
        ("cpus = \"3\"", "path = \"/{backend.port}\"", "23: path: {backend.port} is not filled"),
        ("cpus = \"3\"", "directory = \"{work}\"", "23: directory: {work} is not filled in"),
        ("cpus = \"3\"", "cpus = \"{port}\"", "23: cpus: '{port}' is not a list of CPUs"),
        ("limit = \"1m\"", "limit = \"{port}\"", "33: limit: '{port}' is not a duration"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = of(&GOOD.replacen(from, to, 1)).expect_err(to);
        let want = format!("labs/echo/suite.toml:{want}");
        assert!(error.starts_with(&want) && !error.contains('\n'), "{to}: {error}");
    }
}

/// What is in braces is known where it stands: before a start there is no port.
#[test]
fn names_of_services_and_ports_can_be_spoken_of() {
    let of_service = |name: &str, build: &str| {
        let text = format!(
            "name = 'x'\n[[servers]]\nname = 's'\ncommand = 's {{{name}.port}}'\nwith = ['{name}']\n\
             build = ['{build}']\n[[services]]\nname = '{name}'\ncommand = 'b'\n\
             [[loads]]\nname = 'l'\n"
        );
        of(&text).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(of_service("back-1", "make {work}"), Ok(()));
    let error = of_service("Back", "make {work}").expect_err("a capital");
    assert!(error.contains("{Back.port} has to be a word in small letters"), "{error}");
    let error = of_service("back", "make {port}").expect_err("no port yet");
    assert!(error.contains("build: nothing is known as {port}"), "{error}");
}

#[test]
fn no_text_panics() {
    for end in 0..GOOD.len() {
        let _ = of(&GOOD[..end]);
        let _ = of(&GOOD[end..]);
    }
}

#[test]
fn the_default_columns_have_the_99th_percentile_itself() {
    let columns = of(&GOOD.replace("columns = [\"rate\", \"p99/p50\"]", "")).unwrap().columns;
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    assert_eq!(columns.join(" "), "rate p50 p99 p90/p50 p99.9/p50 rss cpu");
}

/// Every field that the lab fills in takes the suite's own path. Other braces are left alone.
#[test]
fn fields_are_filled_in_alike() {
    for (from, to) in [
        ("\"nginx.conf\" }", "\"{suite}/nginx-{server}.conf\" }"),
        ("command = \"x\"", "command = \"{suite}/{server}\""),
        ("command = \"x\"", "command = \"x\"\nversion = \"cat {suite}/version\""),
        ("command = \"x\"", "command = \"x\"\nbuild = [\"make -C {suite} {server}\"]"),
        ("command = \"x\"", "command = \"x\"\nenv = { AT = \"{suite}\" }"),
        ("body*=hello", "body*={\\\"a\\\":{b}}"),
        ("-c1 {url}", "-c1 -s {suite}/a.lua {url} {server}"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        assert_eq!(of(&GOOD.replacen(from, to, 1)).map(drop), Ok(()), "{to}");
    }
}

#[test]
fn placeholders_are_filled_and_other_braces_left() {
    let mut names = Names::default();
    names.set("port", "8080");
    names.set("backend.port", "9090");
    for (text, want) in [
        ("--listen {port}", "--listen 8080"),
        ("{backend.port}{port}", "90908080"),
        ("events {}", "events {}"),
        ("a { b } {", "a { b } {"),
        ("http { listen {port}; }", "http { listen 8080; }"),
        ("{{port}}", "{8080}"),
        ("{Port}", "{Port}"),
    ] {
        assert_eq!(names.fill(text).as_deref(), Ok(want));
    }
    let error = names.fill("x {prot}").unwrap_err();
    assert_eq!(error.to_string(), "nothing is known as {prot}: there are {backend.port}, {port}");
    assert_eq!(names.fill_file("x {prot} {port}"), "x {prot} 8080");
}

#[test]
fn cpus_are_written_as_they_are_read() {
    for text in ["0", "0-3", "0-3,8", "1,3,5-6"] {
        assert_eq!(text.parse::<Cpus>().unwrap().to_string(), text);
    }
    assert_eq!("3,1,2,2".parse::<Cpus>().unwrap().to_string(), "1-3");
    for text in ["", "a", "1-", "-1", "2-1", "0-99999999", "1;2"] {
        assert!(text.parse::<Cpus>().is_err(), "{text}");
    }
}
