//! Reports of fixed results, byte for byte.

use plimsoll_core::phase::Phase;
use plimsoll_core::result::RunResult;

use super::{EVEN, ODD, command, error, result, shown};
use crate::ab::{
    Files, Heartbeat, banner, certificate_not_read, csv, ending, file_not_read, file_not_written,
    gnuplot, name_not_found, not_reached,
};

const ODD_REPORT: &str = "

Server Software:        nginx/1.18.0
Server Hostname:        127.0.0.1
Server Port:            8080

Document Path:          /x?y
Document Length:        6 bytes

Concurrency Level:      2
Time taken for tests:   0.010 seconds
Complete requests:      5
Failed requests:        0
Total transferred:      1220 bytes
HTML transferred:       30 bytes
Requests per second:    500.00 [#/sec] (mean)
Time per request:       4.000 [ms] (mean)
Time per request:       2.000 [ms] (mean, across all concurrent requests)
Transfer rate:          119.14 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        1    1   0.1      1       1
Processing:    10   15   8.3     12      30
Waiting:        8   13   8.9      9      29
Total:         11   16   8.3     13      31

Percentage of the requests served within a certain time (ms)
  50%     13
  66%     15
  75%     15
  80%     31
  90%     31
  95%     31
  98%     31
  99%     31
 100%     31 (longest request)
";

#[test]
fn a_report() {
    let line = "-n 5 -c 2 http://127.0.0.1:8080/x?y";
    let from_histograms = command(line);
    let result_of = |command: &_| result(command, &ODD);
    assert_eq!(shown(&from_histograms, &result_of(&from_histograms)), ODD_REPORT);
    let exact = command(&format!("-e f {line}"));
    assert_eq!(shown(&exact, &result_of(&exact)), ODD_REPORT);
}

#[test]
fn a_report_in_the_arithmetic_of_ab() {
    let command = command("-n 5 -c 2 --as-original http://127.0.0.1:8080/x?y");
    let want = ODD_REPORT
        .replace("8.3     12 ", "8.3     13 ")
        .replace("8.9      9 ", "8.9     11 ")
        .replace("8.3     13      31", "8.3     14      31");
    assert_eq!(shown(&command, &result(&command, &ODD)), want);
}

#[test]
fn a_report_of_a_kept_connection_and_a_body() {
    let command = command("-k -S -n 4 -p f -l http://h/");
    let mut result = result(&command, &EVEN);
    result.details.kept_alive = 4;
    result.details.first.as_mut().expect("there").server.clear();
    let want = "

Server Software:        \n\
Server Hostname:        h
Server Port:            80

Document Path:          /
Document Length:        Variable

Concurrency Level:      1
Time taken for tests:   0.010 seconds
Complete requests:      4
Failed requests:        0
Keep-Alive requests:    4
Total transferred:      976 bytes
Total body sent:        328
HTML transferred:       24 bytes
Requests per second:    400.00 [#/sec] (mean)
Time per request:       2.500 [ms] (mean)
Time per request:       2.500 [ms] (mean, across all concurrent requests)
Transfer rate:          95.31 [Kbytes/sec] received
                        32.03 kb/s sent
                        127.34 kb/s total

Connection Times (ms)
              min   avg   max
Connect:        0     0    0
Processing:     1     1    2
Waiting:        1     1    2
Total:          1     1    2

Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  75%      2
  80%      2
  90%      2
  95%      2
  98%      2
  99%      2
 100%      2 (longest request)
";
    assert_eq!(shown(&command, &result), want);
}

/// The figures of a published run: nginx behind `ab -c100 -n1000000`.
#[test]
fn the_figures_of_a_published_report() {
    let command = command("-c100 -n1000000 http://127.0.0.1:80/");
    let mut result = result(&command, &[]);
    result.ledger.completed = 1_000_000;
    result.rate.answered_ns = 16_440_869_000;
    result.bytes.received = 244_000_000;
    result.details.body_bytes = 6_000_000;
    let text = shown(&command, &result);
    let want = "Concurrency Level:      100
Time taken for tests:   16.441 seconds
Complete requests:      1000000
Failed requests:        0
Total transferred:      244000000 bytes
HTML transferred:       6000000 bytes
Requests per second:    60824.04 [#/sec] (mean)
Time per request:       1.644 [ms] (mean)
Time per request:       0.016 [ms] (mean, across all concurrent requests)
Transfer rate:          14493.23 [Kbytes/sec] received

Connection Times (ms)
";
    assert!(text.contains(want), "{text}");
}

#[test]
fn failures_have_their_places() {
    let line = "-n 10 -r http://h/";
    let of = |line: &str| {
        let command = command(line);
        let mut result = result(&command, &ODD);
        result.ledger.ok = 3;
        result.ledger.failed = 2;
        result.status = [(200, 3), (304, 1), (503, 1)].into();
        result.errors = vec![
            error(Phase::Receiving, "length", 2),
            error(Phase::Connect, "refused", 3),
            error(Phase::Tls, "alert", 1),
            error(Phase::Waiting, "reset", 4),
            error(Phase::Waiting, "closed", 5),
            error(Phase::Sending, "broken_pipe", 6),
            error(Phase::Waiting, "timeout", 7),
        ];
        let text = shown(&command, &result);
        let start = text.find("Complete").expect("the count");
        let end = text.find("Total transferred").expect("the bytes");
        text[start..end].to_owned()
    };
    let want = "Complete requests:      5
Failed requests:        28
   (Connect: 4, Receive: 15, Length: 2, Exceptions: 7)
Write errors:           6
Non-2xx responses:      2
";
    assert_eq!(of(line), want);
    // To ab, what broke is complete, and of another length; a close is nothing but that.
    let want = "Complete requests:      20
Failed requests:        36
   (Connect: 4, Receive: 4, Length: 17, Exceptions: 11)
Write errors:           6
Non-2xx responses:      2
";
    assert_eq!(of(&format!("--as-original {line}")), want);
}

#[test]
fn requests_without_an_answer_count_unless_as_original() {
    for (line, longest) in [("-n 6 -e f http://h/", 500), ("--as-original -n 6 http://h/", 31)] {
        let command = command(line);
        let mut result = result(&command, &ODD);
        result.latency.response.record(500_000_000);
        result.latency.service.record(500_000_000);
        result.by_outcome.incomplete.record(500_000_000);
        result.ledger.timed_out = 1;
        let want = format!(" 100%  {longest:>5} (longest request)\n");
        assert!(shown(&command, &result).ends_with(&want), "{line}");
    }
}

#[test]
fn nothing_answered_leaves_the_tables_out() {
    let command = command("-n 5 http://h/");
    let text = shown(&command, &result(&command, &[]));
    assert!(text.ends_with("Total transferred:      0 bytes\nHTML transferred:       0 bytes\n"));
    assert_eq!(csv(&command, &result(&command, &[])), None);
    assert_eq!(gnuplot(&result(&command, &[]), 0), None);
}

#[test]
fn tables_can_be_left_out() {
    let command = command("-d -n 5 http://h/");
    let text = shown(&command, &result(&command, &ODD));
    assert!(text.contains("\nTotal:  ") && !text.contains("Percentage"));
    let once = self::command("http://h/");
    assert!(!shown(&once, &result(&once, &ODD[..1])).contains("Percentage"));
}

#[test]
fn doubts_are_about_rounding_and_so_for_as_original_only() {
    let says = |line: &str, waiting_us: [u64; 3]| {
        let command = command(line);
        let answered = waiting_us.map(|waiting_us| (0, 1000, waiting_us));
        let text = shown(&command, &result(&command, &answered));
        let (_, text) = text.split_once("\nTotal: ").expect("the last row");
        let (_, text) = text.split_once('\n').expect("its end");
        text.split("\nPercentage").next().expect("a beginning").to_owned()
    };
    // The mean of 433 µs is 0 ms, the median of 600 µs is 1 ms, and the deviation is 0.29 ms.
    let line = "-n 3 -k http://h/";
    assert_eq!(says(line, [100, 600, 600]), "");
    let error = "\
ERROR: The median and mean for the waiting time are more than twice the standard
       deviation apart. These results are NOT reliable.
";
    let original = "--as-original -n 3 -k http://h/";
    assert_eq!(says(original, [100, 600, 600]), error);
    // The mean of 377 µs is 0 ms, ab's median of 565 µs is 1 ms, and the deviation is 0.65 ms.
    let warning = "\
WARNING: The median and mean for the waiting time are not within a normal deviation
        These results are probably not that reliable.
";
    assert_eq!(says(original, [0, 0, 1130]), warning);
}

#[test]
fn tls_as_far_as_it_is_known() {
    for (agreed, want) in [
        ("TLS 1.3 TLS13_AES_256_GCM_SHA384", "TLSv1.3,TLS_AES_256_GCM_SHA384,?,256"),
        (
            "TLS 1.2 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLSv1.2,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,?,128",
        ),
    ] {
        let command = command("https://h/");
        let mut result = result(&command, &ODD[..1]);
        result.connections.tls = Some(agreed.to_owned());
        let want = format!(
            "Server Port:            443\nSSL/TLS Protocol:       {want}\n\
             TLS Server Name:        h\n\nDocument Path:"
        );
        assert!(shown(&command, &result).contains(&want), "{agreed}");
    }
}

#[test]
fn kept_connections_stand_for_the_requests_they_were_opened_for() {
    for line in ["-k -n 4 https://h/", "-k -n 4 -e f https://h/"] {
        let command = command(line);
        let mut result = result(&command, &EVEN);
        result.details.requests.iter_mut().for_each(|times| times.connect_ns = 0);
        result.phases[Phase::Connect].clear();
        result.phases[Phase::Connect].record(1_000_000);
        result.phases[Phase::Tls].record(2_000_000);
        // 3 ms and three times nothing: a mean of 0.75 ms, a deviation of 1.5 ms.
        assert!(
            shown(&command, &result).contains("\nConnect:        0    1   1.5      0       3\n")
        );
    }
}

#[test]
fn what_a_server_calls_itself_is_plain() {
    for (server, want) in
        [("Apache/2.4 (Unix)", "Apache/2.4"), ("a\u{1b}[31mb", "a"), ("\u{e9}", ""), ("", "")]
    {
        let command = command("http://h/");
        let mut result = result(&command, &ODD);
        result.details.first.as_mut().expect("there").server = server.to_owned();
        let want = format!("\n\nServer Software:        {want}\n");
        assert!(shown(&command, &result).starts_with(&want), "{server:?}");
    }
}

#[test]
fn a_table() {
    let command = command("-n 5 -c 2 -x border=1 -k http://h/a?b&c");
    let mut result = result(&command, &ODD);
    result.errors = vec![error(Phase::Connect, "refused", 3)];
    result.status.insert(500, 1);
    result.details.kept_alive = 4;
    let line = |name: &str, value: &str| {
        format!(
            "<tr ><th colspan=2 bgcolor=white>{name}</th><td colspan=2 bgcolor=white>{value}\
             </td></tr>\n"
        )
    };
    let row = |name: &str, [min, mean, max]: [u64; 3]| {
        format!(
            "<tr ><th bgcolor=white>{name}</th><td bgcolor=white>{min:>5}</td>\
             <td bgcolor=white>{mean:>5}</td><td bgcolor=white>{max:>5}</td></tr>\n"
        )
    };
    let want = [
        "\n\n<table border=1>\n".to_owned(),
        line("Server Software:", "nginx/1.18.0"),
        line("Server Hostname:", "h"),
        line("Server Port:", "80"),
        line("Document Path:", "/a?b&amp;c"),
        line("Document Length:", "6 bytes"),
        line("Concurrency Level:", "2"),
        line("Time taken for tests:", "0.010 seconds"),
        line("Complete requests:", "5"),
        line("Failed requests:", "3"),
        "<tr ><td colspan=4 bgcolor=white >   (Connect: 3, Length: 0, Exceptions: 0)</td></tr>\n"
            .to_owned(),
        line("Non-2xx responses:", "1"),
        line("Keep-Alive requests:", "4"),
        line("Total transferred:", "1220 bytes"),
        line("HTML transferred:", "30 bytes"),
        line("Requests per second:", "500.00"),
        line("Transfer rate:", "119.14 kb/s received"),
        "<tr ><th bgcolor=white colspan=4>Connection Times (ms)</th></tr>\n".to_owned(),
        "<tr ><th bgcolor=white>&nbsp;</th> <th bgcolor=white>min</th>   \
         <th bgcolor=white>avg</th>   <th bgcolor=white>max</th></tr>\n"
            .to_owned(),
        row("Connect:", [1, 1, 1]),
        row("Processing:", [10, 15, 30]),
        row("Total:", [11, 16, 31]),
        "</table>\n".to_owned(),
    ];
    assert_eq!(shown(&command, &result), want.concat());
    // What is left of the extremes: 31 − 1; and 82 ms over 5 requests less 5 ms over 5.
    let original = self::command("--as-original -n 5 -w http://h/");
    let text = shown(&original, &self::result(&original, &ODD));
    assert!(text.contains(&row("Processing:", [10, 15, 30])), "{text}");
}

#[test]
fn banners() {
    let shown = |line: &str| {
        let command = command(line);
        let mut out = Vec::new();
        banner(&command, &command.plan(Files::default()).expect("a plan"), &mut out)
            .expect("memory takes it");
        String::from_utf8(out).expect("text")
    };
    for (line, end) in [
        ("http://h/", "\n\nBenchmarking h (be patient)..."),
        ("-n 150 http://h/", "\n\nBenchmarking h (be patient)..."),
        ("-n 151 http://h/", "\n\nBenchmarking h (be patient)\n"),
        ("-q -n 151 http://h/", "\n\nBenchmarking h (be patient)..."),
        ("-X p:3128 http://h/", "\n\nBenchmarking h [through p:3128] (be patient)..."),
        ("-w http://h/", "<br>\n</p>\n<p>\n"),
    ] {
        let text = shown(line);
        assert!(text.ends_with(end), "{line}: {text}");
        assert!(text.contains("This is ApacheBench, Version 2.3 <"), "{line}: {text}");
    }
    let head = "(be patient)...INFO: GET header == \n---\nGET http://h/x HTTP/1.0\r\nHost: h\r\n\
                User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n\n---\n";
    assert!(shown("-v 2 -X p:1 http://h/x").ends_with(head));
}

#[test]
fn progress_is_told_by_steps() {
    let lines = |line: &str, counts: &[u64]| {
        let mut progress = Heartbeat::new(&command(line));
        counts.iter().map(|count| progress.lines(*count)).collect::<Vec<_>>()
    };
    assert_eq!(
        lines("-n 300 http://h/", &[0, 99, 100, 100, 300]),
        [
            "",
            "",
            "Completed 100 requests\n",
            "",
            "Completed 200 requests\nCompleted 300 requests\n"
        ]
    );
    assert_eq!(
        lines("-n 5000 http://h/", &[499, 1000]),
        ["".to_owned(), "Completed 500 requests\nCompleted 1000 requests\n".to_owned()]
    );
    assert_eq!(lines("-n 150 http://h/", &[150]), [""]);
    assert_eq!(lines("-q -n 5000 http://h/", &[5000]), [""]);
}

#[test]
fn endings() {
    let of = |line: &str, change: fn(&mut RunResult)| {
        let command = command(line);
        let mut result = result(&command, &ODD);
        change(&mut result);
        let ending = ending(&command, &result);
        (ending.stdout, ending.stderr, ending.report, ending.code)
    };
    let own = |stdout: &str, stderr: &str, report, code| {
        (stdout.to_owned(), stderr.to_owned(), report, code)
    };
    assert_eq!(of("-n 5 http://h/", |_| ()), own("..done\n", "", true, 0));
    let long = "-n 500 http://h/";
    assert_eq!(of(long, |_| ()), own("", "Finished 5 requests\n", true, 0));
    assert_eq!(of("-n 5 http://h/", |result| result.interrupted = true), own("", "", true, 1));
    assert_eq!(
        of("-n 5 http://h/", |result| result.errors = vec![error(Phase::Receiving, "length", 2)]),
        own("..done\n", "", true, 0)
    );
    let reset = |result: &mut RunResult| {
        result.errors = vec![error(Phase::Waiting, "reset", 2)];
    };
    let line = "apr_socket_recv: Connection reset by peer (104)\n";
    assert_eq!(of("-n 5 http://h/", reset), own("..done\n", line, true, 104));
    assert_eq!(of("-r -n 5 http://h/", reset), own("..done\n", "", true, 0));
    let aborted = |result: &mut RunResult| {
        result.errors = vec![error(Phase::Connect, "refused", 20)];
        result.aborted = Some("broken@last:3s>90%".to_owned());
        result.ledger.broken = 20;
        result.interrupted = true;
    };
    let stderr = "\nTest aborted after 20 failures\n\napr_socket_recv: Connection refused (111)\n";
    let stdout = "Total of 5 requests completed\n";
    assert_eq!(of("-n 50 http://h/", aborted), own(stdout, stderr, false, 111));
    let closed = |result: &mut RunResult| {
        result.errors = vec![error(Phase::Waiting, "closed", 20)];
        result.aborted = Some("broken@last:3s>90%".to_owned());
        result.ledger.broken = 20;
        result.interrupted = true;
    };
    let stderr = "\nTest aborted after 20 failures\n\n";
    assert_eq!(of("-n 50 http://h/", closed), own("", stderr, true, 1));
}

#[test]
fn files() {
    let command = command("-e e -g g -n 5 http://h/");
    let mut result = result(&command, &ODD);
    let csv = csv(&command, &result).expect("requests were answered");
    assert_eq!(csv.lines().count(), 102);
    for line in [
        "Percentage served,Time in ms",
        "0,11.000",
        "9,11.000",
        "10,11.900",
        "29,11.900",
        "30,13.200",
        "50,15.000",
        "89,31.100",
        "100,31.100",
    ] {
        assert!(csv.lines().any(|known| known == line), "{line}");
    }
    for (index, times) in result.details.requests.iter_mut().enumerate() {
        times.start_ns = index as u64 * 250_000_000;
    }
    // 1772409599 is 2026-03-01T23:59:59Z.
    let want = "starttime\tseconds\tctime\tdtime\tttime\twait\n\
                Sun Mar 01 23:59:59 2026\t1772409599\t1\t10\t11\t8\n\
                Mon Mar 02 00:00:00 2026\t1772409600\t1\t11\t12\t9\n\
                Sun Mar 01 23:59:59 2026\t1772409599\t1\t12\t13\t9\n\
                Mon Mar 02 00:00:00 2026\t1772409600\t1\t14\t15\t12\n\
                Mon Mar 02 00:00:00 2026\t1772409600\t1\t30\t31\t29\n";
    assert_eq!(gnuplot(&result, 0).as_deref(), Some(want));
    let ahead = gnuplot(&result, 3600).expect("requests were answered");
    assert!(ahead.contains("\nMon Mar 02 00:59:59 2026\t1772409599\t1\t10\t"), "{ahead}");
}

#[test]
fn reasons_for_no_run() {
    for (usage, stderr, code) in [
        (
            not_reached("Connection refused (os error 111)"),
            "apr_socket_recv: Connection refused (111)\n",
            111,
        ),
        (not_reached("no way"), "apr_socket_recv: no way\n", 1),
        (
            name_not_found("x.invalid"),
            "apr_sockaddr_info_get() for x.invalid: Name or service not known (670002)\n",
            50,
        ),
        (
            file_not_read("/nix", "No such file or directory"),
            "ab: Could not open POST data file (/nix): No such file or directory\n",
            1,
        ),
        (certificate_not_read("/x", "y"), "unable to get certificate from '/x': y\n", 1),
        (file_not_written("CSV", "y"), "Cannot open CSV output file: y\n", 1),
    ] {
        assert_eq!((usage.stdout.as_str(), usage.stderr.as_str(), usage.code), ("", stderr, code));
    }
}
