//! Where options come from, which source wins, and what is refused.

use plimsoll_core::dns::{DnsPolicy, DnsSelect};
use serde_json::{Value, json};

use super::*;
use crate::k6::scenario::{Executor, Scenario};
use crate::k6::segment::Part;
use crate::k6::summary::TimeUnit;

fn script(options: Value) -> Options {
    Options::from_script(&options, &mut Vec::new()).expect("options")
}

fn environment(variables: &[(&str, &str)]) -> Result<Options, Refused> {
    let lookup = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    Options::from_environment(&lookup)
}

fn described(sources: &Sources) -> (Vec<String>, Vec<String>) {
    let made = consolidate(sources).expect("a configuration");
    let line = |it: &Scenario| format!("{}: {}", it.name, it.describe(&Part::default()));
    (made.scenarios.iter().map(line).collect(), made.warnings)
}

#[test]
fn shortcuts_stand_for_scenarios() {
    for (options, want) in [
        (json!({}), "1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)"),
        (
            json!({ "vus": 3 }),
            "3 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ),
        (
            json!({ "vus": 2, "iterations": 5, "duration": "20s" }),
            "5 iterations shared among 2 VUs (maxDuration: 20s, gracefulStop: 30s)",
        ),
        (json!({ "duration": 2000 }), "1 looping VUs for 2s (gracefulStop: 30s)"),
        (
            json!({ "vus": "4", "stages": [{ "duration": "1s", "target": 2 }, { "target": 9 }] }),
            "Up to 4 looping VUs for 1s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)",
        ),
    ] {
        let sources = Sources { script: script(options.clone()), ..Sources::default() };
        assert_eq!(described(&sources).0, [format!("default: {want}")], "{options}");
    }
}

#[test]
fn higher_sources_win_and_wipe_how_vus_run() {
    let constant =
        json!({ "scenarios": { "a": { "executor": "constant-vus", "duration": "3s" } } });
    let text = |text: &str| Some(text.to_owned());
    let flags = |flags: Flags| flags.options().expect("flags");
    let sources = |flags| Sources { script: script(constant.clone()), flags, ..Sources::default() };

    let (scenarios, warnings) = described(&sources(flags(Flags {
        duration: text("5s"),
        vus: text("2"),
        ..Flags::default()
    })));
    assert_eq!(scenarios, ["default: 2 looping VUs for 5s (gracefulStop: 30s)"]);
    assert_eq!(warnings, ["the command line overrides all scenarios of the sources below it"]);

    let (scenarios, warnings) =
        described(&sources(flags(Flags { vus: text("2"), ..Flags::default() })));
    assert!(scenarios[0].starts_with("default: 2 iterations shared among 2 VUs"), "{scenarios:?}");
    assert_eq!(warnings, ["option 'vus' overrides all scenarios"]);

    // VUs of one source go with the duration of another.
    let from_script = Sources {
        script: script(json!({ "duration": "7s", "tags": { "a": "1" }, "rps": 5 })),
        environment: environment(&[("K6_VUS", "6"), ("K6_TAGS", "b:2,c:3"), ("K6_RPS", "")])
            .expect("variables"),
        file: Options::from_file("c.json", r#"{"iterations": 9, "batch": 3}"#, &mut Vec::new())
            .expect("a file"),
        ..Sources::default()
    };
    assert_eq!(described(&from_script).0, ["default: 6 looping VUs for 7s (gracefulStop: 30s)"]);
    let made = consolidate(&from_script).expect("a configuration");
    let tags: Vec<&str> = made.tags.keys().map(String::as_str).collect();
    assert_eq!((tags, made.rps, made.batch, made.batch_per_host), (vec!["b", "c"], Some(5), 3, 6));

    let (_, warnings) =
        described(&Sources { script: script(json!({ "stages": [] })), ..Sources::default() });
    assert_eq!(warnings, ["option 'stages' is empty: 1 VU does 1 iteration"]);
}

#[test]
fn parts_of_dns_are_set_one_by_one() {
    let made = consolidate(&Sources {
        script: script(json!({ "dns": { "ttl": "1m", "select": "first", "other": 1 } })),
        environment: environment(&[("K6_DNS", "ttl=0")]).expect("variables"),
        flags: Flags { dns: Some("policy=any".to_owned()), ..Flags::default() }
            .options()
            .expect("flags"),
        ..Sources::default()
    });
    let made = made.expect("a configuration");
    assert_eq!(made.dns_ttl, DnsTtl::Time(Ns(0)));
    assert_eq!((made.dns_select, made.dns_policy), (DnsSelect::First, DnsPolicy::Any));
    let usual = consolidate(&Sources::default()).expect("a configuration");
    assert_eq!(usual.dns_ttl, DnsTtl::Time(Ns(300_000_000_000)));
    assert_eq!((usual.max_redirects, usual.setup_timeout_ns), (10, 60_000_000_000));
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let stages = json!([{ "duration": "1s", "target": 1 }]);
    let scenarios = json!({ "a": { "executor": "constant-vus", "duration": "1s" } });
    for (options, want) in [
        (json!({ "duration": "1s", "stages": stages }), "options 'duration' and 'stages'"),
        (json!({ "iterations": 1, "stages": stages }), "options 'iterations' and 'stages'"),
        (json!({ "duration": "1s", "scenarios": scenarios }), "options 'duration' and 'scenarios'"),
        (json!({ "stages": stages, "scenarios": scenarios }), "options 'stages' and 'scenarios'"),
        (json!({ "duration": 0 }), "option 'duration' is 0s: give 1s or more"),
        (json!({ "setupTimeout": "0s" }), "setupTimeout is 0s: give more than 0s"),
        (
            json!({ "executionSegment": "1/3", "executionSegmentSequence": "0,1/2,1" }),
            "segment 0:1/3 is not in the sequence 0,1/2,1",
        ),
        (json!({ "vus": 0, "iterations": 1 }), "scenario 'default': vus is 0: give 1 or more"),
    ] {
        let sources = Sources { script: script(options), ..Sources::default() };
        let error = consolidate(&sources).expect_err(want);
        assert!(error.what.starts_with(want), "{error}");
        assert_eq!(error.code.code(), 104);
    }
}

#[test]
fn values_of_other_types_are_refused() {
    for (options, want) in [
        (json!(5), "the options of the script are not an object: export const options = {…}"),
        (json!({ "vus": "x" }), "option 'vus' of the options of the script: 'x' is not a whole"),
        (json!({ "vus": 1.5 }), "1.5 is not a whole number"),
        (json!({ "duration": "abc" }), "'abc' is not a duration: write 500ms, 1.5s, 2m, 1h or 1d"),
        (json!({ "noSetup": 1 }), "1 is not true or false"),
        (json!({ "userAgent": 1 }), "1 is not text: put it in quotes"),
        (json!({ "stages": [5] }), "stage 1: it is not an object"),
        (json!({ "tags": { "a": 1 } }), "the value of 'a' is not text"),
        (json!({ "hosts": { "a.b": "nope" } }), "'nope' of 'a.b' is not an address"),
        (json!({ "hosts": { "a*b": "1.2.3.4" } }), "'a*b' is not the name of a host"),
        (json!({ "blacklistIPs": ["1.2.3.4"] }), "'1.2.3.4' is not a block: write 10.0.0.0/8"),
        (json!({ "blacklistIPs": ["1.2.3.4/33"] }), "'1.2.3.4/33' is not a block"),
        (json!({ "blockHostnames": ["b*.com"] }), "'b*.com' is not the name of a host"),
        (json!({ "dns": { "ttl": "1x" } }), "ttl '1x' is not a duration: write 5m, 0 or inf"),
        (json!({ "dns": { "select": "foo" } }), "select 'foo' is not known: write first,"),
        (json!({ "tlsVersion": "tls1.4" }), "'tls1.4' is not a version: write tls1.0 to tls1.3"),
        (json!({ "tlsVersion": { "min": "tls1.3", "max": "tls1.2" } }), "min is above max"),
        (json!({ "tlsCipherSuites": ["FOO"] }), "'FOO' is not a cipher suite"),
        (json!({ "tlsAuth": [{ "cert": "a", "key": "b" }] }), "cert is not PEM"),
        (json!({ "summaryTrendStats": ["p95"] }), "'p95' is not one of avg, min, med, max, count"),
        (json!({ "summaryTrendStats": ["p(101)"] }), "'p(101)' is not one of avg,"),
        (json!({ "thresholds": { "a": "b" } }), "'a': it is not a list: put the threshold in"),
        (json!({ "thresholds": { "a": [1] } }), "'a': a threshold is not text"),
        (
            json!({ "thresholds": { "a": [{ "threshold": "x", "delayAbortEval": "1x" }] } }),
            "'a': delayAbortEval: '1x' is not a duration",
        ),
        (json!({ "executionSegment": "x" }), "'x' is not a segment: write 10%, 1/3 or 0.2:2/3"),
    ] {
        let error = Options::from_script(&options, &mut Vec::new()).expect_err(want);
        assert!(error.what.contains(want), "{error}\n{want}");
        assert_eq!(error.code.code(), 104, "{want}");
    }
}

#[test]
fn names_that_are_not_options_are_warned_of() {
    let mut warnings = Vec::new();
    let options = json!({ "vuss": 1, "duration": null, "ext": { "a": 1 }, "localIPs": "1.2.3.4" });
    let options = Options::from_script(&options, &mut warnings).expect("options");
    assert_eq!((options.duration, options.ext.is_some()), (None, true));
    assert_eq!(
        warnings,
        [
            "'localIPs' in the options of the script is not an option and is ignored",
            "'vuss' in the options of the script is not an option and is ignored, did you mean 'vus'?",
        ]
    );
    let mut warnings = Vec::new();
    let file = r#"{"vus": 2, "collectors": {}, "out": ["json=a"], "linger": true, "nope": 1}"#;
    let options = Options::from_file("c.json", file, &mut warnings).expect("a file");
    assert_eq!((options.vus, options.linger), (Some(2), Some(true)));
    assert_eq!(
        warnings,
        [
            "'collectors' of c.json has no effect: set the K6_… variables of outputs",
            "'nope' in c.json is not an option and is ignored",
        ]
    );
    for (text, want) in [
        ("{\n\"vus\": }", "c.json, line 2: expected value"),
        ("[]", "c.json is not an object of options: write {\"vus\": 1}"),
        ("{\"vus\": []}", "option 'vus' of c.json: [] is not a whole number"),
    ] {
        let error = Options::from_file("c.json", text, &mut Vec::new()).expect_err(want);
        assert_eq!(error.what, want);
    }
}

/// As Go reads JSON.
#[test]
fn letter_case_of_names_does_not_matter() {
    let mut warnings = Vec::new();
    let written = json!({
        "insecureSkipTlsVerify": true,
        "NOSETUP": true,
        "Dns": { "TTL": "1m", "Select": "first" },
        "tlsversion": { "MIN": "tls1.2", "Max": "tls1.3" },
        "TlsAuth": [{ "CERT": "-----BEGIN A", "Key": "-----BEGIN B", "DOMAINS": ["a"] }],
        "Thresholds": { "iterations": [{ "Threshold": "count>0", "abortonfail": true }] },
        "SCENARIOS": { "a": {
            "EXECUTOR": "ramping-vus", "startvus": 3, "GracefulRampdown": "1s",
            "Stages": [{ "Duration": "1s", "TARGET": 1 }],
        } },
    });
    let usual = json!({
        "insecureSkipTLSVerify": true,
        "noSetup": true,
        "dns": { "ttl": "1m", "select": "first" },
        "tlsVersion": { "min": "tls1.2", "max": "tls1.3" },
        "tlsAuth": [{ "cert": "-----BEGIN A", "key": "-----BEGIN B", "domains": ["a"] }],
        "thresholds": { "iterations": [{ "threshold": "count>0", "abortOnFail": true }] },
        "scenarios": { "a": {
            "executor": "ramping-vus", "startVUs": 3, "gracefulRampDown": "1s",
            "stages": [{ "duration": "1s", "target": 1 }],
        } },
    });
    let read = Options::from_script(&written, &mut warnings).expect("options");
    assert_eq!(read, script(usual.clone()));
    let file = Options::from_file("c.json", &written.to_string(), &mut warnings).expect("a file");
    assert_eq!((file, warnings), (script(usual), Vec::<String>::new()));
    // The exact name comes first.
    let both = json!({ "stages": [{ "DURATION": "9s", "duration": "1s", "target": 1 }] });
    let stages = script(both).stages.expect("stages");
    assert_eq!(stages[0].duration, Some(Ns(1_000_000_000)));
}

#[test]
fn every_variable_is_read() {
    let options = environment(&[
        ("K6_STAGES", "10s:5,1m:20"),
        ("K6_THRESHOLDS", r#"{"checks":["rate>0.1"]}"#),
        ("K6_HOSTS", r#"{"a.b":"1.2.3.4:80"}"#),
        ("K6_BLACKLIST_IPS", "10.0.0.0/8,1.2.3.0/24"),
        ("K6_BLOCK_HOSTNAMES", "a.b,*.c"),
        ("K6_SUMMARY_TREND_STATS", "avg,p(99)"),
        ("K6_SYSTEM_TAGS", "url,foo"),
        ("K6_NO_SETUP", "true"),
        ("K6_MIN_ITERATION_DURATION", "1s"),
        ("K6_LOCAL_IPS", "10.0.0.1-10.0.0.2"),
        ("K6_TLSAUTH", "[]"),
        ("K6_TLS_CIPHER_SUITES", "TLS_AES_128_GCM_SHA256"),
        ("K6_USER_AGENT", ""),
    ])
    .expect("variables");
    let stage =
        |seconds: i64, target| Stage { duration: Some(Ns(seconds * 1_000_000_000)), target };
    assert_eq!(options.stages, Some(vec![stage(10, Some(5)), stage(60, Some(20))]));
    assert_eq!(options.thresholds.map(|all| all.len()), Some(1));
    assert_eq!((options.no_setup, options.user_agent), (Some(true), None));
    assert_eq!(options.system_tags.expect("tags").unknown, ["foo"]);
    assert_eq!(options.tls_cipher_suites.expect("suites")[0].id, 0x1301);

    for (name, value, want) in [
        ("K6_VUS", "x", "environment variable K6_VUS: 'x' is not a whole number"),
        ("K6_NO_SETUP", "1", "environment variable K6_NO_SETUP: '1' is not true or false"),
        ("K6_TAGS", "a=b", "environment variable K6_TAGS: 'a=b' has no value: write name:value"),
        ("K6_STAGES", "x:1", "environment variable K6_STAGES: 'x' is not a duration"),
    ] {
        let error = environment(&[(name, value)]).expect_err(want);
        assert!(error.what.starts_with(want), "{error}");
        assert_eq!(error.code.code(), 104);
    }
    // Every option but the few without a variable has one, and only one.
    let mut names: Vec<&str> =
        NAMES.iter().map(|(_, env)| *env).filter(|env| !env.is_empty()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), count), (39, 39));
}

#[test]
fn flags_that_cannot_be_read_end_with_255() {
    let text = |text: &str| Some(text.to_owned());
    let list = |text: &str| vec![text.to_owned()];
    let none = Flags::default;
    for (flags, want) in [
        (Flags { vus: text("x"), ..none() }, "--vus: 'x' is not a whole number"),
        (Flags { duration: text("10"), ..none() }, "--duration: '10' is not a duration: write"),
        (Flags { duration: text("1d"), ..none() }, "--duration: '1d' is not a duration: write"),
        (Flags { stage: list("10:1"), ..none() }, "--stage: '10' is not a duration"),
        (Flags { stage: list("10s:x"), ..none() }, "--stage: 'x' is not a whole number"),
        (Flags { tag: list("a"), ..none() }, "--tag: 'a' is not a tag: write name=value"),
        (Flags { tag: list("a="), ..none() }, "--tag: 'a=' is not a tag"),
        (Flags { execution_segment: text("3"), ..none() }, "--execution-segment: segment 0:3 ends"),
        (Flags { dns: text("foo=1"), ..none() }, "--dns: 'foo' is not known: write ttl, select or"),
        (Flags { dns: text("ttl"), ..none() }, "--dns: 'ttl' has no value: write ttl=5m"),
        (Flags { local_ips: text("x"), ..none() }, "--local-ips: 'x' is not an address, a range"),
        (
            Flags { summary_time_unit: text("x"), ..none() },
            "--summary-time-unit: 'x' is not one of",
        ),
        (Flags { block_hostnames: list("a.*.b"), ..none() }, "--block-hostnames: 'a.*.b' is not"),
    ] {
        let error = flags.options().expect_err(want);
        assert!(error.what.starts_with(want), "{error}");
        assert_eq!(error.code.code(), 255, "{want}");
    }
    let options = Flags {
        stage: vec!["10s:5,1m:3".to_owned(), "0s:".to_owned()],
        tag: list("a=b=c"),
        user_agent: text(""),
        summary_time_unit: text("ms"),
        duration: text("0"),
        ..none()
    };
    let options = options.options().expect("flags");
    assert_eq!(options.stages.expect("stages").len(), 3);
    assert_eq!(options.tags.expect("tags")["a"], "b=c");
    assert_eq!((options.user_agent.as_deref(), options.duration), (Some(""), Some(Ns(0))));
    assert_eq!(TimeUnit::parse("ms"), Some(TimeUnit::Milliseconds));
}

#[test]
fn hosts_are_found_by_name_and_port() {
    let options = script(json!({
        "hosts": { "A.b": "10.0.0.1", "a.b:8080": "10.0.0.2:80", "*.c.d": "10.0.0.3",
            "*.x.c.d": "10.0.0.4" },
        "blockHostnames": ["*.evil.com", "Bad.com"],
        "blacklistIPs": ["10.0.0.0/8", "fd00::/8"],
    }));
    let hosts = options.hosts.expect("hosts");
    for (host, port, want) in [
        ("a.B", 80, Some("10.0.0.1")),
        ("a.b", 8080, Some("10.0.0.2")),
        ("y.c.d", 1, Some("10.0.0.3")),
        ("y.x.c.d", 1, Some("10.0.0.4")),
        ("c.d", 1, None),
        ("b", 1, None),
    ] {
        let found = hosts.resolve(host, port).map(|found| found.address.to_string());
        assert_eq!(found.as_deref(), want, "{host}:{port}");
    }
    let blocked = options.block_hostnames.expect("names");
    for (host, want) in
        [("a.EVIL.com", true), ("evil.com", false), ("bad.com", true), ("a.bad.com", false)]
    {
        assert_eq!(blocked.contains(host), want, "{host}");
    }
    let blocks = options.blacklist_ips.expect("blocks");
    for (address, want) in
        [("10.1.2.3", true), ("11.0.0.0", false), ("fd12::1", true), ("::1", false)]
    {
        let address = address.parse().expect("an address");
        assert_eq!(blocks.iter().any(|block| block.contains(address)), want, "{address}");
    }
}

#[test]
fn vus_take_local_addresses_in_turn() {
    let ips = LocalIps::from_text("10.0.0.9,10.0.0.4/30,fd00::1-fd00::2").expect("addresses");
    for (vu, want) in [
        (1, "10.0.0.9"),
        (2, "10.0.0.4"),
        (5, "10.0.0.7"),
        (6, "fd00::1"),
        (7, "fd00::2"),
        (8, "10.0.0.9"),
    ] {
        assert_eq!(ips.of_vu(vu).map(|ip| ip.to_string()).as_deref(), Some(want), "{vu}");
    }
    assert_eq!(ips.of_vu(0), None);
    assert!(LocalIps::from_text("10.0.0.2-10.0.0.1").is_err());
    let all = LocalIps::from_text("::/0").expect("addresses");
    assert_eq!(all.of_vu(2).map(|ip| ip.to_string()).as_deref(), Some("::1"));
}

#[test]
fn no_text_panics() {
    let text = r#"{"vus":"1d","stages":[{"duration":-1e300,"target":1e300}],"dns":"a=b"}"#;
    for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
        let _ = Options::from_file("f", &text[..at], &mut Vec::new());
    }
    for text in ["", ",", ":", "=", "-", "/", "1/", "%", "-/-", "*.", "1.2.3.4-", "ttl=-1"] {
        for name in NAMES.iter().map(|(_, env)| *env) {
            let _ = environment(&[(name, text)]);
        }
        for name in NAMES.iter().map(|(json, _)| *json) {
            let _ = Options::from_script(&json!({ name: text }), &mut Vec::new());
        }
    }
    let constant = script(json!({ "vus": i64::MAX, "duration": "1s" }));
    assert!(consolidate(&Sources { script: constant, ..Sources::default() }).is_err());
    let huge = script(json!({ "stages": [{ "duration": "1s", "target": i64::MAX }] }));
    assert!(consolidate(&Sources { script: huge, ..Sources::default() }).is_err());
    let longest = Executor::ConstantVus { vus: 1, duration_ns: u64::MAX };
    assert_eq!(longest.kind().name(), "constant-vus");
}
