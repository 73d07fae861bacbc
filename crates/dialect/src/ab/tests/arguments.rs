//! How command lines are read, and the errors for those that cannot be read.

use plimsoll_core::plan::{DriverPlan, Spin, TlsVersions};

use super::{command, read};
use crate::ab::HtmlAttributes;

#[test]
fn defaults_and_numbers() {
    let plain = command("http://h/");
    assert_eq!((plain.requests, plain.concurrency, plain.timeout_s), (1, 1, 30));
    assert_eq!((plain.method.as_str(), plain.time_limit_s), ("GET", None));
    assert!(plain.warnings.is_empty() && plain.confidence && plain.percentages && plain.sni);
    let many = command("-c100 -n1000000 -s 5 http://h/");
    assert_eq!((many.requests, many.concurrency, many.timeout_s), (1_000_000, 100, 5));
}

#[test]
fn a_time_limit_sets_the_number_where_it_stands() {
    let cases = [
        ("-n 1000000 -t 10", 50_000, Some(10)),
        ("-t 10 -n 1000000", 1_000_000, Some(10)),
        ("-t 10", 50_000, Some(10)),
        ("-t 0", 50_000, None),
        ("-t -3", 50_000, None),
        ("-t 2147483647", 50_000, Some(31_536_000)),
    ];
    for (options, requests, limit_s) in cases {
        let command = command(&format!("{options} http://h/"));
        assert_eq!((command.requests, command.time_limit_s), (requests, limit_s), "{options}");
    }
}

#[test]
fn numbers_are_read_as_atoi_does_and_a_warning_says_so() {
    let cases = [
        ("10k", 10, 1),
        ("+7", 7, 1),
        ("007", 7, 1),
        ("99999999999999999999", 2_147_483_647, 1),
        ("12", 12, 0),
    ];
    for (text, requests, warnings) in cases {
        let command = command(&format!("-n {text} http://h/"));
        assert_eq!(command.requests, requests, "{text}");
        assert_eq!(command.warnings.len(), warnings, "{text}: {:?}", command.warnings);
    }
    assert_eq!(command("-n 10k http://h/").warnings, ["-n 10k is read as 10"]);
}

#[test]
fn urls() {
    let good = [
        ("http://h/", "http", "h", 80, "/"),
        ("h/", "http", "h", 80, "/"),
        ("https://h/a?b=c#d", "https", "h", 443, "/a?b=c#d"),
        ("http://127.0.0.1:8080/x", "http", "127.0.0.1", 8080, "/x"),
        ("http://[::1]:8080/", "http", "::1", 8080, "/"),
        ("[::1]/", "http", "::1", 80, "/"),
    ];
    for (text, scheme, host, port, path) in good {
        let endpoint = command(text).endpoint;
        let parts =
            (&*endpoint.scheme, &*endpoint.host, endpoint.port, endpoint.path.reveal().as_str());
        assert_eq!(parts, (scheme, host, port, path), "{text}");
    }
    let bad = [
        "http://h",
        "h",
        "http://",
        "80/",
        "h:0/",
        "h:/",
        "h:99999/",
        "h:x/",
        "h:+1/",
        "[::1]x/",
        "[::1/",
        "[h]/",
        "[é]/",
        "h:é/",
        "[fe80::1%eth0]/",
        "/x",
    ];
    for text in bad {
        let usage = read(text).expect_err(text);
        assert!(usage.stderr.starts_with("ab: invalid URL\nUsage: ab [options] "), "{text}");
        assert_eq!(usage.code, 22, "{text}");
    }
}

#[test]
fn what_cannot_be_read() {
    let cases = [
        ("", 22, "ab: wrong number of arguments\n"),
        ("-k", 22, "ab: wrong number of arguments\n"),
        ("http://h/ -n 5", 22, "ab: wrong number of arguments\n"),
        ("http://h/ http://h/", 22, "ab: wrong number of arguments\n"),
        ("-c 2 http://h/", 22, "ab: Cannot use concurrency level greater than total number of "),
        ("-c -1 http://h/", 22, "ab: Invalid Concurrency [Range 1..200000]\n"),
        ("-c 0 http://h/", 22, "ab: Invalid Concurrency [Range 1..200000]\n"),
        ("-n 999999 -c 200001 http://h/", 22, "ab: Invalid Concurrency [Range 1..200000]\n"),
        ("-n 0 http://h/", 1, "Invalid number of requests\n\n"),
        ("-n x http://h/", 1, "Invalid number of requests\n\n"),
        ("-i -p f http://h/", 1, "Cannot mix POST with other methods\n\n"),
        ("-p f -i http://h/", 1, "Cannot mix HEAD with other methods\n\n"),
        ("-m X -u f http://h/", 1, "Cannot mix PUT with other methods\n\n"),
        ("-s 0 http://h/", 1, "ab: -s 0 leaves no time: give 1 or more\n"),
        ("-B lo http://h/", 1, "ab: -B lo is not an address: give one of this host\n"),
        ("-X proxy http://h/", 1, "ab: -X proxy names no proxy: write HOST:PORT\n"),
        ("--driver x http://h/", 1, "ab: --driver x is unknown: give auto, uring or epoll\n"),
        ("--spin x http://h/", 1, "ab: --spin x is unknown: give auto, on or off\n"),
    ];
    for (line, code, start) in cases {
        let usage = read(line).expect_err(line);
        assert!(usage.stderr.starts_with(start), "{line}: {}", usage.stderr);
        assert_eq!((usage.code, usage.stdout.as_str()), (code, ""), "{line}");
    }
    for line in ["-Q http://h/", "-n", "--nonsense http://h/"] {
        let usage = read(line).expect_err(line);
        assert!(usage.stderr.starts_with("ab: ") && usage.stderr.contains("\nUsage: ab "));
        assert_eq!(usage.code, 22, "{line}");
    }
}

#[test]
fn usage_and_version_go_where_they_do_with_ab() {
    let usage = read("-n 5 -h").expect_err("the usage");
    let first = "Usage: ab [options] [http[s]://]hostname[:port]/path\nOptions are:\n";
    assert!(usage.stdout.is_empty() && usage.stderr.starts_with(first));
    assert_eq!(usage.code, 22);
    let version = read("-V -h").expect_err("the version");
    assert!(version.stdout.starts_with("This is ApacheBench, Version 2.3 <$Revision$>\n"));
    assert!(version.stdout.contains("Plimsoll ") && version.stdout.ends_with("\n\n"));
    assert_eq!((version.stderr.as_str(), version.code), ("", 0));
}

#[test]
fn every_option_has_its_place() {
    let line = "-k -r -q -d -S -l -i -I -w -v 1 -T a/b -C c=1 -A u:p -P x:y -H A:b \
                -B 127.0.0.2 -X 10.0.0.1:3128 -f tls1.3 -E pem -g g.tsv -e e.csv --as-original \
                --driver epoll --spin off --json-result r.json --quiet https://h/";
    let command = command(line);
    assert!(command.keep_alive && command.goes_on && command.variable_length);
    assert!(!command.heartbeat && !command.percentages && !command.confidence && !command.sni);
    assert!(command.as_original && command.quiet);
    assert_eq!((command.method.as_str(), command.verbosity), ("HEAD", 1));
    assert_eq!(command.content_type, "a/b");
    assert_eq!(command.cookie.as_deref(), Some("c=1"));
    let pairs: Vec<_> = command.credentials.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(pairs, [("Authorization", "u:p"), ("Proxy-Authorization", "x:y")]);
    assert_eq!(command.headers, [("A".to_owned(), "b".to_owned())]);
    assert_eq!(command.bind, "127.0.0.2".parse().ok());
    assert_eq!(command.proxy, Some(("10.0.0.1".to_owned(), 3128)));
    assert_eq!(command.tls_versions, TlsVersions::Only13);
    assert_eq!(command.certificate_path.as_deref(), Some("pem"));
    assert_eq!(command.gnuplot_path.as_deref(), Some("g.tsv"));
    assert_eq!(command.csv_path.as_deref(), Some("e.csv"));
    assert_eq!((command.driver, command.spin), (DriverPlan::Epoll, Spin::Off));
    assert_eq!(command.json_path.as_deref(), Some("r.json"));
}

#[test]
fn attributes_ask_for_the_table() {
    assert_eq!(command("http://h/").html, None);
    assert_eq!(command("-w http://h/").html, Some(HtmlAttributes::default()));
    let given = command("-x border=1 -y r -z c http://h/").html.expect("a table");
    assert_eq!((&*given.table, &*given.row, &*given.cell), ("border=1", "r", "c"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let cases = [
        ("-b 65536", "-b has no effect: the kernel sizes the buffers of sockets"),
        ("-Z RC4", "-Z RC4 has no effect: suites are not chosen"),
        ("-f SSL3", "-f SSL3 has no effect: TLS 1.2 and 1.3 are offered, as with ALL"),
        ("-f TLS1.1", "-f TLS1.1 has no effect: TLS 1.2 and 1.3 are offered, as with ALL"),
        ("-f TLS1", "-f TLS1 has no effect: TLS 1.2 and 1.3 are offered, as with ALL"),
        ("-v 4", "-v: responses are not printed, and neither are TLS handshakes"),
        ("-H nocolon", "a field of -H has no colon and is left out"),
        ("-H Empty:", "-H 'Empty:' has no value: the field is left out"),
        ("-C a=1 -C b=2", "-C replaces the -C before it, as with ab: write 'a=1; b=2' for two"),
    ];
    for (options, warning) in cases {
        assert_eq!(command(&format!("{options} http://h/")).warnings, [warning], "{options}");
    }
    for (options, versions) in [
        ("-f ALL", TlsVersions::Both),
        ("-f TLS1.2", TlsVersions::Only12),
        ("-f TLS1.3", TlsVersions::Only13),
    ] {
        let command = command(&format!("{options} http://h/"));
        assert_eq!(command.tls_versions, versions, "{options}");
        assert!(command.warnings.is_empty(), "{options}");
    }
}
