//! What a script sends: the default request, static scripts, requests made for each call, pipelines
//! and delays.

use super::*;

#[test]
fn the_default_request_is_wrks() {
    let thread = one("");
    assert_eq!(thread.fixed(), Some(&b"GET /a?b=c HTTP/1.1\r\nHost: example.org:8080\r\n\r\n"[..]));
    assert_eq!((thread.depth(), thread.wants(), thread.has_delay()), (1, Wants::default(), false));
    assert_eq!((thread.address(), thread.is_stopped()), (None, false));
}

#[test]
fn the_host_header_is_made_of_the_url() {
    for (host, port, want) in [
        ("example.org", None, "Host: example.org"),
        ("example.org", Some(80), "Host: example.org:80"),
        ("::1", None, "Host: [::1]"),
        ("::1", Some(81), "Host: [::1]:81"),
    ] {
        let (_, threads) = load(&ScriptStart { host, port, ..plain("") }).unwrap();
        let text = String::from_utf8(threads[0].fixed().unwrap().to_vec()).unwrap();
        same(&text, "GET /a?b=c HTTP/1.1", &[want], "");
    }
    let headers = vec![("Host".to_owned(), "other".to_owned()), ("A".to_owned(), "b".to_owned())];
    let (_, threads) = load(&ScriptStart { headers, ..plain("") }).unwrap();
    let text = String::from_utf8(threads[0].fixed().unwrap().to_vec()).unwrap();
    same(&text, "GET /a?b=c HTTP/1.1", &["Host: other", "A: b"], "");
}

#[test]
fn a_static_script_is_asked_once() {
    let thread =
        one("wrk.method = 'POST'\nwrk.body = 'foo=bar'\nwrk.headers['Content-Type'] = 'x/y'\n\
         function init(args) wrk.path = '/' .. args[0]:sub(1, 4) .. args[2] .. #args end");
    same(
        std::str::from_utf8(thread.fixed().unwrap()).unwrap(),
        "POST /httptwo2 HTTP/1.1",
        &["Host: example.org:8080", "Content-Type: x/y", "Content-Length: 7"],
        "foo=bar",
    );
}

#[test]
fn format_changes_the_headers_it_is_given() {
    let mut thread =
        one("local own = { ['X-One'] = 1.5, Ok = true, Big = 1e15, Less = -2, Count = 12 }\n\
         function request()\n\
           local text = wrk.format('PUT', '/p', own, 'body')\n\
           host, length = own.Host, own['Content-Length']\n\
           after = wrk.format(nil, nil, own)\n\
           return text\n\
         end");
    same(
        &next(&mut thread),
        "PUT /p HTTP/1.1",
        &[
            "Host: example.org:8080",
            "Content-Length: 4",
            "X-One: 1.5",
            "Ok: true",
            "Big: 1e+15",
            "Less: -2",
            "Count: 12",
        ],
        "body",
    );
    assert_eq!(variable(&thread.state, "host"), "example.org:8080");
    assert_eq!(variable(&thread.state, "length"), "4");
    assert!(!variable(&thread.state, "after").contains("Content-Length"));
}

#[test]
fn requests_may_change_with_each_call() {
    let mut thread = one("counter = 0\n\
         request = function()\n\
           path = '/' .. counter\n\
           wrk.headers['X-Counter'] = counter\n\
           counter = counter + 1\n\
           if counter == 3 then request = function() return 12 end end\n\
           return wrk.format(nil, path)\n\
         end");
    assert_eq!(thread.fixed(), None);
    // The call with 0 was the first thread's check.
    for number in ["1", "2"] {
        let counter = format!("X-Counter: {number}");
        let line = format!("GET /{number} HTTP/1.1");
        same(&next(&mut thread), &line, &["Host: example.org:8080", &counter], "");
    }
    assert_eq!(next(&mut thread), "12");
}

#[test]
fn several_requests_at_once_are_counted() {
    let text = "function init()\n\
          local r = { wrk.format(nil, '/1'), wrk.format('POST', '/2', nil, 'xyz'), wrk.format() }\n\
          all = table.concat(r)\n\
        end\n\
        function request() return all end";
    let (_, threads) = load(&ScriptStart { threads: 2, ..plain(text) }).unwrap();
    assert_eq!(threads.iter().map(Thread::depth).collect::<Vec<_>>(), [3, 3]);
    // What a body holds is not a request.
    assert_eq!(one("wrk.body = 'GET / HTTP/1.1\\r\\n\\r\\n'").depth(), 1);
}

#[test]
fn an_init_for_the_older_wrk2_calls_wrks() {
    let mut thread = one("init = function(args)\n wrk.init(args)\n times = (times or 0) + 1\n\
         req = wrk.format(nil, '/x') end\n\
         request = function() return req end");
    same(&next(&mut thread), "GET /x HTTP/1.1", &["Host: example.org:8080"], "");
    assert_eq!(variable(&thread.state, "times"), "1");
}

#[test]
fn delays_are_milliseconds() {
    for (value, want) in
        [("10", 10_000_000), ("0.5", 500_000), ("-3", 0), ("nil", 0), ("'7'", 7_000_000)]
    {
        let mut thread = one(&format!("function delay() return {value} end"));
        assert!(thread.has_delay());
        assert_eq!(thread.delay_ns(), Ok(want), "{value}");
    }
    let text = "function delay() return 1 end";
    let (_, threads) = load(&ScriptStart { api: Api::Wrk2, ..plain(text) }).unwrap();
    assert!(!threads[0].has_delay());
}
