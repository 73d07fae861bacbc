//! Studies for tests, made from a small model of servers with a fixed sequence of pseudo-random
//! numbers: four servers, some of them alike, under five loads of three testers, with what goes
//! wrong in practice.

use plimsoll_core::doubt::{Figure, Reach, Touch};
use plimsoll_core::result::{Environment, Tool};
use plimsoll_core::study::{
    Case, CaseRun, Figures, LoadFacts, Quantile, SCHEMA, ServerFacts, Study,
};
use plimsoll_core::usage::{Usage, UsageSample, Watched};
use plimsoll_core::verdict::{Cause, Verdict};

use crate::samples::Spread;

const SECOND: u64 = 1_000_000_000;

/// A server of the model.
struct Model {
    name: &'static str,
    version: &'static str,
    /// What it can do, responses per second.
    capacity_rps: f64,
    /// Median service time with nothing waiting, seconds.
    service_s: f64,
    /// How much longer each tenfold of the share beyond takes.
    tail: f64,
    rss_bytes: u64,
}

const MODELS: [Model; 3] = [
    Model {
        name: "nginx",
        version: "nginx version: nginx/1.26.3",
        capacity_rps: 82_000.0,
        service_s: 0.000_065,
        tail: 0.55,
        rss_bytes: 6_800_000,
    },
    Model {
        name: "http-echo",
        version: "http-echo v1.0.0",
        capacity_rps: 44_000.0,
        service_s: 0.000_085,
        tail: 1.4,
        rss_bytes: 12_400_000,
    },
    Model {
        name: "plimsoll",
        version: "plimsoll 0.1.0",
        capacity_rps: 118_000.0,
        service_s: 0.000_041,
        tail: 0.4,
        rss_bytes: 5_100_000,
    },
];

/// A load of the model.
struct Kind {
    name: &'static str,
    tester: &'static str,
    command: &'static str,
    rate_rps: Option<f64>,
    /// The share of capacity that is left.
    cost: f64,
    quantiles: &'static [f64],
}

const WHOLE: [f64; 19] = [
    0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995,
    0.999, 0.9999,
];

const KINDS: [Kind; 5] = [
    Kind {
        name: "ab-short",
        tester: "ab",
        command: "ab -c100 -n200000 {url}",
        rate_rps: None,
        cost: 0.4,
        quantiles: &[0.5, 0.66, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99],
    },
    Kind {
        name: "wrk-100",
        tester: "wrk",
        command: "wrk -c100 -t1 -d20s --latency {url}",
        rate_rps: None,
        cost: 0.9,
        quantiles: &[0.5, 0.75, 0.9, 0.99],
    },
    Kind {
        name: "closed-100",
        tester: "plimsoll",
        command: "plimsoll run -c 100 -d 20s {url}",
        rate_rps: None,
        cost: 1.0,
        quantiles: &WHOLE,
    },
    Kind {
        name: "10k",
        tester: "plimsoll",
        command: "plimsoll run -c 100 -r 10k -d 20s {url}",
        rate_rps: Some(10_000.0),
        cost: 1.0,
        quantiles: &WHOLE,
    },
    Kind {
        name: "30k",
        tester: "plimsoll",
        command: "plimsoll run -c 100 -r 30k -d 20s {url}",
        rate_rps: Some(30_000.0),
        cost: 1.0,
        quantiles: &WHOLE,
    },
];

/// An echo study, five repeats: one server could not be built, one run died, one was suspect.
pub(crate) fn echo() -> Study {
    let mut study = of(&MODELS, 5, 20);
    study.servers.insert(
        2,
        ServerFacts {
            name: "pipy".to_owned(),
            command: "pipy -e 'pipy.listen({port})'".to_owned(),
            skipped: Some("no program `pipy` in PATH".to_owned()),
            ..ServerFacts::default()
        },
    );
    let case = case_mut(&mut study, "http-echo", "30k");
    case.runs[3] = CaseRun {
        failure: Some("the server ended with signal 6 (SIGABRT) after 7.2 s".to_owned()),
        log: Some(
            "listening on :41873\npanic: runtime error: out of memory\n`goroutine 17`".into(),
        ),
        figures: Figures::default(),
        ..case.runs[3].clone()
    };
    let run = &mut case_mut(&mut study, "plimsoll", "closed-100").runs[1];
    run.verdict = Some(Verdict::Suspect);
    run.causes =
        vec![Cause {
        verdict: Verdict::Suspect,
        code: "cpu".to_owned(),
        text: "a worker used 97 % of its CPU, so the tester may have been the limit: give it more \
               threads (-t) or a lower rate"
            .to_owned(), touches: Vec::new() }];
    case_mut(&mut study, "http-echo", "ab-short").runs.clear();
    case_mut(&mut study, "http-echo", "ab-short").skipped =
        Some("excluded: it closes each connection late".to_owned());
    study
}

/// What a newcomer's study may look like: three repeats, two of them measured in a second go; a
/// server that failed in the same way wherever it was asked, and one whose figures are the tester's
/// own.
pub(crate) fn doubtful() -> Study {
    let mut study = of(&MODELS, 3, 5);
    study.loads.truncate(4);
    study.loads.drain(..2);
    study.cases.retain(|case| study.loads.iter().any(|load| load.name == case.load));
    for (case, port) in study.cases.iter_mut().zip(10_240..) {
        for run in &mut case.runs {
            run.resumed = u32::from(run.repeat == 3 || (run.repeat == 2 && case.load == "10k"));
            match (case.server.as_str(), case.load.as_str(), run.repeat) {
                ("http-echo", "closed-100", _) | ("http-echo", "10k", 2..) => {
                    run.failure = Some(format!("port {port}: Connection refused"));
                    run.figures = Figures::default();
                }
                ("plimsoll", "closed-100", 1..=2) | ("plimsoll", "10k", _) => {
                    run.verdict = Some(Verdict::Invalid);
                    run.causes = vec![Cause {
                        verdict: Verdict::Invalid,
                        code: "late".to_owned(),
                        text: "requests were started 2.1 ms late: give it more threads".to_owned(),
                        touches: Vec::new(),
                    }];
                }
                _ => {}
            }
        }
    }
    study
}

/// What a busy host makes of a study: times of Plimsoll's loads are in doubt in all runs, the rate
/// of closed loops in some, CPU and memory nowhere.
pub(crate) fn busy() -> Study {
    let mut study = echo();
    for case in &mut study.cases {
        let is_loop = case.load == "closed-100";
        for run in case.runs.iter_mut().filter(|run| run.verdict.is_some()) {
            let is_slowed = is_loop && (run.repeat > 2 || case.server == "http-echo");
            let rate = if is_slowed { Reach::share(0.3) } else { Reach::Nothing };
            let touches = vec![
                Touch::below(Figure::Response, Reach::Any),
                Touch::below(Figure::Service, Reach::Any),
                Touch::above(Figure::Achieved, rate),
            ];
            let code = if run.repeat % 2 == 0 { "late" } else { "cpu_shared" };
            let text = match code {
                "late" => "requests were started 2.1 ms late: give it more threads",
                _ => "a worker was ready to run and had no CPU for 31 % of the time",
            };
            run.figures.mark(&[Cause { touches: touches.clone(), ..cause(code, text) }]);
            run.causes.push(Cause { touches, ..cause(code, text) });
            run.verdict = Some(Verdict::Invalid);
        }
    }
    study
}

fn cause(code: &str, text: &str) -> Cause {
    Cause::new(Verdict::Invalid, code, text.to_owned())
}

/// One repeat of one server, no baseline, no quantiles, nothing sampled.
pub(crate) fn small() -> Study {
    let mut study = of(&MODELS[..1], 1, 0);
    study.baseline = None;
    study.loads.truncate(1);
    study.cases.truncate(1);
    let run = &mut study.cases[0].runs[0];
    run.server = None;
    run.tester = None;
    run.figures = Figures { rate_rps: Some(4_321.0), ..Figures::default() };
    study
}

/// Nothing at all.
pub(crate) fn nothing() -> Study {
    Study::empty("nothing")
}

/// As large as studies get: six servers, fifteen loads, seven repeats, long outputs.
pub(crate) fn large() -> Study {
    let mut study = of(&MODELS, 7, 60);
    let (servers, loads, cases) = (study.servers.clone(), study.loads.clone(), study.cases.clone());
    let line = "Latency <Distribution> & \"more\"  1.20ms\n";
    for case in &mut study.cases {
        case.runs.iter_mut().for_each(|run| run.output = line.repeat(500));
    }
    for i in 1..3 {
        let name = |name: &str| format!("{name}-{i}");
        study.loads.extend(loads.iter().map(|it| LoadFacts { name: name(&it.name), ..it.clone() }));
    }
    study.servers.extend(
        servers.iter().map(|it| ServerFacts { name: format!("{}-b", it.name), ..it.clone() }),
    );
    let of_loads = |case: &Case| {
        let (load, case) = (case.load.clone(), case.clone());
        (1..3).map(move |i| Case { load: format!("{load}-{i}"), ..case.clone() })
    };
    let more: Vec<Case> = cases.iter().flat_map(of_loads).collect();
    study.cases.extend(more);
    let other = |case: &Case| Case { server: format!("{}-b", case.server), ..case.clone() };
    let more: Vec<Case> = study.cases.iter().map(other).collect();
    study.cases.extend(more);
    for case in &mut study.cases {
        case.runs.iter_mut().for_each(|run| run.output = line.repeat(500));
    }
    study
}

/// Every column there is, and names without a space.
pub(crate) fn crowded() -> Study {
    let mut study = echo();
    let columns = "rate responses p50 p90 p99 p99.9 service.p99 p99/p50 mean max errors cpu \
                   cpu_per_request rss pss processes threads connections tester_cpu tester_rss";
    let columns = columns.split_whitespace().map(|name| name.parse().expect("a column"));
    study.columns = columns.collect();
    let long = "registry.example.com/team/http-echo@sha256-0f1e2d3c4b5a69788796a5b4c3d2e1f0";
    let rename = |name: &mut String| {
        if name == "http-echo" {
            long.clone_into(name);
        }
    };
    study.servers.iter_mut().for_each(|server| rename(&mut server.name));
    study.cases.iter_mut().for_each(|case| rename(&mut case.server));
    study.servers[0].command = format!("{long} --{}", "x".repeat(200));
    study
}

/// What would break out of any view that lets it.
pub(crate) const HOSTILE: &str =
    "</script><script>alert('x')</script> | `\"=1+1\" \u{1b}[31m\u{202e}";

/// Text from outside everywhere, and figures at their ends.
pub(crate) fn hostile() -> Study {
    let mut study = echo();
    study.title = HOSTILE.to_owned();
    study.description = format!("{HOSTILE}\n\n# {HOSTILE}");
    study.environment.cpu = HOSTILE.to_owned();
    study.servers[0].version = Some(HOSTILE.to_owned());
    study.servers[0].command = HOSTILE.to_owned();
    study.servers[2].skipped = Some(HOSTILE.to_owned());
    study.loads[0].command = HOSTILE.to_owned();
    let rename = |name: &mut String| {
        if name == "http-echo" {
            *name = HOSTILE.to_owned();
        }
    };
    study.servers.iter_mut().for_each(|server| rename(&mut server.name));
    study.cases.iter_mut().for_each(|case| rename(&mut case.server));
    for case in &mut study.cases {
        for run in &mut case.runs {
            run.output = format!("{HOSTILE}\n\t~~~\n```\n");
            run.failure = run.failure.is_some().then(|| HOSTILE.to_owned());
            run.log = run.log.as_ref().map(|_| format!("```\n{HOSTILE}\n"));
            run.figures.max_s = Some(1e300);
            run.figures.mean_s = Some(-1.0);
            run.figures.latency.push(Quantile::known(1.0, 0.0));
            run.figures.latency.push(Quantile::known(-7.0, 1e300));
        }
    }
    study.cases[0].runs[0].figures.rate_rps = Some(0.0);
    study.columns.push("max".parse().expect("a column"));
    study.columns.push("mean/max".parse().expect("a column"));
    study
}

fn case_mut<'a>(study: &'a mut Study, server: &str, load: &str) -> &'a mut Case {
    let found = study.cases.iter_mut().find(|case| case.server == server && case.load == load);
    found.expect("a case of the model")
}

fn of(models: &[Model], repeats: u32, seconds: u64) -> Study {
    let mut spread = Spread::new();
    let columns = "rate p50 p99 p90/p50 p99.9/p50 rss cpu";
    let mut study = Study {
        schema: SCHEMA.to_owned(),
        tool: Some(Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() }),
        name: "echo-servers".to_owned(),
        title: "Servers that say hello".to_owned(),
        description: "How fast is a server that does next to nothing?".to_owned(),
        environment: environment(),
        started_at: "2026-11-21T10:20:30Z".to_owned(),
        repeats,
        seed: 1,
        baseline: Some("nginx".to_owned()),
        columns: columns.split(' ').map(|name| name.parse().expect("a column")).collect(),
        ..Study::default()
    };
    for model in models {
        study.servers.push(ServerFacts {
            name: model.name.to_owned(),
            version: Some(model.version.to_owned()),
            command: format!("{} --port {{port}}", model.name),
            cpus: Some("0".to_owned()),
            skipped: None,
        });
    }
    for kind in &KINDS {
        study.loads.push(LoadFacts {
            name: kind.name.to_owned(),
            tester: kind.tester.to_owned(),
            version: Some("1.2.3".to_owned()),
            command: kind.command.to_owned(),
            cpus: Some("1".to_owned()),
            skipped: None,
        });
    }
    for model in models {
        for kind in &KINDS {
            let run = |repeat| run(model, kind, repeat, seconds, &mut spread);
            let runs = (1..=repeats).map(run).collect();
            let (server, load) = (model.name.to_owned(), kind.name.to_owned());
            study.cases.push(Case { server, load, skipped: None, runs });
        }
    }
    study
}

fn environment() -> Environment {
    Environment {
        os: "linux".to_owned(),
        kernel: "6.18.5".to_owned(),
        cpu: "Intel Xeon Gold 6338 @ 2.50 GHz".to_owned(),
        cores: 4,
        cores_allowed: 2,
        memory_bytes: 16 << 30,
        smt: Some(false),
        hypervisor: Some("kvm".to_owned()),
        ..Environment::default()
    }
}

fn run(model: &Model, kind: &Kind, repeat: u32, seconds: u64, spread: &mut Spread) -> CaseRun {
    let noise = 1.0 + 0.04 * (spread.share() - 0.5);
    let capacity_rps = model.capacity_rps * kind.cost * noise;
    let rate_rps = kind.rate_rps.map_or(capacity_rps, |rate| rate.min(capacity_rps));
    let load = rate_rps / capacity_rps;
    // Waiting grows as in a queue, and in a closed loop 100 wait.
    let median_s = match kind.rate_rps {
        None => 100.0 / rate_rps,
        Some(_) => model.service_s / (1.02 - load).max(0.02),
    };
    let latency = |scale: f64| {
        let at = |q: &f64| {
            let tenfolds = -(1.0 - q).log10();
            let s = scale * (0.7 + model.tail * tenfolds * noise + 0.02 * tenfolds.powi(3));
            Quantile::known(*q, rounded(s))
        };
        kind.quantiles.iter().map(at).collect::<Vec<_>>()
    };
    let completed = (rate_rps * seconds as f64) as u64;
    let cores = load.min(1.0);
    CaseRun {
        repeat,
        position: repeat * 7 - 6,
        started_at: format!("2026-11-21T10:{:02}:00Z", 20 + repeat),
        command: kind.command.replace("{url}", "http://127.0.0.1:41873/"),
        figures: Figures {
            outage: None,
            connections: None,
            rate_rps: Some(rounded(rate_rps)),
            good_rps: None,
            duration_s: Some(seconds as f64),
            completed: Some(completed),
            failed: Some(0),
            errors: Some(0),
            mean_s: Some(rounded(median_s * 1.1)),
            max_s: Some(rounded(median_s * 20.0)),
            mean_doubt: None,
            max_doubt: None,
            latency: latency(median_s),
            service: if kind.rate_rps.is_some() { latency(0.9 * median_s) } else { Vec::new() },
            streams: None,
            own_delay: None,
            load_line: None,
        },
        verdict: (kind.tester == "plimsoll").then_some(Verdict::Valid),
        server: Some(usage(model.name, cores, model.rss_bytes, seconds, spread)),
        tester: Some(usage(kind.tester, 0.6, 9_000_000, seconds, spread)),
        output: format!("Running 20s test\n  {rate_rps:.0} requests/s\n\tdone\n"),
        result: (kind.tester == "plimsoll").then(|| format!("{}/{repeat}.json", kind.name)),
        ..CaseRun::default()
    }
}

/// To what is read back as it was written.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

fn usage(name: &str, cores: f64, rss_bytes: u64, seconds: u64, spread: &mut Spread) -> Usage {
    let mut usage = Usage {
        watched: vec![Watched { name: name.to_owned(), pids: vec![17] }],
        window_ns: seconds * SECOND,
        rss_peak_bytes: rss_bytes,
        threads_max: 1,
        ..Usage::default()
    };
    for second in 0..=seconds {
        let busy = if second == 0 { 0.0 } else { cores * (0.94 + 0.1 * spread.share()) };
        let used_ns = (busy * 1e9) as u64;
        usage.cpu_user_ns += used_ns / 3;
        usage.cpu_system_ns += used_ns - used_ns / 3;
        let warm = (second as f64 / 5.0).min(1.0);
        usage.samples.push(UsageSample {
            t_ns: second * SECOND,
            cpu_user_ns: usage.cpu_user_ns,
            cpu_system_ns: usage.cpu_system_ns,
            rss_bytes: (rss_bytes as f64 * (0.7 + 0.3 * warm)) as u64,
            processes: 1,
            threads: 1,
            ..UsageSample::default()
        });
    }
    usage.refresh();
    usage
}
