//! What we say we sent is what nginx says it got.

use std::thread;

use crate::nginx::{Counted, Nginx};
use crate::programs::{share_with, turn_with};
use crate::support::{Report, measure};

/// Runs a load and holds its report against nginx's own counts.
fn load(nginx: &Nginx, path: &str, flags: &[&str]) -> (Report, Counted) {
    let url = nginx.url(path);
    let (report, counted) = nginx.counting(|| measure(&[&[url.as_str()], flags].concat()));
    let [sent, completed, ok] = report.ledger(["sent", "completed", "ok"]);
    assert!(report.errors().is_empty(), "{flags:?}: {:?}", report.errors());
    assert_eq!((sent, completed), (counted.requests, counted.requests), "{flags:?}");
    assert_eq!(ok, completed, "{flags:?}");
    assert_eq!(report.count("/phases/connect/count"), counted.accepted, "{flags:?}");
    (report, counted)
}

#[test]
fn a_closed_loop_for_a_time() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    for driver in ["auto", "epoll"] {
        let flags = ["-c", "100", "-d", "2s", "--driver", driver];
        let (report, counted) = load(&nginx, "/", &flags);
        assert_eq!(report.ledger(["scheduled", "reconnects"]), [counted.requests, 0]);
        assert_eq!(counted.accepted, 100);
        assert!(counted.requests > 2000, "nginx answers more than 1000 a second: {counted:?}");
    }
}

#[test]
fn exactly_n() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    for driver in ["auto", "epoll"] {
        for (n, flags) in [
            (12_345, &["-n", "12345", "-c", "100"][..]),
            (12_345, &["-n", "12345", "-c", "7", "-t", "2"]),
            (12_345, &["-n", "12345", "-c", "7", "--pipeline", "4"]),
            (1, &["-n", "1", "-c", "64"]),
            (997, &["-n", "997", "-c", "64", "--requests-per-conn", "10"]),
            (2000, &["-n", "2000", "-c", "7", "--no-keepalive"]),
        ] {
            let all = [flags, &["--driver", driver]].concat();
            let (report, counted) = load(&nginx, "/", &all);
            assert_eq!((report.ledger(["scheduled"]), counted.requests), ([n], n), "{all:?}");
            if flags.contains(&"--no-keepalive") {
                assert_eq!(counted.accepted, n, "one connection for each request");
            }
        }
    }
}

/// Mostly waiting, so several runs take place at once, each with an nginx of its own.
#[test]
fn exactly_rate_times_time() {
    let Some(_turn) = turn_with(&["nginx"]) else { return };
    thread::scope(|scope| {
        for connections in ["1", "7", "64"] {
            scope.spawn(move || each_rate(connections));
        }
    });
}

fn each_rate(connections: &str) {
    let nginx = Nginx::start();
    for (rate, time, want) in
        [("1000", "2s", 2000), ("997", "2s", 1994), ("7", "2s", 14), ("0.5", "4s", 2)]
    {
        let flags = ["-r", rate, "-d", time, "-c", connections];
        let (report, counted) = load(&nginx, "/", &flags);
        assert_scheduled(&report, counted, want, &flags);
        let asked: f64 = rate.parse().expect("a number");
        assert!((report.number("/rate/target_rps") - asked).abs() < 1e-9, "{flags:?}");
    }
}

#[test]
fn exactly_rate_times_time_in_other_ways() {
    let Some(_turn) = turn_with(&["nginx"]) else { return };
    let cases = [
        (1994, &["-r", "997", "-d", "2s", "-c", "7", "--driver", "epoll"][..]),
        (1994, &["-r", "997", "-d", "2s", "-c", "7", "-t", "2", "--spin", "off"]),
        (1994, &["-r", "997", "-d", "2s", "-c", "64", "--no-keepalive"]),
        (1000, &["-r", "500", "-d", "2s", "-c", "7", "--no-keepalive", "--driver", "epoll"]),
        (1000, &["-r", "1000", "-n", "1000", "-c", "7"]),
        (1500, &["--stages", "1s@1000,1s@1000..0", "-c", "7"]),
    ];
    for several in cases.chunks(3) {
        thread::scope(|scope| {
            for (want, flags) in several {
                scope.spawn(|| one_way(*want, flags));
            }
        });
    }
}

fn one_way(want: u64, flags: &[&str]) {
    let nginx = Nginx::start();
    let (report, counted) = load(&nginx, "/", flags);
    assert_scheduled(&report, counted, want, flags);
    if flags.contains(&"--no-keepalive") {
        assert_eq!(counted.accepted, counted.requests, "one connection for each request");
    }
}

/// The schedule is exact. A request that is due in the last moment while all connections are busy
/// is unsent and not at nginx; `load` has seen that nginx got the others.
fn assert_scheduled(report: &Report, counted: Counted, want: u64, flags: &[&str]) {
    let [scheduled, unsent] = report.ledger(["scheduled", "unsent"]);
    assert_eq!((scheduled, counted.requests + unsent), (want, want), "{flags:?}");
    assert!(unsent * 100 <= want, "{flags:?}: {unsent} of {want} found no connection");
}

#[test]
fn connections_that_nginx_closes_after_ten_requests() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    for flags in [&["-n", "1000", "-c", "7"][..], &["-r", "1000", "-n", "1000", "-c", "7"]] {
        let (report, counted) = load(&nginx, "/ten", flags);
        assert_eq!(report.ledger(["completed"]), [1000], "{flags:?}");
        assert!(counted.accepted >= 100, "{flags:?}: {counted:?}");
    }
}

/// nginx logs what each request and each response took on the connection.
#[test]
fn bytes_and_statuses_as_nginx_logs_them() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    for (path, flags, status) in [
        ("/logged/file", &[][..], 200),
        ("/logged/file", &["-X", "HEAD"], 200),
        ("/logged/file", &["-X", "DELETE"], 405),
        ("/logged/missing", &[], 404),
        ("/logged/busy", &["--http", "1.0"], 503),
        ("/logged/file", &["--no-keepalive"], 200),
    ] {
        let url = nginx.url(path);
        let report = measure(&[&[url.as_str(), "-n", "500", "-c", "7"], flags].concat());
        let log = nginx.take_log();
        assert_eq!(log.len(), 500, "{path} {flags:?}");
        assert!(log.iter().all(|[logged, ..]| *logged == status), "{path} {flags:?}: {:?}", log[0]);
        assert_eq!(report.count(&format!("/status/{status}")), 500, "{path} {flags:?}");
        let sums = [1, 2].map(|column| log.iter().map(|line| line[column]).sum::<u64>());
        let bytes = ["/bytes/sent", "/bytes/received"].map(|pointer| report.count(pointer));
        assert_eq!(bytes, sums, "{path} {flags:?}");
    }
}
