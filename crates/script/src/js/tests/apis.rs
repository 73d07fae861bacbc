//! The other modules and globals.

use super::*;

#[test]
fn expressions_have_values() {
    for (expression, want) in [
        ("typeof global === 'object' && global === globalThis", "true"),
        ("typeof Intl + typeof URL + typeof fetch", "undefinedundefinedundefined"),
        ("typeof atob + typeof performance", "undefinedundefined"),
        ("encoding.b64encode('hé')", "aMOp"),
        ("encoding.b64encode(new Uint8Array([255, 254]).buffer, 'rawurl')", "__4"),
        ("encoding.b64decode('aMOp', 'std', 's')", "hé"),
        ("new Uint8Array(encoding.b64decode('__4', 'rawurl'))[1]", "254"),
        ("new TextDecoder().decode(new TextEncoder().encode('ü€'))", "ü€"),
        ("Array.from(new TextEncoder().encode('ü'))", "[195,188]"),
        ("new TextDecoder('utf-8').decode(new Uint8Array([0xef, 0xbb, 0xbf, 97]))", "a"),
        ("k6.check(1, { a: 1 }) + ',' + k6.check(1, { a: (v) => v > 1 })", "true,false"),
        ("k6.group('g', () => 5)", "5"),
        ("exec.vu.idInInstance + exec.vu.iterationInInstance", "1"),
        ("(exec.vu.metrics.tags.a = 'x', exec.vu.metrics.tags)", "{\"a\":\"x\"}"),
        ("(exec.vu.tags.a = 1, delete exec.vu.tags.a, Object.keys(exec.vu.tags))", "[]"),
        ("exec.test.options", "{}"),
        ("[3, 1, 2].toSorted().at(-1)", "3"),
        ("Object.getOwnPropertyNames(globalThis).includes('Date')", "true"),
        ("(globalThis.Date = class { static now() { return 5; } }, Date.now())", "5"),
        ("new Int8Array(new Uint8Array([200]).buffer)[0]", "-56"),
        ("new Proxy({}, { get: () => 7 }).x", "7"),
    ] {
        assert_eq!(value_of(expression), want, "{expression}");
    }
}

/// Values of the RFCs and of FIPS 180: the hashes of `abc`, and HMAC's second test (RFC 2202,
/// RFC 4231).
#[test]
fn hashes_are_those_of_the_standards() {
    for (expression, want) in [
        ("crypto.md4('abc', 'hex')", "a448017aaf21d8525fc10ae87aa6729d"),
        ("crypto.md5('abc', 'hex')", "900150983cd24fb0d6963f7d28e17f72"),
        ("crypto.sha1('abc', 'hex')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "crypto.sha256('abc')",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        ("crypto.sha384('abc', 'hex').slice(0, 16)", "cb00753f45a35e8b"),
        ("crypto.sha512('abc', 'hex').slice(0, 16)", "ddaf35a193617aba"),
        ("crypto.sha512_224('abc', 'hex').slice(0, 16)", "4634270f707b6a54"),
        ("crypto.sha512_256('abc', 'hex').slice(0, 16)", "53048e2681941ef9"),
        ("crypto.ripemd160('abc', 'hex')", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
        (
            "crypto.hmac('md5', 'Jefe', 'what do ya want for nothing?', 'hex')",
            "750c783e6ab0b503eaa86e310a5db738",
        ),
        (
            "crypto.hmac('sha256', 'Jefe', 'what do ya want for nothing?', 'hex').slice(0, 16)",
            "5bdcc146bf60754e",
        ),
        (
            "crypto.createHash('sha1').update('a').update('bc').digest('base64')",
            "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=",
        ),
        ("crypto.createHMAC('sha1', 'k').update('x').digest('hex').length", "40"),
        ("crypto.sha1('abc', 'base64rawurl')", "qZk-NkcGgWq6PiVxeFDCbJzQ2J0"),
        ("new Uint8Array(crypto.sha1('abc', 'binary'))[0]", "169"),
        ("crypto.sha1(new Uint8Array([97, 98, 99]).buffer) === crypto.sha1('abc')", "true"),
        ("crypto.hexEncode('az')", "617a"),
        (
            "/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
                 .test(globalThis.crypto.randomUUID())",
            "true",
        ),
        ("new Set(globalThis.crypto.getRandomValues(new Uint16Array(40))).size > 30", "true"),
        ("crypto.randomBytes(11).byteLength", "11"),
    ] {
        assert_eq!(value_of(expression), want, "{expression}");
    }
}

#[test]
fn what_goes_wrong_is_one_line() {
    for (expression, want) in [
        ("k6.fail('why')", "Error: why"),
        ("k6.check(1, { 'a::b': 1 })", "may not have '::' in it"),
        ("k6.check(1, { a: async () => 1 })", "takes no async function"),
        ("k6.check(1, { a: () => Promise.resolve() })", "does not wait for promises"),
        ("k6.check(1)", "an object with a name for each condition"),
        ("k6.group('g', async () => 1)", "takes no async function"),
        ("k6.group('g')", "needs a function"),
        ("encoding.b64decode('!', 'std')", "b64decode() cannot decode"),
        ("encoding.b64encode('a', 'hex')", "std, rawstd, url, rawurl"),
        ("globalThis.crypto.getRandomValues({})", "fills typed arrays"),
        ("crypto.sha1('a', 'b')", "hex, base64, base64url, base64rawurl, binary"),
        ("crypto.createHash('sha3')", "is not one of md4, md5"),
        ("crypto.randomBytes(0)", "gives 1 to"),
        ("exec.scenario.name", "during iterations only"),
        ("exec.vu.metrics.tags.a = {}", "string, a number or a boolean"),
        ("setTimeout(5)", "needs a function"),
        ("new TextDecoder('latin1')", "decodes UTF-8 only"),
        ("open('a.txt')", "while a script loads only"),
        ("require('k6')", "while a script loads only"),
    ] {
        let line = value_of(expression);
        assert!(line.contains(want), "{expression}: {line}");
        assert!(line.starts_with("/s/main.js:"), "{expression}: {line}");
    }
}

#[test]
fn a_check_that_raises_has_failed() {
    let (steps, ending) = trace(
        "import { check } from 'k6';
         export default () => { check(null, { a: () => true, b: (v) => v.x, c: () => true }); };",
    );
    assert_eq!(ending, Ending::Failed);
    assert_eq!(steps[..2], ["record checks 1{check:a}", "record checks 0{check:b}"]);
    assert!(steps[2].starts_with("/s/main.js:2:"), "{steps:?}");
}

#[test]
fn a_group_is_left_by_an_exception() {
    let (steps, _) = trace(
        "import { group, sleep } from 'k6';
         export default () => {
             try { group('a', () => { group('b', () => { throw 1; }); }); } catch (e) {}
             group('c', () => sleep(1)); };",
    );
    assert_eq!(
        steps,
        ["enter ::a", "enter ::a::b", "Leave", "Leave", "enter ::c", "sleep 1", "Leave"]
    );
}

#[test]
fn metrics_take_what_k6_takes() {
    for (kind, value, want) in [
        ("Counter", "1", "record m 1"),
        ("Counter", "true", "record m 1"),
        ("Counter", "'2.5'", "record m 2.5"),
        ("Counter", "[]", "record m 1"),
        ("Rate", "false", "record m 0"),
        ("Rate", "0", "record m 0"),
        ("Gauge", "-3", "record m -3"),
        ("Counter", "-3", "record m -3"),
        ("Rate", "-Infinity", "record m -inf"),
        ("Trend", "Infinity", "record m inf"),
        ("Gauge", "new Date(7)", "record m 7"),
        ("Trend", "1.5, { a: 'b', c: 1 }", "record m 1.5{a:b, c:1}"),
        ("Counter", "", "note Warn metric 'm' cannot record 'undefined'"),
        ("Counter", "null", "note Warn metric 'm' cannot record 'null'"),
        ("Trend", "NaN", "note Warn metric 'm' cannot record 'NaN'"),
        ("Trend", "'x'", "note Warn metric 'm' cannot record 'x'"),
    ] {
        let (steps, _) = trace(&format!(
            "import {{ {kind} }} from 'k6/metrics'; const m = new {kind}('m');
             export default () => {{ m.add({value}); }};"
        ));
        assert_eq!(steps, [want], "{kind} {value}");
    }
}

#[test]
fn metrics_are_declared_while_a_script_loads() {
    for (text, want) in [
        ("new Counter('a'); new Gauge('a');", "counter, and cannot also be a gauge"),
        ("new Counter('1a');", "is not a name for a metric"),
        ("new Counter();", "a metric needs a name"),
        ("new Counter('a').add(1);", "within exported functions only"),
        ("new Trend('t', true); new Trend('t');", "cannot also be"),
    ] {
        let text = format!("import {{ Counter, Gauge, Trend }} from 'k6/metrics'; {text}");
        let failure = load(&text).err().unwrap();
        assert!(failure.text.contains(want), "{failure}");
    }
    let program = load(
        "import { Counter, Trend } from 'k6/metrics'; new Counter('a'); new Counter('a');
         new Trend('t', true); export default () => new Counter('b');",
    );
    let program = program.unwrap();
    let names: Vec<String> = program
        .registry()
        .declared()
        .iter()
        .map(|declared| format!("{} {}", declared.name, declared.kind.words()))
        .collect();
    assert_eq!(names, ["checks rate", "a counter", "t trend of times"]);
    let mut host = Host::new(program);
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Failed);
    assert!(vu.error().unwrap().text.contains("outside of functions"));
}

#[test]
fn shared_arrays_are_made_once() {
    let mut host = Host::of(
        "import { SharedArray } from 'k6/data';
         const made = [];
         const rows = new SharedArray('rows', () => { made.push(1); return [{ n: 1 }, { n: 2, l: [3] }, undefined]; });
         export default () => {
             let error; try { rows[0].n = 5; } catch (e) { error = e.name; }
             let change; try { rows[0] = 1; } catch (e) { change = e.name; }
             console.log(JSON.stringify([made, rows.length, rows[1].n, rows[1].l, rows[3] === undefined,
                 error, change, rows.map((r) => r && r.n), [...rows].length, rows.find((r) => r.n === 2).l,
                 Object.keys(rows), rows.hasOwnProperty('01')]));
         };",
    );
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    assert_eq!(
        host.trace,
        [
            "Info [[],3,2,[3],true,\"TypeError\",\"TypeError\",[1,2,null],3,[3],[\"0\",\"1\",\"2\"],false]"
        ]
    );
    for (text, want) in [
        ("new SharedArray('a', () => 5);", "has to return an array"),
        ("new SharedArray('', () => []);", "needs a name"),
        ("new SharedArray('a', async () => []);", "takes no async function"),
    ] {
        let failure = load(&format!("import {{ SharedArray }} from 'k6/data'; {text}"));
        assert!(failure.as_ref().err().unwrap().text.contains(want), "{text}");
    }
}

/// What k6 2.2 gives, for whatever the language does with arrays and not with what is like one.
#[test]
fn shared_arrays_are_arrays() {
    let all = [
        ("Array.isArray(s)", "true"),
        ("[s, { s }]", "[[{\"a\":1},\"x\",[3]],{\"s\":[{\"a\":1},\"x\",[3]]}]"),
        ("[].concat(s).length", "3"),
        ("s.concat([1]).length", "4"),
        ("[s].flat()[1]", "x"),
        ("Object.prototype.toString.call(s)", "[object Array]"),
        (
            "[s instanceof Array, s instanceof SharedArray, s.constructor === Array]",
            "[true,false,true]",
        ),
        ("[0 in s, 3 in s, '-1' in s, 'length' in s, 'map' in s]", "[true,false,false,true,true]"),
        (
            "[s[-1], s[3], s['01'], s[''], s['0x0'], s['99999999999999999999'], s[1.5], s.foo].every((x) => x === undefined)",
            "true",
        ),
        ("Object.getOwnPropertyNames(s)", "[\"0\",\"1\",\"2\",\"length\"]"),
        (
            "Object.getOwnPropertyDescriptor(s, 'length')",
            "{\"value\":3,\"writable\":true,\"enumerable\":false,\"configurable\":false}",
        ),
        ("[Object.isFrozen(s), Object.isExtensible(s)]", "[false,true]"),
        ("{ const [a, ...b] = s; return b; }", "[\"x\",[3]]"),
        ("({ ...s })", "{\"0\":{\"a\":1},\"1\":\"x\",\"2\":[3]}"),
        ("String(s)", "[object Object],x,3"),
        ("((...all) => all.length).apply(null, s)", "3"),
        ("s.toSorted()[0]", "[3]"),
        ("[e.length, e, Array.isArray(e)]", "[0,[],true]"),
        ("delete s[9]", "true"),
        ("s[0] === s[0]", "false"),
        ("s.at(-1)", "[3]"),
        ("s[Symbol.iterator] === [][Symbol.iterator]", "true"),
    ];
    let refused = [
        "s[0] = 1",
        "s[9] = 1",
        "s.foo = 1",
        "s.length = 0",
        "s.push(1)",
        "s.pop()",
        "s.shift()",
        "s.sort()",
        "s.reverse()",
        "s.fill(0)",
        "s.splice(0, 1)",
        "delete s[0]",
        "Object.freeze(s)",
        "Object.defineProperty(s, '0', { value: 1 })",
        "Reflect.set(s, 0, 1)",
        "s[0].a = 5",
        "s[2].push(1)",
    ];
    let refused = refused.map(|code| (code, "TypeError"));
    let tries: String = (all.iter().chain(&refused))
        .map(|(code, _)| {
            let body = if code.starts_with("{ ") {
                (*code).to_owned()
            } else {
                format!("{{ return {code}; }}")
            };
            format!("show(() => {body});\n")
        })
        .collect();
    let (trace, ending) = trace(&format!(
        "import {{ SharedArray }} from 'k6/data';
         const s = new SharedArray('s', () => [{{ a: 1 }}, 'x', [3]]), e = new SharedArray('e', () => []);
         function show(make) {{
             let made; try {{ made = make(); }} catch (error) {{ made = error.name; }}
             console.log(typeof made === 'string' ? made : JSON.stringify(made));
         }}
         export default () => {{ {tries} console.log(s); }};"
    ));
    assert_eq!(ending, Ending::Complete, "{trace:?}");
    for ((code, want), got) in all.iter().chain(&refused).zip(&trace) {
        assert_eq!(got, &format!("Info {want}"), "{code}");
    }
    assert_eq!(trace.last().unwrap(), "Info [ { a: 1 }, \"x\", [ 3 ] ]");
}

#[test]
fn metadata_are_text_until_the_next_scenario() {
    let mut host = Host::of(
        "import exec from 'k6/execution';
         export default () => {
             const { metadata } = exec.vu.metrics, seen = [];
             metadata.trace_id = 'abc'; metadata.n = 5; metadata.gone = 1; delete metadata.gone;
             try { metadata.o = {}; } catch (e) { seen.push(e.name); }
             try { exec.vu.metrics.metadata = {}; } catch (e) { seen.push(e.name); }
             try { for (let n = 0; n < 40; n++) metadata['k' + n] = n; }
             catch (e) { seen.push(e.message); }
             for (let n = 0; n < 40; n++) delete metadata['k' + n];
             console.log(JSON.stringify([seen, exec.vu.metrics.metadata, Object.keys(metadata),
                 'n' in metadata, 'gone' in metadata, Object.keys(exec.vu.metrics)])); };",
    );
    let mut vu = host.vu(1);
    assert_eq!(vu.metadata(), None);
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    let line = "Info [[\"TypeError\",\"TypeError\",\"a VU may have 32 metadata\"],\
                {\"trace_id\":\"abc\",\"n\":\"5\"},[\"trace_id\",\"n\"],true,false,[\"tags\",\"metadata\"]]";
    assert_eq!(host.trace, [line]);
    let pairs = [("trace_id", "abc"), ("n", "5")].map(|(name, value)| (name.into(), value.into()));
    assert_eq!(vu.metadata().as_deref(), Some(&pairs[..]));
    vu.forget_labels();
    assert_eq!(vu.metadata(), None);
}

#[test]
fn objects_of_modules_are_text_as_all_objects() {
    for object in [
        "exec",
        "exec.scenario",
        "exec.vu.metrics.tags",
        "exec.vu.metrics.metadata",
        "exec.test.options",
        "http.url`http://x/`",
        "http.expectedStatuses(200)",
        "http.file('x')",
        "http.cookieJar()",
        "http.get('http://x/')",
        "http.get('http://x/').timings",
    ] {
        let got = value_of(&format!("`${{{object}}}` + ('' + {object})"));
        assert_eq!(got, "[object Object][object Object]", "{object}");
    }
}

#[test]
fn the_execution_is_read_when_asked_for() {
    let mut host = Host::of(
        "import exec from 'k6/execution'; import { scenario, vu, instance, test } from 'k6/execution';
         import { sleep } from 'k6';
         export default () => {
             console.log(JSON.stringify([scenario.name, scenario.executor, scenario.startTime,
                 scenario.progress, scenario.iterationInTest, vu.idInTest, instance.vusActive,
                 exec.test.options.paused, instance.currentTestRunDuration]));
             sleep(1); console.log(instance.currentTestRunDuration, scenario.progress);
             test.fail('bad'); };",
    );
    let mut vu = host.vu(3);
    {
        let mut execution = vu.execution();
        execution.scenario = Some(Rc::new(ScenarioFacts {
            name: "login".to_owned(),
            executor: "constant-vus".to_owned(),
            started_ns: START_NS - 1_000_000_000,
            course: Course::Time { duration_ns: 4_000_000_000 },
            ..ScenarioFacts::default()
        }));
        execution.scenario_iteration_in_test = 41;
        execution.id_in_test = 13;
        execution.test_started_ns = START_NS - 2_000_000_000;
        execution.options = "{\"paused\":null}".into();
        execution.instance.vus_active.store(9, std::sync::atomic::Ordering::Relaxed);
    }
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    assert_eq!(
        host.trace,
        [
            "Info [\"login\",\"constant-vus\",1699999999000,0.25,41,13,9,null,2000]",
            "sleep 1",
            "Info 3000 0.5",
            "note Error bad",
        ]
    );
    assert!(vu.has_failed_test() && !vu.has_failed_test());
}

#[test]
fn tags_of_the_vu_are_on_all_it_records() {
    let (steps, _) = trace(
        "import exec from 'k6/execution'; import { check } from 'k6'; import { Gauge } from 'k6/metrics';
         const g = new Gauge('g');
         export default () => { exec.vu.metrics.tags.who = 'me';
             check(1, { a: 1 }, { b: 'c' }); g.add(1, { who: 'you' }); };",
    );
    assert_eq!(steps, ["record checks 1{b:c, check:a, who:me}", "record g 1{who:you}"]);
}

#[test]
fn tags_of_the_vu_show_those_of_its_scenario() {
    let mut host = Host::of(
        "import exec from 'k6/execution'; import { group } from 'k6';
         const tags = exec.vu.metrics.tags;
         export default () => {
             const show = () => console.log(JSON.stringify([tags, Object.keys(exec.vu.tags)]));
             group('g', show);
             tags.st = 'own'; tags.a = 1; tags.scenario = 'other'; show();
             delete tags.st; delete tags.a; delete tags.scenario; show();
             console.log('run' in tags, tags.none); };",
    );
    let mut vu = host.vu(1);
    let tags = [("st", "x"), ("scenario", "login"), ("run", "r")];
    vu.execution().scenario = Some(Rc::new(ScenarioFacts {
        tags: tags.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        tags_group: true,
        ..ScenarioFacts::default()
    }));
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    let lines: Vec<&str> =
        host.trace.iter().filter_map(|line| line.strip_prefix("Info ")).collect();
    let want = [
        r#"[{"group":"::g","run":"r","scenario":"login","st":"x"},["group","run","scenario","st"]]"#,
        r#"[{"a":"1","group":"","run":"r","scenario":"other","st":"own"},["a","group","run","scenario","st"]]"#,
        r#"[{"group":"","run":"r","scenario":"login","st":"x"},["group","run","scenario","st"]]"#,
        "true undefined",
    ];
    assert_eq!(lines, want);
}

#[test]
fn timers_run_in_order() {
    let (steps, ending) = trace(
        "export default function () {
             setTimeout((a, b) => console.log('b', a, b), 20, 1, 2);
             setTimeout(() => console.log('a'), 10);
             setTimeout(() => console.log('same'), 20);
             const gone = setTimeout(() => console.log('never'), 15); clearTimeout(gone); clearTimeout(99);
             let n = 0; const every = setInterval(() => { if (++n === 3) clearInterval(every); console.log(n); }, 7);
             Promise.resolve().then(() => console.log('job')); console.log('first');
         }",
    );
    assert_eq!(ending, Ending::Complete);
    let lines: Vec<&str> = steps.iter().filter_map(|line| line.strip_prefix("Info ")).collect();
    assert_eq!(lines, ["first", "job", "1", "a", "2", "b 1 2", "same", "3"]);
    assert!(!steps.iter().any(|line| line == "sleep 0"), "{steps:?}");
}

#[test]
fn promises_decide_how_an_iteration_ends() {
    for (body, want) in [
        ("return Promise.resolve(1);", None),
        ("return new Promise(() => {});", None),
        ("return Promise.reject(new Error('x'));", Some("Error: x")),
        ("await null; throw new Error('y');", Some("Error: y")),
        ("Promise.reject(new Error('z'));", Some("Error: z")),
        ("const p = Promise.reject(new Error('w')); p.catch(() => {});", None),
        (
            "setTimeout(() => { throw new Error('t'); }, 1); await new Promise(() => {});",
            Some("Error: t"),
        ),
    ] {
        let (steps, ending) = trace(&format!("export default async function () {{ {body} }}"));
        assert_eq!(ending == Ending::Complete, want.is_none(), "{body}: {steps:?}");
        if let Some(want) = want {
            assert!(steps.last().is_some_and(|line| line.contains(want)), "{body}: {steps:?}");
        }
    }
}

#[test]
fn the_environment_is_a_copy() {
    let settings = Settings { environment: vec![("A".into(), "1".into())], ..Settings::default() };
    let text = "export default () => { console.log(__ENV.A, __ENV.B, __ITER); __ENV.A = 'x'; };";
    let mut host = Host::new(load_with(&[(MAIN, text)], settings).unwrap());
    let (mut one, mut two) = (host.vu(1), host.vu(2));
    host.iterate(&mut one);
    host.iterate(&mut one);
    two.set_environment(&[("B".into(), "2".into())]);
    host.iterate(&mut two);
    one.set_environment(&[]);
    host.iterate(&mut one);
    assert_eq!(
        host.trace,
        ["Info 1 undefined 0", "Info x undefined 1", "Info 1 2 0", "Info 1 undefined 2"]
    );
}

#[test]
fn summaries_have_outputs() {
    let mut host = Host::of(
        "export default () => {};
         export function handleSummary(data) {
             data.seen = true;
             return { stdout: 'n=' + data.n, 'out.bin': new Uint8Array([1, 2]).buffer }; }",
    );
    let mut vu = host.vu(0);
    let function = host.program.function("handleSummary").unwrap();
    let task = Task::Summarize(function, "{\"n\": 3}".into());
    assert_eq!(host.run(&mut vu, task), Ending::Complete);
    let want = [("stdout".to_owned(), b"n=3".to_vec()), ("out.bin".to_owned(), vec![1, 2])];
    let data = "{\"n\":3,\"seen\":true}".to_owned();
    let want = Summarized { outputs: Some(Ok(want.to_vec())), data };
    assert_eq!(vu.summarized(), want);
}

#[test]
fn outputs_of_another_kind_are_errors() {
    let object = "has to return an object";
    let text = "a string or an ArrayBuffer for 'stdout'";
    for (returned, want) in [
        ("{ stdout: { a: 1 } }", Some(Err(text))),
        ("{ out: 'a', stdout: 5 }", Some(Err(text))),
        ("'text'", Some(Err(object))),
        ("[1]", Some(Err(object))),
        ("() => 1", Some(Err(object))),
        ("undefined", None),
        ("null", None),
        ("''", None),
        ("0", None),
        ("{}", Some(Ok(()))),
    ] {
        let script = format!(
            "export default () => {{}}; export function handleSummary() {{ return {returned}; }}"
        );
        let mut host = Host::of(&script);
        let mut vu = host.vu(0);
        let function = host.program.function("handleSummary").unwrap();
        let ending = host.run(&mut vu, Task::Summarize(function, "{}".into()));
        assert_eq!(ending, Ending::Complete, "{returned}: {:?}", vu.error());
        match (vu.summarized().outputs, want) {
            (None, None) => {}
            (Some(Ok(outputs)), Some(Ok(()))) => assert!(outputs.is_empty(), "{outputs:?}"),
            (Some(Err(error)), Some(Err(want))) => assert!(error.contains(want), "{error}"),
            (found, want) => panic!("{returned}: {found:?} is not {want:?}"),
        }
    }
}

#[test]
fn data_that_json_cannot_hold_is_told() {
    for (returned, want) in [
        ("{ a: { b: [1, NaN] } }", Err("'a.b.1' is NaN")),
        ("{ n: -Infinity }", Err("'n' is infinite")),
        ("{ f: () => 1 }", Err("'f' is a function")),
        (
            "[new Date(0), new Date(1230), new Date(NaN)]",
            Ok(Some(r#"["1970-01-01T00:00:00Z","1970-01-01T00:00:01.23Z",null]"#)),
        ),
        // What k6 makes of these.
        ("{ u: undefined, l: [undefined, 10n] }", Ok(Some(r#"{"u":null,"l":[null,10]}"#))),
        ("new Uint8Array([1, 2, 250])", Ok(Some(r#""AQL6""#))),
        (
            "[new Uint8Array([1, 2, 3]).subarray(1), new Uint8ClampedArray([1]), new Uint8Array()]",
            Ok(Some(r#"["AgM=","AQ==",null]"#)),
        ),
        (
            "[new Int8Array([-1]), new Float32Array([1.5]), new BigInt64Array([5n])]",
            Ok(Some("[[-1],[1.5],[5]]")),
        ),
        ("[new ArrayBuffer(2), new DataView(new ArrayBuffer(2))]", Ok(Some("[{},{}]"))),
        (
            "[new Map([['k', { a: new Uint8Array([9]) }]]), new Set([1, 'a'])]",
            Ok(Some(r#"[[["k",{"a":"CQ=="}]],[1,"a"]]"#)),
        ),
        ("{ a: [true, null, 'x'] }", Ok(Some(r#"{"a":[true,null,"x"]}"#))),
        ("undefined", Ok(None)),
    ] {
        let script =
            format!("export default () => {{}}; export function setup() {{ return {returned}; }}");
        let mut host = Host::of(&script);
        let mut vu = host.vu(0);
        let setup = host.program.function("setup").unwrap();
        assert_eq!(host.run(&mut vu, Task::Call(setup)), Ending::Complete, "{returned}");
        let want = want.map(|json| json.map(str::to_owned)).map_err(str::to_owned);
        assert_eq!(vu.result(), want, "{returned}");
    }
}
