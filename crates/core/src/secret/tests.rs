//! What is shown of secrets, as tables. The word `hush` must never appear.

use super::*;
use crate::secret::words::Kind;

fn masks() -> Masks {
    Masks::default()
}

#[test]
fn a_secret_is_not_printed_and_not_written() {
    let secret = Secret::from("hush");
    assert_eq!(format!("{secret:?}"), "\"[masked:81]\"");
    assert_eq!(serde_json::to_string(&secret).unwrap(), format!("{secret:?}"));
    assert_eq!(
        serde_json::to_string(&Secret::new(b"hush".to_vec())).unwrap(),
        format!("{secret:?}")
    );
    assert_eq!(secret.reveal(), "hush");
    let public = Secret::public("seen".to_owned());
    assert_eq!(serde_json::to_string(&public).unwrap(), "\"seen\"");
    assert_eq!(serde_json::from_str::<Secret>("\"seen\"").unwrap(), public);
}

#[test]
fn a_fingerprint_is_eight_bits_and_stays_what_it_is() {
    for (text, want) in [("", "e1"), ("a", "bb"), ("hush", "81")] {
        assert_eq!(fingerprint(text.as_bytes()), want, "{text}");
    }
    let all: std::collections::BTreeSet<String> =
        (0..4000_u32).map(|n| fingerprint(format!("secret {n}").as_bytes())).collect();
    assert_eq!(all.len(), 256, "every value is taken");
}

#[test]
fn names_of_secrets() {
    for name in [
        "token",
        "access_token",
        "X-Auth-Token",
        "api_key",
        "apiKey",
        "API-KEY",
        "X-Amz-Signature",
        "X-Amz-Credential",
        "X-Amz-Security-Token",
        "client_secret",
        "passwd",
        "Password",
        "pwd",
        "user[password]",
        "PHPSESSIONID",
        "sid",
        "to%6Ben",
        "to%256Ben",
        "jwt",
        "bearer",
        "sig",
        "code",
        "otp",
        "p.w",
        "session-id",
        "x.pass-word",
    ] {
        assert_eq!(masks().hides(name), name != "p.w", "{name}");
    }
    for name in ["q", "page", "id", "user", "side", "n", "", "size", "grouping"] {
        assert!(!masks().hides(name), "{name}");
    }
    let more =
        Masks { names: vec!["E-Mail".to_owned(), "accept".to_owned(), String::new()], ..masks() };
    assert!(more.hides("email") && more.hides("user_email") && more.hides_header("Accept"));
    assert!(!more.hides("page") && !more.hides_header("Host"));
    let all = Masks { shows_all: true, ..more };
    assert!(!all.hides("token") && !all.hides_header("Cookie"));
}

#[test]
fn headers_are_shown_by_a_list() {
    for (name, is_hidden) in [
        ("Accept", false),
        ("content-type", false),
        ("USER-AGENT", false),
        ("Host", false),
        ("Authorization", true),
        ("Cookie", true),
        ("X-Auth-Token", true),
        ("Api-Key", true),
        ("X-Amz-Security-Token", true),
        ("X-Anything", true),
        ("Referer", true),
    ] {
        assert_eq!(masks().hides_header(name), is_hidden, "{name}");
    }
}

/// Texts with `hush` where it must not be seen, and what is seen: `*` for the mask.
fn check(cases: &[(&str, &str)], show: impl Fn(&str) -> String) {
    let mask = format!("[masked:{}]", fingerprint(b"hush"));
    for (text, want) in cases {
        let shown = show(text);
        assert_eq!(shown, want.replace('*', &mask), "{text}");
        assert_eq!(show(&shown), shown, "masked once more: {text}");
        assert_eq!(holds_mask(&shown), want.contains('*'), "{shown}");
    }
}

#[test]
fn urls() {
    check(
        &[
            ("/", "/"),
            ("/a/b?q=hull&page=2", "/a/b?q=hull&page=2"),
            ("/?token=hush", "/?token=*"),
            ("/?a=1&X-Amz-Signature=hush&b", "/?a=1&X-Amz-Signature=*&b"),
            ("/?a=1;api_key=hush;b=2", "/?a=1;api_key=*;b=2"),
            ("/?to%6ben=hush", "/?to%6ben=*"),
            ("/x;jsessionid=hush/y?z=1", "/x;jsessionid=*/y?z=1"),
            ("http://hush@h:80/x?code=hush#f", "http://*@h:80/x?code=*#f"),
            ("http://h/#access_token=hush", "http://h/#access_token=*"),
            ("https://h?password=hush", "https://h?password=*"),
            ("/?to=http://hush@h/", "/?to=http://*@h/"),
            ("/?to=http%3A%2F%2Fh%2F%3Ftoken%3Dhush", "/?to=http://h/?token=*"),
            ("/?to=%2Fcb%23access_token%3Dhush", "/?to=/cb#access_token=*"),
            ("/?to=%252Fcb%253Ftoken%253Dhush", "/?to=/cb?token=*"),
            ("/?state=a%3D1%26token%3Dhush", "/?state=a=1&token=*"),
            ("/?q=%7B%22token%22%3A%22hush%22%7D", "/?q={\"token\":\"*\"}"),
            ("/?q=%7B%22page%22%3A%22hull%22%7D", "/?q=%7B%22page%22%3A%22hull%22%7D"),
            ("/?a=b%3Dc&d=50%25", "/?a=b%3Dc&d=50%25"),
            ("/?a={{csv:tokens.csv:a}}", "/?a={{csv:tokens.csv:a}}"),
            ("/?a=b%3Ftoken%3Dhush{{seq}}", "/?a=b?token=*{{seq}}"),
            ("/?token={{csv:t.csv:token}}&n={{seq}}", "/?token={{csv:t.csv:token}}&n={{seq}}"),
            ("/?token=hush{{seq}}", "/?token=*{{seq}}"),
            ("/?token=", "/?token="),
        ],
        |text| masks().url(text),
    );
}

#[test]
fn flags_and_what_they_are_given() {
    let of = |kind| move |text: &str| masks().given(kind, text);
    check(
        &[
            ("Accept: a", "Accept: a"),
            ("X-Auth-Token:hush", "X-Auth-Token:*"),
            ("Cookie: hush", "Cookie: *"),
            ("X-Id: {{uuid}}", "X-Id: {{uuid}}"),
            ("Accept:", "Accept:"),
            ("hush", "*"),
        ],
        of(Kind::Header),
    );
    check(&[("hush", "*"), ("", "")], of(Kind::Credential));
    check(&[("@file", "@file"), ("hush", "4 bytes *")], of(Kind::Body));
    check(
        &[
            ("user=me", "user=me"),
            ("password=hush", "password=*"),
            ("key=@k.pem", "key=@k.pem"),
            ("data={\"password\":\"hush\"}", "data={\"password\":\"*\"}"),
        ],
        of(Kind::Field),
    );
    check(&[("MODE=hush", "MODE=*"), ("x", "x")], of(Kind::Variable));
    check(
        &[("h:1", "h:1"), ("hush@h:1", "*@h:1"), ("http://hush@h:1", "http://*@h:1")],
        of(Kind::Proxy),
    );
    check(
        &[
            ("status=200", "status=200"),
            // What cannot be read is shown, where a number would do.
            ("status>=500", "status>=500"),
            ("status=ok", "status=ok"),
            ("bytes=many", "bytes=many"),
            ("grpc-status=OK", "grpc-status=OK"),
            ("header:ETag=x", "header:ETag=x"),
            ("header:X-Auth-Token=hush", "header:X-Auth-Token=*"),
            ("header:Set-Cookie~=hush", "header:Set-Cookie~=*"),
            ("heder:X-Token=hush", "heder:X-Token=*"),
            ("happiness", "happiness"),
        ],
        of(Kind::Expectation),
    );
    assert_eq!((run_flag("form_urlencoded"), run_flag("rate")), (Kind::Field, Kind::Plain));
}

#[test]
fn commands() {
    check(
        &[
            ("server --port 80 --name x", "server --port 80 --name x"),
            ("server --token hush --port 80", "server --token * --port 80"),
            ("server --token=hush x", "server --token=* x"),
            ("API_KEY=hush server", "API_KEY=* server"),
            ("server --tls-key /etc/k.pem", "server --tls-key /etc/k.pem"),
            ("server --auth --port 80", "server --auth --port 80"),
            ("curl -H 'X-Token: hush' h", "curl -H 'X-Token: *' h"),
            (
                "-d '{\"user\":\"me\",\"password\": \"hush\"}'",
                "-d '{\"user\":\"me\",\"password\": \"*\"}'",
            ),
            ("curl http://hush@h/?a=1", "curl http://*@h/?a=1"),
            ("curl 'http://h/?token=hush&a=1'", "curl 'http://h/?token=*&a=1'"),
            ("--key \"hush\"", "--key \"*\""),
        ],
        |text| masks().text(text),
    );
}

#[test]
fn everything_is_shown_where_that_was_asked_for() {
    let all = Masks { shows_all: true, ..masks() };
    assert_eq!(all.url("http://u:hush@h/?token=hush"), "http://u:hush@h/?token=hush");
    assert_eq!(all.header("Cookie", "hush"), "hush");
    assert_eq!(all.text("--token hush"), "--token hush");
    for kind in [Kind::Credential, Kind::Body, Kind::Field, Kind::Proxy, Kind::Header] {
        assert_eq!(all.given(kind, "token=hush"), "token=hush");
    }
}

#[test]
fn codes_of_urls_are_decoded() {
    for (text, percent, form) in [
        ("", "", ""),
        ("a+b%2Bc", "a+b+c", "a b+c"),
        ("%c3%A4%e4", "ä\u{fffd}", "ä\u{fffd}"),
        // A sign is no digit, and what is cut off is no code.
        ("%+1%-1%1", "%+1%-1%1", "% 1%-1%1"),
        ("%%41%", "%A%", "%A%"),
    ] {
        assert_eq!(percent_decoded(text), percent, "{text}");
        assert_eq!(form_decoded(text), form, "{text}");
    }
    assert_eq!(percent_decoded_bytes("%FF%00a"), b"\xff\0a");
}

#[test]
fn receivers_of_figures_are_shown_without_passwords() {
    for (given, parts) in [
        (
            "influx=http://u:hush@h:8086/db?u=hull&p=hush",
            &["influx=http://", "@h:8086/db?u=", "&p="][..],
        ),
        ("prometheus-rw=http://hush:x@h/", &["prometheus-rw=http://", "@h/"]),
        ("otlp=http://h:4318/?token=hush", &["otlp=http://h:4318/?token="]),
        ("statsd=h:8125,dogstatsd", &["statsd=h:8125,dogstatsd"]),
        ("prometheus", &["prometheus"]),
    ] {
        let shown = Masks::default().given(Kind::Receiver, given);
        assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
        assert!(!shown.contains("hush") && !shown.contains("hull"), "{shown}");
    }
}

#[test]
fn names_of_submetrics_are_shown_without_secrets_in_urls() {
    let masks = Masks { names: vec!["email".to_owned()], shows_all: false };
    for name in ["checks", "a{b:c}", "http_reqs{url:http://h/?q=1,status:200}", "a{}"] {
        assert_eq!(masks.submetric(name), name);
    }
    for secret in ["a{url:http://h/?email=me}", "a{status:200,name:http://h/?token=me}"] {
        let shown = masks.submetric(secret);
        assert!(!shown.contains("=me") && shown.ends_with('}'), "{shown}");
        let before = secret.split_once('=').expect("a parameter").0;
        assert!(shown.starts_with(before), "{shown}");
    }
}

#[test]
fn names_and_tags_of_scripts_are_shown_without_secrets() {
    check(
        &[
            ("checkout", "checkout"),
            ("GET /a/b", "GET /a/b"),
            ("/ok?token=hush", "/ok?token=*"),
            ("GET /ok?a=1&token=hush", "GET /ok?a=1&token=*"),
            ("http://hush@h/x?password=hush", "http://*@h/x?password=*"),
            ("token=hush", "token=*"),
            ("/x;jsessionid=hush", "/x;jsessionid=*"),
            ("is status 200?", "is status 200?"),
            ("50 % of it", "50 % of it"),
        ],
        |text| masks().label(text),
    );
    check(&[("hush", "*")], |text| masks().tag("api_key", text));
    check(&[("u", "u"), ("/?token=hush", "/?token=*")], |text| masks().tag("page", text));
}
