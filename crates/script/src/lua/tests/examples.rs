//! The example scripts that the documents point to do what the documents say.

use super::*;

/// The examples that the documents point to do what they say.
#[test]
fn the_examples_run() {
    let mut post = one(include_str!("../../../../../examples/lua/post.lua"));
    assert!(post.fixed().is_some_and(|request| request.starts_with(b"POST /a?b=c HTTP/1.1")));
    assert!(next(&mut post).ends_with("\r\n\r\n{\"name\": \"plimsoll\", \"lines\": 6}"));

    let mut counter = one(include_str!("../../../../../examples/lua/counter.lua"));
    let headers = ["Host: example.org:8080", "X-Counter: 2"];
    same(&next(&mut counter), "GET /echo?n=2 HTTP/1.1", &headers, "");

    let mut token = one(include_str!("../../../../../examples/lua/token.lua"));
    assert!(next(&mut token).starts_with("POST /login HTTP/1.1\r\n"));
    let headers: [(&[u8], &[u8]); 1] = [(b"X-Token", b"secret")];
    token.response(200, headers.into_iter(), b"").unwrap();
    let headers = ["Host: example.org:8080", "Authorization: Bearer secret"];
    same(&next(&mut token), "GET /account HTTP/1.1", &headers, "");
    assert_eq!(token.wants(), Wants { response: true, headers: true, body: false });

    let arguments = vec!["3".to_owned()];
    let pipeline = include_str!("../../../../../examples/lua/pipeline.lua");
    let (_, threads) = load(&ScriptStart { arguments, ..plain(pipeline) }).unwrap();
    assert_eq!(threads[0].depth(), 3);

    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lua/");
    let arguments = vec![format!("{folder}paths.txt")];
    let paths = include_str!("../../../../../examples/lua/paths.lua");
    let (_, mut threads) = load(&ScriptStart { arguments, ..plain(paths) }).unwrap();
    let drawn: BTreeSet<String> = (0..100).map(|_| sorted(&next(&mut threads[0])).0).collect();
    let want = ["/ ", "/cart ", "/products/17 ", "/products?page=2 "];
    let want = want.map(|path| format!("GET {path}HTTP/1.1"));
    assert_eq!(drawn, BTreeSet::from(want));

    let (main, mut threads) = loaded(include_str!("../../../../../examples/lua/report.lua"));
    for status in [200, 404, 200] {
        threads[0].response(status, no_headers(), b"").unwrap();
    }
    assert_eq!(variable(&threads[0].state, "statuses[200] .. statuses[404] .. number"), "211");
    assert!(main.has_done());

    let stop = include_str!("../../../../../examples/lua/stop.lua");
    let (_, mut threads) =
        load(&ScriptStart { arguments: vec!["1".to_owned()], ..plain(stop) }).unwrap();
    let delay_ns = threads[0].delay_ns().unwrap();
    assert!((5_000_000..=15_000_000).contains(&delay_ns), "{delay_ns} ns");
    threads[0].response(200, no_headers(), b"").unwrap();
    assert!(threads[0].is_stopped());
}
