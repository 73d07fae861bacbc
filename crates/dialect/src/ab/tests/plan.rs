//! Plans made of commands. The heads are those that ab 2.3 prints with `-v 2`.

use plimsoll_core::Plan;
use plimsoll_core::plan::TlsVersions;

use super::command;
use crate::ab::Files;

fn plan(line: &str) -> Plan {
    let command = command(line);
    let body = command.body_path.is_some().then(|| b"a=1".to_vec());
    let certificate = command.certificate_path.is_some().then(|| b"PEM".to_vec());
    command.plan(Files { body, certificate }).unwrap_or_else(|errors| panic!("{line}: {errors}"))
}

/// The fields that are sent, in order.
fn fields(plan: &Plan) -> Vec<String> {
    let sent = plan.request.headers.iter().filter(|(_, value)| !value.is_empty());
    sent.map(|(name, value)| format!("{name}: {}", value.reveal())).collect()
}

#[test]
fn every_plan_can_be_run() {
    for line in [
        "http://h/",
        "-n 100 -c 10 -k http://h/",
        "-t 5 -c 10 -r http://h/",
        "-p f -T x/y http://h/",
        "-I -E pem https://h/",
    ] {
        let plan = plan(line);
        assert_eq!(
            (plan.workers, plan.templates, plan.request.http_minor),
            (1, false, 0),
            "{line}"
        );
    }
}

#[test]
fn heads_are_in_the_order_of_ab() {
    let own = ["Host: h:81", "User-Agent: ApacheBench/2.3", "Accept: */*"];
    let cases: [(&str, &[&str]); 6] = [
        ("http://h:81/", &own),
        (
            "-k -C a=b -C c=d -H X-A:1 -H Accept:q -A u:p -P x:y -p f -T foo http://h:81/",
            &[
                "Connection: Keep-Alive",
                "Cookie: c=d",
                "Authorization: Basic dTpw",
                "Proxy-Authorization: Basic eDp5",
                "Content-length: 3",
                "Content-type: foo",
                "X-A: 1",
                "Accept: q",
                "Host: h:81",
                "User-Agent: ApacheBench/2.3",
            ],
        ),
        (
            "-u f -H Host:foo http://h:81/",
            &[
                "Content-length: 3",
                "Content-type: text/plain",
                "Host: foo",
                "User-Agent: ApacheBench/2.3",
                "Accept: */*",
            ],
        ),
        ("-m POST http://h:81/", &own),
        ("-i http://h:81/", &own),
        ("-H user-agent:x http://h/", &["user-agent: x", "Host: h", "Accept: */*"]),
    ];
    for (line, want) in cases {
        assert_eq!(fields(&plan(line)), want, "{line}");
    }
    // Without a body none is announced, though a POST elsewhere has a length of 0.
    let taken = ("Content-Length".to_owned(), "".into());
    assert!(plan("-m POST http://h/").request.headers.contains(&taken));
    assert!(!plan("-p f http://h/").request.headers.contains(&taken));
}

#[test]
fn methods_and_bodies() {
    for (line, method, has_body) in [
        ("http://h/", "GET", false),
        ("-i http://h/", "HEAD", false),
        ("-p f http://h/", "POST", true),
        ("-u f http://h/", "PUT", true),
        ("-m DELETE http://h/", "DELETE", false),
        ("-p f -m PATCH http://h/", "PATCH", true),
    ] {
        let request = plan(line).request.clone();
        assert_eq!((request.method.as_str(), request.body.is_some()), (method, has_body), "{line}");
    }
}

#[test]
fn how_a_run_ends() {
    let cases = [
        ("-n 10 http://h/", Some(10), None, 30, 30, Some(1)),
        ("-n 10 -s 5 -k http://h/", Some(10), None, 5, 5, None),
        ("-t 10 http://h/", Some(50_000), Some(10), 30, 1, Some(1)),
    ];
    for (line, requests, duration_s, timeout_s, drain_s, per_connection) in cases {
        let plan = plan(line);
        let second_ns = 1_000_000_000;
        assert_eq!(plan.requests, requests, "{line}");
        assert_eq!(plan.duration_ns, duration_s.map(|s: u64| s * second_ns), "{line}");
        assert_eq!((plan.timeout_ns, plan.drain_ns), (timeout_s * second_ns, drain_s * second_ns));
        assert_eq!(plan.requests_per_connection, per_connection, "{line}");
    }
    assert_eq!(plan("http://h/").abort_when, ["broken@last:3s>90%"]);
    assert!(plan("-r http://h/").abort_when.is_empty());
}

#[test]
fn any_status_is_as_expected() {
    let texts: Vec<String> = plan("http://h/").expect.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["status=100..999"]);
}

#[test]
fn details_are_kept_where_they_are_shown() {
    for (line, same_length, requests) in [
        ("http://h/", true, false),
        ("-l http://h/", false, false),
        ("-g f http://h/", true, true),
        ("-e f http://h/", true, true),
        ("https://h/", true, true),
        ("-k https://h/", true, false),
    ] {
        let details = plan(line).details.clone();
        assert!(details.responses && !details.worker_rates, "{line}");
        assert_eq!((details.same_length, details.requests), (same_length, requests), "{line}");
    }
}

#[test]
fn tls_takes_any_certificate_and_names_the_server() {
    for (line, sni) in [
        ("https://h/", Some("h")),
        ("-I https://h/", Some("0.0.0.0")),
        ("https://127.0.0.1/", Some("0.0.0.0")),
        ("-H Host:foo.example:8443 https://127.0.0.1/", Some("foo.example")),
        ("http://h/", None),
    ] {
        assert_eq!(plan(line).tls.sni.as_deref(), sni, "{line}");
    }
    let tls = plan("-f TLS1.2 -E pem https://h/").tls.clone();
    assert!(tls.insecure && tls.alpn.is_empty() && tls.key.is_none());
    assert_eq!((tls.resume_percent, tls.versions), (0, TlsVersions::Only12));
    assert_eq!(tls.cert.expect("the certificate").bytes.reveal(), b"PEM");
}

#[test]
fn credentials_for_a_proxy_go_to_the_proxy_alone() {
    let plain = plan("-X p:3128 -P u:p http://h/");
    assert_eq!(plain.transport.proxy.as_ref().expect("a proxy").credentials, None);
    assert_eq!(fields(&plain)[0], "Proxy-Authorization: Basic dTpw");
    let tunnel = plan("-X p:3128 -P u:p https://h/");
    let credentials = tunnel.transport.proxy.as_ref().expect("a proxy").credentials.as_ref();
    assert_eq!(credentials, Some(&"u:p".into()));
    assert!(fields(&tunnel).iter().all(|field| !field.starts_with("Proxy-")));
}
