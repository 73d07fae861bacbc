//! The proxy under the simulated kernel: each promise as a scene.

use plimsoll_io::sim::SimOptions;
use plimsoll_server::proxy::{Balance, HealthCheck, HostField};

use crate::proxy_world::{Do, Outcome, Scene, bare, ok, say};
use crate::world::{Act, MS, S};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The status a client saw first.
fn status(outcome: &Outcome, client: usize) -> String {
    outcome.clients[client].text().get(9..12).unwrap_or_default().to_owned()
}

#[test]
fn requests_go_there_and_responses_come_back() {
    let outcome = Scene::of(&[(1, 0, GET), (2, 0, POST), (3, 1, GET)]).run(|_, _| ok("ok"));
    assert_eq!(outcome.clients[0].text(), OK.repeat(2));
    assert_eq!(outcome.clients[1].text(), OK);
    assert_eq!(outcome.log.connections, 1, "one after the other needs one");
    assert_eq!(outcome.log.text(0), [GET, POST, GET].concat());
    let counters = outcome.counters;
    assert_eq!((counters.requests, counters.completed, counters.reused), (3, 3, 2));
    assert_eq!((counters.upstream_connections, counters.responses[1]), (1, 3));
    let bytes = [GET, POST, GET].concat().len() as u64;
    assert_eq!((counters.client_bytes_received, counters.upstream_bytes_sent), (bytes, bytes));
    assert_eq!(outcome.open, 2);
}

#[test]
fn bodies_are_framed_anew_both_ways() {
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3;x=y\r\nabc\r\n02\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n";
    let forwarded = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                     3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let old = GET.replace("1.1", "1.0");
    for (request, said, want) in [
        (chunked, vec![say(OK)], OK.to_owned()),
        (GET, vec![say(format!("{head}2;a\r\nok\r\n0\r\nX: 1\r\n\r\n"))], {
            format!("{head}2\r\nok\r\n0\r\n\r\n")
        }),
        (
            GET,
            vec![say("HTTP/1.1 200 OK\r\n\r\n"), Do::Say(MS, b"ok".to_vec()), Do::Close(2 * MS)],
            { format!("{head}2\r\nok\r\n0\r\n\r\n") },
        ),
        (&old, vec![say(format!("{head}2\r\nok\r\n0\r\n\r\n"))], {
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok".to_owned()
        }),
        (&old, vec![say(OK)], {
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".to_owned()
        }),
        (&GET.replace("GET", "HEAD"), vec![say(&OK[..OK.len() - 2])], {
            OK[..OK.len() - 2].to_owned()
        }),
        (GET, vec![say("HTTP/1.1 204 No\r\n\r\n")], "HTTP/1.1 204 No\r\n\r\n".to_owned()),
    ] {
        let said = std::cell::RefCell::new(Some(said));
        let outcome = Scene::of(&[(1, 0, request)]).run(move |_, _| said.take().expect("one"));
        assert_eq!(outcome.clients[0].text(), want, "{request}");
        assert_eq!(outcome.counters.completed, 1);
        if request == chunked {
            assert_eq!(outcome.log.text(0), forwarded);
        }
    }
}

#[test]
fn interim_responses_are_passed_on() {
    let expects = POST.replace("\r\n\r\nbody", "\r\nExpect: 100-continue\r\n\r\n");
    let early = expects.replace("POST /", "POST /early");
    let scene = Scene::of(&[(1, 0, &early), (10, 0, "body")])
        .with(|rules| rules.limits.body_buffer_bytes = 0);
    let outcome = scene.run(|_, _| {
        vec![
            say("HTTP/1.1 100 Continue\r\n\r\n"),
            Do::Say(
                2 * MS,
                b"HTTP/1.1 103 Hints\r\nLink: x\r\nConnection: y\r\nY: 1\r\n\r\n".to_vec(),
            ),
            Do::Say(20 * MS, OK.as_bytes().to_vec()),
        ]
    });
    let want = format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n{OK}");
    assert_eq!(outcome.clients[0].text(), want);
    let switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    let outcome = Scene::of(&[(1, 0, GET)]).run(move |_, _| vec![say(switch)]);
    assert_eq!(status(&outcome, 0), "502");
}

#[test]
fn many_clients_share_few_connections_in_the_order_they_came() {
    let script: Vec<_> = (0..20).map(|client| (1 + client as u64, client, GET)).collect();
    let slow = |number: usize, _: &str| {
        let body = format!("{number:02}");
        vec![Do::Say(50 * MS, format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}").into())]
    };
    let scene = Scene::of(&script).with(|rules| rules.limits.upstream_connections = 2);
    let outcome = scene.run(slow);
    for (client, seen) in outcome.clients.iter().enumerate() {
        assert!(seen.text().ends_with(&format!("{client:02}")), "{client}: {}", seen.text());
    }
    assert_eq!((outcome.log.connections, outcome.counters.queued), (2, 18));

    let scene = Scene::of(&script).with(|rules| {
        rules.limits.upstream_connections = 1;
        rules.limits.queue = 3;
        rules.timeouts.queue_ns = 120 * MS;
    });
    let outcome = scene.run(slow);
    let statuses: Vec<_> = (0..20).map(|client| status(&outcome, client)).collect();
    assert_eq!(&statuses[..3], ["200"; 3], "the third waited for less than its time");
    assert_eq!(&statuses[3..], ["503"; 17], "{statuses:?}");
    assert_eq!((outcome.counters.queue_failures, outcome.counters.responses[4]), (17, 17));
}

#[test]
fn times_that_are_up() {
    let scene = |text: &str| {
        Scene::of(&[(1, 0, text)]).with(|rules| {
            rules.timeouts.response_ns = 100 * MS;
            rules.timeouts.upstream_idle_ns = 200 * MS;
            rules.timeouts.head_ns = 300 * MS;
            rules.timeouts.body_ns = 400 * MS;
            rules.timeouts.keep_alive_ns = 500 * MS;
        })
    };
    let silent = scene(GET).run(|_, _| Vec::new());
    assert_eq!((status(&silent, 0), silent.counters.gateway_timeouts), ("504".to_owned(), 1));
    assert!(silent.clients[0].at_ns(1) >= 100 * MS);

    let stops = |_: usize, _: &str| vec![say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")];
    let cut = scene(GET).run(stops);
    assert!(cut.clients[0].reset_ns.is_some_and(|at_ns| at_ns >= 200 * MS), "cut off");
    assert_eq!(cut.counters.cut_off, 1);

    for (text, at_ns) in [("GET / HT", 301 * MS), (&POST[..POST.len() - 1], 401 * MS)] {
        let outcome = scene(text).run(|_, _| ok("ok"));
        assert_eq!((status(&outcome, 0), outcome.counters.client_timeouts), ("408".to_owned(), 1));
        assert!((at_ns..at_ns + 5 * MS).contains(&outcome.clients[0].at_ns(1)), "{text}");
    }

    let idle = scene(GET).run(|_, _| ok("ok"));
    assert!(idle.clients[0].ended_ns.is_some_and(|at_ns| at_ns >= 500 * MS), "keep-alive");
    assert_eq!(idle.open, 0);
}

#[test]
fn only_what_is_safe_is_sent_again() {
    // The first answer, then the connection dies under the second request.
    let dies_once = |number: usize, _: &str| match number {
        1 => vec![Do::Reset(0)],
        _ => ok("ok"),
    };
    let put = POST.replace("POST", "PUT");
    for (request, want, connections) in [(GET, "200", 2), (&put, "200", 2), (POST, "502", 1)] {
        let outcome = Scene::of(&[(1, 0, GET), (2, 1, request)]).run(dies_once);
        assert_eq!(status(&outcome, 1), want, "{request}");
        assert_eq!(outcome.log.connections, connections, "{request}");
    }
    let dies_always = |number: usize, _: &str| match number {
        0 => ok("ok"),
        _ => vec![Do::Close(0)],
    };
    let outcome = Scene::of(&[(1, 0, GET), (2, 1, GET)]).run(dies_always);
    assert_eq!((status(&outcome, 1), outcome.counters.retries), ("502".to_owned(), 1));
    assert_eq!(outcome.log.requests_ns.len(), 3);
    // A connection that was new has said by dying that it saw the request.
    let outcome = Scene::of(&[(1, 0, GET)]).run(|_, _| vec![Do::Close(0)]);
    assert_eq!((status(&outcome, 0), outcome.counters.retries), ("502".to_owned(), 0));
    // A byte of a response is a response.
    let outcome = Scene::of(&[(1, 0, GET), (2, 1, GET)]).run(|number, _| match number {
        0 => ok("ok"),
        _ => vec![say("H"), Do::Reset(MS)],
    });
    assert_eq!((status(&outcome, 1), outcome.counters.retries), ("502".to_owned(), 0));
}

#[test]
fn responses_that_cannot_be_trusted() {
    for said in [
        "no HTTP at all\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked, x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    ] {
        let outcome = Scene::of(&[(1, 0, GET), (2, 1, GET)]).run(move |number, _| match number {
            0 => vec![say(said)],
            _ => ok("ok"),
        });
        assert_eq!(status(&outcome, 0), "502", "{said:?}");
        assert_eq!((status(&outcome, 1), outcome.log.connections), ("200".to_owned(), 2));
    }
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nZ\r\n";
    let outcome = Scene::of(&[(1, 0, GET)]).run(move |_, _| vec![say(chunks)]);
    assert_eq!(status(&outcome, 0), "502", "none of it was sent");
    let counters = outcome.counters;
    assert_eq!((counters.bad_gateway, counters.cut_off), (1, 0));
    assert_eq!(counters.responses, [0, 0, 0, 0, 1]);
    let (good, bad) = chunks.split_at(chunks.len() - 3);
    let outcome =
        Scene::of(&[(1, 0, GET)]).run(move |_, _| vec![say(good), Do::Say(MS, bad.into())]);
    assert!(outcome.clients[0].reset_ns.is_some(), "cut off, as it had begun");
    assert!(!outcome.clients[0].text().contains("0\r\n\r\n"));
    assert_eq!((outcome.counters.cut_off, outcome.counters.responses[1]), (1, 1));
}

#[test]
fn what_comes_after_a_response_is_nobodys_response() {
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    for actions in [
        vec![say([OK, evil].concat())],
        vec![say(OK), say(evil)],
        vec![say(OK), Do::Say(MS, evil.into())],
    ] {
        // The second client's request waits for the first one's connection.
        let scene = Scene::of(&[(1, 0, GET), (1, 1, GET), (5, 0, GET)])
            .with(|rules| rules.limits.upstream_connections = 1);
        let first = std::cell::RefCell::new(Some(actions));
        let outcome = scene.run(move |number, _| match number {
            0 => first.take().expect("the first"),
            _ => vec![Do::Say(MS / 2, OK.into())],
        });
        assert_eq!(outcome.clients[0].text(), OK.repeat(2));
        assert!(outcome.counters.unsolicited > 0 || outcome.clients[1].text() != OK);
    }
}

#[test]
fn an_early_response_ends_the_connection() {
    let early = "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome";
    let refusal = "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n";
    let outcome = Scene::of(&[(1, 0, early), (5, 0, "more")])
        .with(|rules| rules.limits.body_buffer_bytes = 0)
        .run(move |_, _| vec![say(refusal)]);
    let want = "HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(outcome.clients[0].text(), want);
    assert!(outcome.clients[0].ended_ns.is_some());
    assert_eq!(outcome.open, 0);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let requests: String =
        (0..50).map(|n| format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    let outcome = Scene::of(&[(1, 0, &requests)]).run(|number, _| ok(&format!("{number:02}")));
    let want: String = (0..50).map(|number| OK.replace("ok", &format!("{number:02}"))).collect();
    assert_eq!(outcome.clients[0].text(), want);
    let then_bad = format!("{GET}GET /  HTTP/1.1\r\n\r\n{GET}");
    let outcome = Scene::of(&[(1, 0, &then_bad)]).run(|_, _| ok("ok"));
    let text = outcome.clients[0].text();
    assert!(text.starts_with(&format!("{OK}HTTP/1.1 400 ")), "{text}");
    assert_eq!((outcome.log.requests_ns.len(), outcome.counters.refused), (1, 1));
}

#[test]
fn however_bytes_are_cut_each_client_gets_its_own() {
    for seed in 0..40 {
        let script: Vec<_> = (0..4)
            .flat_map(|client| (0..6).map(move |n| (1 + n / 2 * 20, client, n)))
            .map(|(at_ms, client, n)| {
                let target = format!("/{client}-{n}");
                let text = match n % 3 {
                    0 => format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"),
                    1 => {
                        format!("PUT {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
                    }
                    _ => format!(
                        "PUT {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                         4\r\nbody\r\n0\r\n\r\n"
                    ),
                };
                (at_ms * MS, client, Act::Send(text.into_bytes()))
            })
            .collect();
        let mut scene = Scene::of(&[]).acts(script).with(|rules| {
            rules.limits.upstream_connections = 2;
        });
        scene.sim = SimOptions { seed, split: 0.5, partial_write: 0.3, ..SimOptions::default() };
        let outcome = scene.run(|_, head| {
            let target = head.split(' ').nth(1).expect("a target");
            ok(target)
        });
        for (client, seen) in outcome.clients.iter().enumerate() {
            let want: String = (0..6)
                .map(|n| format!("/{client}-{n}"))
                .map(|body| format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{body}"))
                .collect();
            assert_eq!(seen.text(), want, "seed {seed}, client {client}");
        }
        assert_eq!(outcome.counters.completed, 24, "seed {seed}");
    }
}

#[test]
fn a_client_that_does_not_read_holds_its_upstream_back() {
    let size = 8 << 20;
    let scene = Scene::of(&[(1, 0, GET)])
        .acts([(0, 0, Act::Pause), (S, 0, Act::Resume)])
        .with(|rules| rules.limits.response_buffer_bytes = 64 << 10);
    let large = move |_: usize, _: &str| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
        vec![say([head.into_bytes(), vec![b'x'; size]].concat())]
    };
    let paused = Scene { until_ns: S - MS, ..scene }.run(large);
    assert!(paused.counters.upstream_bytes_received < 1 << 20, "{:?}", paused.counters);
    let scene = Scene::of(&[(1, 0, GET), (2000, 0, GET)])
        .acts([(0, 0, Act::Pause), (S, 0, Act::Resume)])
        .with(|rules| rules.limits.response_buffer_bytes = 64 << 10);
    let outcome = scene.run(large);
    assert_eq!((outcome.counters.completed, outcome.counters.reused), (2, 1));
    assert!(outcome.clients[0].bytes.len() > 2 * size);

    let stuck = Scene::of(&[(1, 0, GET)])
        .acts([(0, 0, Act::Pause)])
        .with(|rules| rules.timeouts.send_ns = 500 * MS)
        .run(large);
    assert_eq!((stuck.counters.client_timeouts, stuck.open), (1, 0), "{:?}", stuck.counters);
}

#[test]
fn a_large_body_goes_through_whole() {
    let body = "y".repeat(3 << 20);
    let post = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", 3 << 20);
    let outcome = Scene::of(&[(1, 0, &post)]).run(|_, _| ok("ok"));
    assert_eq!(outcome.clients[0].text(), OK);
    assert!(outcome.log.text(0) == post, "as it was sent");
}

#[test]
fn clients_that_leave_take_their_requests_along() {
    for act in [Act::Reset, Act::Close] {
        let outcome = Scene::of(&[(1, 0, GET), (50, 1, GET)])
            .acts([(5 * MS, 0, act)])
            .with(|rules| rules.limits.upstream_connections = 1)
            .run(|number, _| match number {
                0 => vec![Do::Say(100 * MS, OK.into())],
                _ => ok("ok"),
            });
        assert_eq!(outcome.clients[1].text(), OK);
        assert_eq!((outcome.open, outcome.counters.requests), (1, 2));
    }
    let half = Scene::of(&[(1, 0, GET)])
        .acts([(2 * MS, 0, Act::Finish)])
        .run(|_, _| vec![Do::Say(100 * MS, OK.into())]);
    assert!(half.clients[0].text().ends_with("ok"), "it still reads");
    assert_eq!((half.open, half.counters.completed), (0, 1));
    let cut = Scene::of(&[(1, 0, &POST[..POST.len() - 1])])
        .acts([(2 * MS, 0, Act::Finish)])
        .run(|_, _| ok("ok"));
    assert_eq!((cut.open, cut.counters.abandoned, cut.log.requests_ns.len()), (0, 1, 0));
    let part = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbo";
    for (cut_short, completed) in [(part, 2), ("GET / HT", 2), ("", 2)] {
        let pipelined = format!("{GET}{GET}{cut_short}");
        let ahead = Scene::of(&[(1, 0, &pipelined)])
            .acts([(2 * MS, 0, Act::Finish)])
            .run(|_, _| vec![Do::Say(100 * MS, OK.into())]);
        assert_eq!((ahead.open, ahead.counters.completed), (0, completed), "{cut_short}");
        let is_abandoned = u64::from(cut_short == part);
        assert_eq!(ahead.counters.abandoned, is_abandoned, "{cut_short}");
    }
}

#[test]
fn an_upstream_that_fails_is_put_aside_and_tried_again() {
    let script: Vec<_> = (0..40).map(|n| (1 + 10 * n as u64, n, GET)).collect();
    let scene = Scene::of(&script).with(|rules| {
        *rules = bare(2);
        rules.host = HostField::Upstream;
        rules.health.failures = 2;
        rules.health.fail_on_5xx = true;
        rules.health.aside_ns = 150 * MS;
    });
    // u1 is ill up to the third request that it gets.
    let mut ill = 0;
    let outcome = scene.run(move |_, head| {
        if head.contains("Host: u1") {
            ill += 1;
            if ill <= 3 {
                return vec![say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")];
            }
        }
        ok("ok")
    });
    let failed: Vec<_> = (0..40).filter(|&client| status(&outcome, client) == "500").collect();
    assert_eq!(failed.len(), 3, "two to notice, one to try: {failed:?}");
    assert_eq!(outcome.counters.put_aside, 1);
}

#[test]
fn health_checks_put_aside_and_back() {
    let script: Vec<_> = (0..40).map(|n| (5 + 10 * n as u64, n, GET)).collect();
    let scene = Scene::of(&script).with(|rules| {
        *rules = bare(2);
        rules.host = HostField::Upstream;
        rules.health.failures = 0;
        rules.health.check = Some(HealthCheck {
            path: "/well".to_owned(),
            interval_ns: 50 * MS,
            timeout_ns: 20 * MS,
        });
    });
    let mut checks = 0;
    let outcome = scene.run(move |_, head| match head.contains("/well") {
        true if head.contains("u1") => {
            checks += 1;
            if checks < 4 { Vec::new() } else { ok("") }
        }
        _ if head.contains("u1") => ok("u1"),
        _ => ok("u0"),
    });
    let answers: Vec<_> =
        (0..40).map(|client| outcome.clients[client].text().ends_with("u1")).collect();
    assert!(!answers[3..18].contains(&true), "{answers:?}");
    assert!(answers[25..].contains(&true), "{answers:?}");
    assert_eq!((outcome.counters.checks_failed, outcome.counters.put_aside), (3, 1));
}

#[test]
fn requests_are_spread_as_asked() {
    let field = |n: usize| format!("GET / HTTP/1.1\r\nHost: a\r\nX-User: {}\r\n\r\n", n % 5);
    let texts: Vec<_> = (0..30).map(field).collect();
    let script: Vec<_> =
        texts.iter().enumerate().map(|(n, text)| (1 + n as u64, n, text.as_str())).collect();
    for (balance, want_each) in [
        (Balance::RoundRobin, Some(10)),
        (Balance::LeastLoaded, Some(10)),
        (Balance::HashField("x-user".to_owned()), None),
        (Balance::HashAddress, None),
    ] {
        let scene = Scene::of(&script).with(|rules| {
            *rules = bare(3);
            rules.host = HostField::Upstream;
            rules.balance = balance.clone();
        });
        let outcome = scene.run(|_, head| {
            let host = head.split("Host: ").nth(1).and_then(|rest| rest.get(..2));
            ok(host.expect("an upstream's name"))
        });
        let seen: Vec<_> = outcome.clients.iter().map(|client| client.text()).collect();
        let to = |name: &str| seen.iter().filter(|text| text.ends_with(name)).count();
        if let Some(each) = want_each {
            assert_eq!([to("u0"), to("u1"), to("u2")], [each; 3], "{balance:?}");
        }
        if let Balance::HashField(_) = balance {
            assert!((5..30).all(|n| seen[n] == seen[n - 5]), "{seen:?}");
        }
        if balance == Balance::HashAddress {
            assert!((1..30).all(|n| seen[n] == seen[0]), "all are 127.0.0.1");
        }
    }
}

#[test]
fn told_to_stop_it_finishes_what_is_under_way() {
    let slow = |_: usize, _: &str| vec![Do::Say(100 * MS, OK.into())];
    let scene = Scene::of(&[(1, 0, GET), (60, 1, GET)]).acts([(MS, 2, Act::Send(Vec::new()))]);
    let outcome = Scene { stop_ns: Some(50 * MS), ..scene }.run(slow);
    let text = outcome.clients[0].text();
    assert!(text.contains("Connection: close") && text.ends_with("ok"), "{text}");
    assert!(outcome.finished && outcome.ended_ns < 200 * MS);
    assert!(outcome.clients[1].bytes.is_empty(), "it was idle, and closed");

    let mut scene = Scene::of(&[(1, 0, GET)]);
    scene.rules.timeouts.drain_ns = 20 * MS;
    let outcome = Scene { stop_ns: Some(50 * MS), ..scene }.run(slow);
    assert!(outcome.finished && outcome.ended_ns < 80 * MS, "the time to finish is over");
    assert!(outcome.clients[0].reset_ns.is_some());
    assert_eq!((outcome.counters.drained, outcome.counters.abandoned), (1, 0));
}

#[test]
fn refusals_are_said_and_nothing_is_forwarded() {
    for (request, want) in [
        ("GET / HTTP/1.1\r\n\r\n", "400"),
        ("GET / HTTP/1.1\nHost: a\n\n", "400"),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501"),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", "501"),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", "413"),
    ] {
        let scene = Scene::of(&[(1, 0, request)])
            .with(|rules| rules.limits.request.body_bytes = 10)
            .until(5 * S);
        let outcome = scene.run(|_, _| ok("ok"));
        assert_eq!(status(&outcome, 0), want, "{request}");
        assert_eq!((outcome.log.connections, outcome.counters.refused, outcome.open), (0, 1, 0));
    }
}
