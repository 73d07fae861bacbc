//! What a script gets from elsewhere: modules by their URLs, secrets, and what goes over the wire.

use super::World;

#[test]
fn modules_with_urls_come_from_a_cache() {
    let world = World::new(
        "import { double } from 'https://x.test/lib/1.0/double.js?v=2';
         export default function () { console.log('made ' + double(21)); }",
    );
    let folder = world.path("cache/x.test/lib");
    std::fs::create_dir_all(folder.join("1.0")).expect("folders");
    let double = "import { two } from '../two.js'; export const double = (n) => two * n;";
    std::fs::write(folder.join("1.0/double.js"), double).expect("a module");
    for (flags, code, says) in [
        (&[][..], 107, "--module-cache names no folder that could have it; nothing is downloaded"),
        (&["--module-cache", "cache"], 107, "as 'cache/x.test/lib/two.js': No such file"),
    ] {
        let finished = world.run(flags);
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert!(finished.stderr.contains(says), "{finished:?}");
    }
    std::fs::write(folder.join("two.js"), "export const two = 2;").expect("a module");
    let finished = world.run(&["--module-cache", "cache"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("made 42"), "{finished:?}");
    let by_name = crate::support::run(
        world.k6(&["run", "-q", "script.js"]).env("K6_MODULE_CACHE", world.path("cache")),
    );
    assert!(by_name.stderr.contains("made 42"), "{by_name:?}");
    let climber = "import 'https://x.test/%2e%2e/../../../../etc/hostname';";
    std::fs::write(world.path("script.js"), climber).expect("a script");
    let refused = world.run(&["--module-cache", "cache"]);
    assert_eq!(refused.code, Some(107), "{refused:?}");
}

#[test]
fn secrets_come_from_their_sources_and_are_never_shown() {
    let world = World::new(
        "import secrets from 'k6/secrets';
         export default async function () {
             const one = await secrets.get('key');
             const two = await (await secrets.source('two')).get('key');
             console.log(`got ${one} and ${two}, of ${one.length} and ${two.length} letters`);
             throw new Error(one); }",
    );
    std::fs::write(world.path("keys.env"), "other=x\nkey=hunter2\n").expect("a file");
    let flags =
        ["--secret-source", "file=keys.env,default", "--secret-source=mock=name=two,key=pw"];
    let finished = world.run(&flags);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("of 7 and 2 letters"), "{finished:?}");
    let all = finished.stdout + &finished.stderr;
    assert!(!all.contains("hunter2") && !all.contains("pw"), "{all}");
    for (flag, says) in [
        ("file=none.env", "--secret-source: file 'none.env': No such file"),
        ("vault=hunter2", "--secret-source: a source begins with mock= or file="),
    ] {
        let refused = world.run(&["--secret-source", flag]);
        assert_eq!(refused.code, Some(255), "{refused:?}");
        assert!(refused.stderr.contains(says), "{refused:?}");
        assert!(!refused.stderr.contains("hunter2"), "{refused:?}");
    }
}

#[test]
fn what_goes_over_the_wire_is_logged_if_asked_for() {
    let world = World::new(
        "import http from 'k6/http';
         export default function () {
             http.post(`${__ENV.BASE}/echo`, 'hello', { headers: { A: 'b' } }); }",
    );
    for (flag, has_bodies) in [("--http-debug", false), ("--http-debug=full", true)] {
        let finished = world.run(&[flag, "--log-format", "raw"]);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let text = &finished.stderr;
        assert!(text.contains("Request:\nPOST /echo HTTP/1.1\nHost: 127.0.0.1:"), "{text}");
        assert!(
            text.contains("\nA: b\n") && text.contains("Response:\nHTTP/1.1 200 OK\n"),
            "{text}"
        );
        assert_eq!(text.matches("hello").count(), if has_bodies { 2 } else { 0 }, "{text}");
    }
    let finished = world.run(&["--http-debug"]);
    assert!(finished.stderr.contains("scenario=default source=http-debug vu=1"), "{finished:?}");
    assert!(!world.run(&[]).stderr.contains("Request:"));
}

#[test]
fn no_line_of_the_log_shows_secrets_or_passwords_of_urls() {
    let world = World::new(
        "import http from 'k6/http'; import secrets from 'k6/secrets'; import exec from 'k6/execution';
         export default async function () {
             const key = await secrets.get('key');
             http.get(`${__ENV.BASE}/?key=${key}`, { headers: { Authorization: `Bearer ${key}` } });
             http.get('http://user:pa55@127.0.0.1:1/', { timeout: '1s' });
             exec.test.abort(`no more of ${key}`);
         }",
    );
    let flags = ["--secret-source=mock=key=top5ecret", "--http-debug=full", "--log-format=json"];
    let finished = world.run(&flags);
    let text = format!("{}{}", finished.stdout, finished.stderr);
    for shown in
        ["GET /?key=***SECRET_REDACTED***", "Bearer ***SECRET_REDACTED***", "request failed: "]
    {
        assert!(text.contains(shown), "{shown}: {finished:?}");
    }
    assert!(text.contains("no more of ***SECRET_REDACTED***"), "{finished:?}");
    for secret in ["top5ecret", "pa55"] {
        assert!(!text.contains(secret), "{secret}: {finished:?}");
    }
}
