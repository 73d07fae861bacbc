//! `k6/http`: what is sent for the arguments of a call, and what the response is.

use super::*;

/// The request that a call makes.
fn sent(call: &str) -> Request {
    let mut host =
        Host::of(&format!("import http from 'k6/http'; export default function () {{ {call}; }}"));
    let mut vu = host.vu(1);
    let function = host.program.function("default").unwrap();
    let step = vu.begin(Task::Iterate(function), START_NS);
    let (Step::Send(number) | Step::Begin(number)) = step else {
        panic!("{call}: {step:?} {:?}", vu.error());
    };
    vu.request(number).clone()
}

fn lines(request: &Request) -> String {
    request.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

#[test]
fn calls_become_requests() {
    const URL: &str = "'http://x.test/p?q=1'";
    for (call, method, body, headers) in [
        ("http.get(URL)", "GET", None, ""),
        ("http.head(URL)", "HEAD", None, ""),
        ("http.get(URL, { headers: { a: 1, 'X-B': 'c' } })", "GET", None, "a: 1\nX-B: c\n"),
        ("http.post(URL)", "POST", None, ""),
        ("http.post(URL, null)", "POST", None, ""),
        ("http.post(URL, '')", "POST", Some(""), ""),
        ("http.put(URL, 'text')", "PUT", Some("text"), ""),
        ("http.patch(URL, JSON.stringify({ a: 1 }))", "PATCH", Some("{\"a\":1}"), ""),
        ("http.del(URL)", "DELETE", None, ""),
        ("http.options(URL, 'o')", "OPTIONS", Some("o"), ""),
        ("http.request('report', URL, 'r')", "report", Some("r"), ""),
        ("http.asyncRequest('GET', URL)", "GET", None, ""),
        ("http.post(URL, new Uint8Array([97, 98]).buffer)", "POST", Some("ab"), ""),
        ("http.post(URL, new Uint8Array([97, 98, 99]).subarray(1))", "POST", Some("bc"), ""),
        (
            "http.post(URL, { b: 'x y&', a: [1, 2], n: null, u: 'ü' })",
            "POST",
            Some("a=1&a=2&b=x+y%26&n=%3Cnil%3E&u=%C3%BC"),
            "Content-Type: application/x-www-form-urlencoded\n",
        ),
        (
            "http.post(URL, { a: { x: 1, b: [true, undefined] }, l: [new Date(1500), []] })",
            "POST",
            Some(
                "a=map%5Bb%3A%5Btrue+%3Cnil%3E%5D+x%3A1%5D&l=1970-01-01+00%3A00%3A01.5+%2B0000+UTC&l=%5B%5D",
            ),
            "Content-Type: application/x-www-form-urlencoded\n",
        ),
        (
            "http.post(URL, { a: 1 }, { headers: { 'content-type': 'mine' } })",
            "POST",
            Some("a=1"),
            "content-type: mine\n",
        ),
    ] {
        let call = call.replace("URL", URL);
        let request = sent(&call);
        assert_eq!(request.method, method, "{call}");
        assert_eq!(request.url, "http://x.test/p?q=1", "{call}");
        let got = request.has_body.then(|| String::from_utf8_lossy(&request.body).into_owned());
        assert_eq!(got.as_deref(), body, "{call}");
        assert_eq!(lines(&request), headers, "{call}");
    }
}

#[test]
fn params_are_read() {
    let request = sent(
        "http.get(http.url`http://x.test/${5}/a`, { timeout: '1m5s', redirects: 2, throw: true,
            cookies: { a: 'b', c: { value: 'd', replace: true } }, auth: 'digest', unknown: {},
            compression: 'gzip', responseType: 'binary', tags: { t: 1, yes: true },
            responseCallback: http.expectedStatuses(200, { min: 300, max: 302 }) })",
    );
    assert_eq!(
        (request.url.as_str(), request.name.as_str()),
        ("http://x.test/5/a", "http://x.test/${}/a")
    );
    assert_eq!(request.timeout_ns, 65_000_000_000);
    assert_eq!(request.redirects_max, Some(2));
    assert!(request.throws);
    let cookies = [("a", "b", false), ("c", "d", true)];
    assert_eq!(request.cookies, cookies.map(|(n, v, r)| (n.to_owned(), v.to_owned(), r)));
    assert_eq!((request.auth.as_str(), request.compression.as_str()), ("digest", "gzip"));
    assert_eq!(request.response_body, ResponseBody::Binary);
    let expected = [199, 200, 201, 302, 303].map(|status| request.expected.holds(status));
    assert_eq!(expected, [false, true, false, true, false].map(Some));
    assert_eq!(sent("http.get('http://x.test', { timeout: 1500 })").timeout_ns, 1_500_000_000);
    assert_eq!(sent("http.get('http://x.test', { tags: { name: 'n' } })").name, "n");
    let off = sent("http.setResponseCallback(null); http.get('http://x.test')");
    assert_eq!(off.expected.holds(500), None);
}

#[test]
fn forms_with_files_have_parts() {
    let request = sent(
        "http.post('http://x.test', { text: 'v', none: null, list: [1, { b: new Uint8Array([7]) }],
            up: http.file('data', 'a\"b.txt', 'text/plain') })",
    );
    let headers = lines(&request);
    let boundary = headers.trim().strip_prefix("Content-Type: multipart/form-data; boundary=");
    let boundary = boundary.unwrap_or_else(|| panic!("{headers}"));
    let body = String::from_utf8(request.body).unwrap();
    assert_eq!(
        body.replace(boundary, "B"),
        "--B\r\nContent-Disposition: form-data; name=\"list\"\r\n\r\n[1 map[b:[7]]]\r\n\
         --B\r\nContent-Disposition: form-data; name=\"none\"\r\n\r\n<nil>\r\n\
         --B\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nv\r\n\
         --B\r\nContent-Disposition: form-data; name=\"up\"; filename=\"a\\\"b.txt\"\r\n\
         Content-Type: text/plain\r\n\r\ndata\r\n--B--\r\n"
    );
}

#[test]
fn what_cannot_be_sent_says_why() {
    for (call, want) in [
        ("http.get('http://x.test', { throw: true, timeout: 'soon' })", "is not a time such as"),
        (
            "http.get('http://x.test', { compression: 'lzma', throw: true })",
            "not one of gzip, deflate, br, zstd",
        ),
        (
            "http.get('http://x/%zz', { throw: true })",
            "has a % without two hexadecimal digits behind it",
        ),
        ("http.expectedStatuses('200')", "takes statuses"),
        ("http.setResponseCallback(() => {})", "a response callback is null"),
        ("http.batch('x')", "array or an object"),
    ] {
        let (steps, ending) =
            trace(&format!("import http from 'k6/http'; export default function () {{ {call}; }}"));
        assert_eq!(ending, Ending::Failed, "{call}");
        assert!(steps.last().is_some_and(|line| line.contains(want)), "{call}: {steps:?}");
    }
}

/// As in k6 1.8, whose number for these errors is 0.
#[test]
fn mistakes_in_calls_are_answers() {
    for (call, says) in [
        ("http.get(U, { timeout: 'soon' })", "is not a time such as '30s'"),
        ("http.get(U, { timeout: undefined })", "'undefined' is not a time"),
        ("http.get(U, { responseType: 'json' })", "text, binary, none"),
        ("http.get(U, { responseCallback: 5 })", "a response callback is null"),
        ("http.get(U, { compression: 'lzma' })", "not one of gzip, deflate, br, zstd"),
        ("http.get(U, { tags: { a: {} } })", "string, a number or a boolean"),
        ("http.post(U, 5)", "a body cannot be a number"),
        ("http.post(U, true)", "a body cannot be a boolean"),
        ("http.post(U, ['a'])", "a body cannot be a list"),
        ("http.post(U, () => 1)", "a body cannot be a function"),
        ("http.batch([['POST', U, 5]])[0]", "a body cannot be a number"),
    ] {
        let (steps, ending) = trace(&format!(
            "import http from 'k6/http'; const U = 'http://x.test/';
             export default function () {{
                 const r = {call}; console.log(r.status, r.error_code, r.error); }}"
        ));
        assert_eq!((steps.len(), ending), (2, Ending::Complete), "{call}: {steps:?}");
        assert!(steps[1].starts_with("Info 0 0 "), "{call}: {steps:?}");
        assert!(steps[1].contains(says), "{call}: {steps:?}");
    }
}

/// These are sent by k6 1.8, and so here.
#[test]
fn what_is_no_object_has_no_params() {
    for (call, method) in [
        ("http.get(U, 5)", "GET"),
        ("http.get(U, 'x')", "GET"),
        ("http.get(U, { tags: 5, jar: 5, headers: 5, cookies: 5 })", "GET"),
        ("http.get(U, { headers: null, cookies: { a: null }, jar: null, auth: null })", "GET"),
        ("http.request('get', U)", "get"),
        ("http.request('PaTcH', U)", "PaTcH"),
        ("http.request('', U)", "GET"),
        ("http.request(undefined, U)", "GET"),
        ("http.batch([{ method: 'GET', url: U, body: 5 }])", "GET"),
    ] {
        let request = sent(&call.replace('U', "'http://x.test/'"));
        assert_eq!((request.method.as_str(), request.has_body), (method, false), "{call}");
        assert_eq!((request.tags, request.cookies.len()), (None, 0), "{call}");
    }
    assert_eq!(sent("http.get('http://x.test', { timeout: -1 })").timeout_ns, 1);
    let cookies = sent("http.get('http://x.test', { cookies: { a: { replace: true } } })").cookies;
    assert_eq!(cookies, [("a".to_owned(), String::new(), true)]);
    assert_eq!(sent("http.batch([['GET', 'http://x.test/', 'x']])").body, b"x");
    // As in k6, which makes the method of an object upper case, and of nothing else.
    for (call, want) in [
        ("http.batch([{ method: 'post', url: 'http://x.test/' }])", "POST"),
        ("http.batch({ a: { method: 'pAtCh', url: 'http://x.test/' } })", "PATCH"),
        ("http.batch([['post', 'http://x.test/']])", "post"),
        ("http.request('post', 'http://x.test/')", "post"),
    ] {
        assert_eq!(sent(call).method, want, "{call}");
    }
}

#[test]
fn a_bad_url_is_an_answer_that_is_never_asked_for() {
    let (steps, ending) = trace(
        "import http from 'k6/http';
         export default function () { const r = http.get('http://x/%zz');
             console.log(r.status, r.error_code, r.body, r.error !== ''); }",
    );
    assert_eq!(ending, Ending::Complete);
    assert_eq!(steps[1], "Info 0 1020 null true");
    assert!(steps[0].starts_with("note Warn request failed: invalid URL: "), "{steps:?}");
    assert_eq!(steps.len(), 2);
}

#[test]
fn a_url_that_is_no_string_is_never_asked_for() {
    for url in ["", "undefined", "null", "5", "{}", "' http://x.test/'"] {
        let (steps, ending) = trace(&format!(
            "import http from 'k6/http';
             export default function () {{ const r = http.get({url});
                 console.log(r.status, r.error_code, r.body, r.error !== ''); }}"
        ));
        assert_eq!(ending, Ending::Complete, "{url}");
        assert_eq!(steps.last().map(String::as_str), Some("Info 0 1020 null true"), "{url}");
        assert_eq!(steps.len(), 2, "{url}: {steps:?}");
    }
    let (steps, ending) = trace(
        "import http from 'k6/http';
         export default function () {
             const all = http.batch([5, null, { method: 'GET' }, ['GET']]);
             console.log(all.map((r) => r.error_code).join()); }",
    );
    assert_eq!(ending, Ending::Complete);
    assert_eq!(steps.last().map(String::as_str), Some("Info 1020,1020,1020,1020"));
    assert_eq!(steps.len(), 5, "{steps:?}");
}

/// What expressions of a response `r` are.
fn seen(reaction: &Reaction, params: &str, expressions: &[&str]) -> Vec<String> {
    let all = expressions.join(", ");
    let mut host = Host::of(&format!(
        "import http from 'k6/http';
         export default function () {{ const r = http.get('http://x.test/a', {params});
             for (const v of [{all}]) console.log(typeof v === 'string' ? v : JSON.stringify(v)); }}"
    ));
    let reaction = reaction.clone();
    host.serve = Box::new(move |_| reaction.clone());
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    let lines = host.trace.iter().filter_map(|line| line.strip_prefix("Info "));
    lines.map(str::to_owned).collect()
}

#[test]
fn responses_have_properties_of_their_own() {
    let reaction = Reaction {
        head: "content-type: text/plain\r\nX-a: 1\r\nx-A: 2\r\n\
               Set-Cookie: id=\"7\"; Path=/p; Max-Age=60; HttpOnly; Secure\r\nset-cookie: s=t\r\n"
            .to_owned(),
        ..ok("{\"a\": {\"b\": [1, 2]}}")
    };
    let expressions = [
        "r.status",
        "r.status_text",
        "r.headers['Content-Type']",
        "r.headers['X-A']",
        "r.cookies.id[0].value + r.cookies.id[0].max_age + r.cookies.id[0].http_only",
        "r.cookies.s[0].expires",
        "r.timings.duration",
        "r.url",
        "r.remote_ip + ':' + r.remote_port",
        "r.json().a.b",
        "r.json('a.b.1')",
        "r.json('a.#') === undefined",
        "r.json() === r.json()",
        "r.headers === r.headers",
        "r.request.method + r.request.url",
        "Object.keys(r).length",
        "Object.keys(JSON.parse(JSON.stringify(r))).length",
        "(r.mine = 5, r.status = 1, r.mine + r.status)",
        "'status' in r && r.hasOwnProperty('body') && !r.hasOwnProperty('json')",
        "{ ...r }.error_code",
    ];
    let want = [
        "200",
        "200 OK",
        "text/plain",
        "1, 2",
        "760true",
        "-6795364578871",
        "21.5",
        "http://x.test/a",
        "127.0.0.1:80",
        "[1,2]",
        "2",
        "true",
        "true",
        "true",
        "GEThttp://x.test/a",
        "16",
        "16",
        "6",
        "true",
        "0",
    ];
    assert_eq!(seen(&reaction, "{}", &expressions), want);
    let fresh = seen(&reaction, "{}", &["Object.keys(r).join()"]);
    assert!(fresh[0].starts_with("remote_ip,remote_port,url,status,"), "{fresh:?}");
}

#[test]
fn bodies_come_as_asked_for() {
    for (params, reaction, want) in [
        ("{}", ok("häh"), "\"häh\""),
        ("{}", ok(""), "\"\""),
        ("{}", Reaction { body: vec![0xff, b'a'], ..ok("") }, "\"\u{fffd}a\""),
        ("{ responseType: 'none' }", ok("x"), "null"),
        ("{}", Reaction { status: 204, ..ok("") }, "null"),
        (
            "{}",
            Reaction { error: "refused".into(), error_code: 1212, ..Reaction::default() },
            "null",
        ),
    ] {
        assert_eq!(seen(&reaction, params, &["JSON.stringify(r.body)"]), [want], "{params}");
    }
    let bytes = "Array.from(new Uint8Array(r.body)).join()";
    assert_eq!(seen(&ok("ab"), "{ responseType: 'binary' }", &[bytes]), ["97,98"]);
    let invalid =
        ["r.json('a') === undefined", "(() => { try { r.json() } catch (e) { return 'no' } })()"];
    assert_eq!(seen(&ok("{"), "{}", &invalid), ["true", "no"]);
}

/// What k6 2.2 says of a request is what went out first, but for what belongs to the connection.
#[test]
fn responses_tell_what_was_sent() {
    let settings = Settings { user_agent: "agent/1".to_owned(), ..Settings::default() };
    let script = "import http from 'k6/http';
         const show = (response) => console.log(JSON.stringify(
             [response.request.headers, response.request.cookies]));
         export default function () {
             const url = 'http://x.test/';
             show(http.get(url));
             http.cookieJar().set(url, 's', '1'); http.cookieJar().set(url, 'q', 'a b');
             show(http.get(url));
             show(http.get(url, { headers: { 'x-a': 'b', 'user-agent': 'me', cookie: 'h=1' },
                                  cookies: { c: 'v', s: { value: 'o', replace: true } } }));
             show(http.post(url, 'x', { compression: 'gzip', headers: { 'Content-Length': '9' } }));
         }";
    let mut host = Host::new(load_with(&[(MAIN, script)], settings).unwrap());
    host.sends_first = true;
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    let lines: Vec<&String> = host.trace.iter().filter(|line| line.starts_with("Info")).collect();
    let cookie = |name: &str, value: &str| {
        format!(r#""{name}":[{{"name":"{name}","value":"{value}","replace":false}}]"#)
    };
    let (s, q) = (cookie("s", "1"), cookie("q", "a b"));
    let (h, c, o) = (cookie("h", "1"), cookie("c", "v"), cookie("s", "o"));
    assert_eq!(
        lines,
        [
            &r#"Info [{"User-Agent":["agent/1"]},{}]"#.to_owned(),
            &format!(
                r#"Info [{{"User-Agent":["agent/1"],"Cookie":["s=1; q=\"a b\""]}},{{{s},{q}}}]"#
            ),
            &format!(
                r#"Info [{{"User-Agent":["me"],"X-A":["b"],"Cookie":["h=1; c=v; s=o; q=\"a b\""]}},{{{h},{c},{o},{q}}}]"#
            ),
            &format!(
                r#"Info [{{"User-Agent":["agent/1"],"Content-Encoding":["gzip"],"Cookie":["s=1; q=\"a b\""]}},{{{s},{q}}}]"#
            ),
        ]
    );
}

/// As k6 2.2 takes them.
#[test]
fn jars_take_what_is_no_text_and_no_url() {
    let set = "(() => { const jar = new http.CookieJar(), u = 'http://x.test/';
        return [jar.set('no url', 'k', 'v'), jar.set('', 'k', 'v'), jar.set(u, 'a', null),
            jar.set(u, 'b'), jar.set(u, 'c', 1), jar.cookiesForURL(u), jar.cookiesForURL('no url')];
        })()";
    assert_eq!(value_of(set), r#"[true,true,true,true,true,{"a":[""],"b":[""],"c":["1"]},{}]"#);
    let parts = "(() => { const u = http.url`http://u:p@h:1/${1}/x?q=2#f`, parts = u.getURL();
        return [u, u.clean(), parts, parts.string()]; })()";
    assert_eq!(
        value_of(parts),
        "[{\"name\":\"http://u:p@h:1/${}/x?q=2#f\",\"url\":\"http://u:p@h:1/1/x?q=2#f\",\
         \"clean_url\":\"http://****:****@h:1/1/x?q=2#f\"},\"http://****:****@h:1/1/x?q=2#f\",\
         {\"scheme\":\"http\",\"host\":\"h:1\",\"path\":\"/1/x\",\"raw_query\":\"q=2\",\
         \"fragment\":\"f\"},\"http://u:p@h:1/1/x?q=2#f\"]"
    );
}

#[test]
fn cookies_belong_to_the_iteration_unless_a_jar_is_given() {
    let mut host = Host::of(
        "import http from 'k6/http';
         const own = new http.CookieJar();
         export default function () {
             const jar = http.cookieJar(), url = 'http://x.test/a';
             jar.set(url, 'mine', 'm', { path: '/', max_age: 60 });
             jar.set('http://other.test/', 'far', 'f');
             http.get(url, { cookies: { c: 'd' } });
             console.log(JSON.stringify(jar.cookiesForURL(url)));
             http.get(url, { cookies: { set: { value: 'e', replace: true } } });
             jar.delete(url, 'mine'); jar.clear('http://other.test/');
             console.log(JSON.stringify(http.cookieJar().cookiesForURL(url)),
                         JSON.stringify(jar.cookiesForURL('http://other.test/')));
             http.get(url, { jar: own });
         }",
    );
    host.serve =
        Box::new(|_| Reaction { head: "Set-Cookie: set=s; Path=/\r\n".to_owned(), ..ok("") });
    host.shows_cookies = true;
    let mut vu = host.vu(1);
    let mut lines = Vec::new();
    for _ in 0..2 {
        assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
        lines.append(&mut host.trace);
    }
    let iteration = |own: &str| {
        [
            "cookies c=d; mine=m",
            "Info {\"mine\":[\"m\"],\"set\":[\"s\"]}",
            "cookies set=e; mine=m",
            "Info {\"set\":[\"s\"]} {}",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("cookies {own}")])
        .collect::<Vec<_>>()
    };
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.starts_with("send")).collect();
    assert_eq!(lines, [iteration(""), iteration("set=s")].concat());
}

#[test]
fn batches_keep_their_keys_and_their_limits() {
    let (steps, ending) = trace(
        "import http from 'k6/http';
         export default function () {
             const list = http.batch(['http://a.test/1', ['POST', 'http://a.test/2', 'b'],
                                      { method: 'GET', url: 'http://b.test/3', params: {} }]);
             console.log(list.map((r) => r.url).join());
             const named = http.batch({ x: 'http://a.test/4', y: 'http://x/%zz' });
             console.log(named.x.status, named.y.status);
         }",
    );
    assert_eq!(ending, Ending::Complete, "{steps:?}");
    assert_eq!(
        steps,
        [
            "begin GET http://a.test/1",
            "begin POST http://a.test/2 \"b\"",
            "begin GET http://b.test/3",
            "Info http://a.test/1,http://a.test/2,http://b.test/3",
            "begin GET http://a.test/4",
            "note Warn request failed: invalid URL: 'http://x/%zz' has a % without two hexadecimal digits behind it: GET http://x/%zz",
            "Info 200 0",
        ]
    );
}

#[test]
fn batches_have_a_number_of_requests_under_way() {
    let settings = Settings { batch_max: 3, batch_per_host_max: 2, ..Settings::default() };
    let text = "import http from 'k6/http';
                export default function () { http.batch(['http://a.test/1', 'http://a.test/2',
                    'http://a.test/3', 'http://b.test/4', 'http://b.test/5']); }";
    let mut host = Host::new(load_with(&[(MAIN, text)], settings).unwrap());
    let mut vu = host.vu(1);
    let function = host.program.function("default").unwrap();
    let mut step = vu.begin(Task::Iterate(function), START_NS);
    let mut order = Vec::new();
    let mut open = Vec::new();
    loop {
        step = match step {
            Step::Begin(number) => {
                order.push(vu.request(number).url[14..].to_owned());
                open.push(number);
                vu.resume(Reply::Taken, START_NS)
            }
            Step::Wait(None) => {
                order.push("|".to_owned());
                let first = open.remove(0);
                host.answer(&mut vu, first)
            }
            Step::Done(ending) => {
                assert_eq!(ending, Ending::Complete);
                break;
            }
            step => panic!("{step:?}"),
        };
    }
    let order: String = order.concat();
    assert_eq!(order, "124|3|5|||");
}

#[test]
fn asynchronous_requests_are_promises() {
    let (steps, ending) = trace(
        "import http from 'k6/http'; import { sleep } from 'k6';
         export default async function () {
             const a = http.asyncRequest('GET', 'http://a.test/1');
             http.asyncRequest('GET', 'http://a.test/2').then((r) => console.log('2', r.status));
             sleep(1);
             console.log('1', (await a).status);
             await http.asyncRequest('GET', 'http://x/%zz', null, { throw: true }).catch(
                 (e) => console.log(e.message.slice(0, 11)));
         }",
    );
    assert_eq!(ending, Ending::Complete, "{steps:?}");
    assert_eq!(
        steps,
        [
            "begin GET http://a.test/1",
            "begin GET http://a.test/2",
            "sleep 1",
            "Info 1 200",
            "Info invalid URL",
            "Info 2 200",
        ]
    );
}

#[test]
fn answers_that_come_early_are_kept() {
    let mut host = Host::of(
        "import http from 'k6/http'; import { sleep } from 'k6';
         export default async function () {
             const a = http.asyncRequest('GET', 'http://a.test/1');
             sleep(1);
             console.log('slept', (await a).status);
         }",
    );
    let mut vu = host.vu(1);
    let function = host.program.function("default").unwrap();
    assert_eq!(vu.begin(Task::Iterate(function), START_NS), Step::Begin(0));
    assert_eq!(vu.resume(Reply::Taken, START_NS), Step::Sleep(1_000_000_000));
    assert_eq!(host.answer(&mut vu, 0), Step::Wait(None));
    // One that nothing asked for is ignored.
    let stray = Answer { request: 7, ..Answer::default() };
    assert_eq!(vu.resume(Reply::Ended(stray), START_NS), Step::Wait(None));
    assert_eq!(vu.resume(Reply::Woken, START_NS), Step::Log(Level::Info));
    assert_eq!(&*vu.line(), "slept 200");
    assert_eq!(vu.resume(Reply::Taken, START_NS), Step::Done(Ending::Complete));
}
