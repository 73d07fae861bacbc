//! The libraries of `jslib.k6.io`.

use super::*;

fn check_all(imports: &str, table: &[(&str, &str)]) {
    for (expression, want) in table {
        assert_eq!(value_with(imports, expression), *want, "{expression}");
    }
}

#[test]
fn k6_utils() {
    let imports = "import * as utils from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
        import { uuidv4 } from 'https://jslib.k6.io/k6-utils/1.1.0/index.js';
        import exec from 'k6/execution';
        const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
        const many = (count, make) => Array.from({ length: count }, make);";
    check_all(
        imports,
        &[
            ("utils.uuidv4 === uuidv4", "true"),
            ("many(50, () => uuidv4()).every((id) => uuid.test(id))", "true"),
            ("uuid.test(uuidv4(true)) && uuidv4() !== uuidv4()", "true"),
            ("[...new Set(many(200, () => utils.randomIntBetween(-1, 1)))].sort()", "[-1,0,1]"),
            ("[...new Set(many(200, () => utils.randomItem(['a', 'b'])))].sort()", "[\"a\",\"b\"]"),
            ("/^[a-z]{40}$/.test(utils.randomString(40))", "true"),
            ("utils.randomString(3, 'x') + utils.randomString(0)", "xxx"),
            ("utils.findBetween('<a>1</a><a>2</a>', '<a>', '</a>')", "1"),
            ("utils.findBetween('<a>1</a><a>2</a><a>', '<a>', '</a>', true)", "[\"1\",\"2\"]"),
            ("utils.findBetween('abc', 'x', 'y')", ""),
            ("utils.findBetween('abc', 'x', 'y', true)", "[]"),
            ("utils.findBetween('ab', '', '', true).length", "3"),
            ("utils.parseDuration('1d2h3m4.5s')", "93784500"),
            ("utils.parseDuration('250ms') + utils.parseDuration('7')", "257"),
            (
                "utils.normalDistributionStages(10, 20, 5)",
                "[{\"duration\":\"4s\",\"target\":2},{\"duration\":\"4s\",\"target\":7},\
                 {\"duration\":\"4s\",\"target\":10},{\"duration\":\"4s\",\"target\":7},\
                 {\"duration\":\"4s\",\"target\":0}]",
            ),
            ("utils.normalDistributionStages(100, 60).length", "10"),
            ("utils.check(1, { a: (v) => v === 1, b: true })", "true"),
            ("await utils.check(Promise.resolve(1), { a: async (v) => v === 2 })", "false"),
            ("await utils.check(1, { a: async () => true })", "true"),
        ],
    );
    for (expression, want) in [
        ("utils.parseDuration('5x')", "'5x' is not a duration"),
        ("utils.getCurrentStageIndex()", "only the executors ramping-vus"),
        ("utils.check(1, { a: () => { throw new Error('inside'); } })", "Error: inside"),
    ] {
        let line = value_with(imports, expression);
        assert!(line.contains(want), "{expression}: {line}");
    }
}

#[test]
fn k6_utils_know_the_stage() {
    let mut host = Host::of(
        "import { sleep, check } from 'k6'; import exec from 'k6/execution';
         import { getCurrentStageIndex, tagWithCurrentStageIndex, tagWithCurrentStageProfile }
             from 'https://jslib.k6.io/k6-utils/1.3.0/index.js';
         export default function () {
             const seen = [];
             for (let at = 0; at < 4; at++) {
                 tagWithCurrentStageIndex(); tagWithCurrentStageProfile();
                 seen.push([getCurrentStageIndex(), exec.vu.metrics.tags.stage,
                     exec.vu.metrics.tags.stage_profile]);
                 sleep(10);
             }
             console.log(JSON.stringify(seen)); }",
    );
    let mut vu = host.vu(1);
    {
        let mut execution = vu.execution();
        execution.scenario = Some(Rc::new(ScenarioFacts {
            name: "ramp".to_owned(),
            executor: "ramping-vus".to_owned(),
            started_ns: START_NS,
            ..ScenarioFacts::default()
        }));
        execution.options = "{\"scenarios\":{\"ramp\":{\"startVUs\":1,\"stages\":[\
            {\"duration\":\"10s\",\"target\":5},{\"duration\":\"10s\",\"target\":5},\
            {\"duration\":\"5s\",\"target\":0}]}}}"
            .into();
    }
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    assert_eq!(
        host.trace.last().unwrap(),
        "Info [[0,\"0\",\"ramp-up\"],[1,\"1\",\"steady\"],[2,\"2\",\"ramp-down\"],\
         [2,\"2\",\"ramp-down\"]]"
    );
}

#[test]
fn urls() {
    let imports = "import { URL, URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';
        const change = (url, name, value) => { const u = new URL(url); u[name] = value; return u.href; };";
    check_all(
        imports,
        &[
            (
                "new URL('HTTP://U:p@EXAMPLE.com:80/a/../b?c=d e#f').href",
                "http://U:p@example.com/b?c=d%20e#f",
            ),
            ("new URL('../x?y', 'https://h.test/a/b/c').href", "https://h.test/a/x?y"),
            ("new URL('//o.test', 'https://h.test/a').href", "https://o.test/"),
            ("new URL('http:/x', 'http://a.test/b').href", "http://a.test/x"),
            ("new URL('http://0x7f.1/').host", "127.0.0.1"),
            ("new URL('http://[1:0:0:2::3]:8080/').host", "[1:0:0:2::3]:8080"),
            ("new URL('http://[::ffff:1.2.3.4]/').hostname", "[::ffff:102:304]"),
            ("new URL('http://a/\u{e9}?\u{20ac}#\u{e9}').href", "http://a/%C3%A9?%E2%82%AC#%C3%A9"),
            ("new URL('mailto:a@b').pathname", "a@b"),
            (
                "new URL('foo://h/p').origin + new URL('https://h:8443/p').origin",
                "nullhttps://h:8443",
            ),
            ("URL.canParse('http://') + ',' + URL.canParse('/a', 'http://b')", "false,true"),
            ("change('http://a/b', 'protocol', 'https')", "https://a/b"),
            ("change('http://a/b', 'host', 'c:99')", "http://c:99/b"),
            ("change('http://a:1/b', 'port', '')", "http://a/b"),
            ("change('http://a/b', 'pathname', 'x y')", "http://a/x%20y"),
            ("change('http://a/b?c#d', 'search', '')", "http://a/b#d"),
            ("change('http://a/b', 'hash', 'z')", "http://a/b#z"),
            ("change('http://a/b', 'username', 'me@')", "http://me%40@a/b"),
            ("JSON.stringify({ url: new URL('http://a') })", "{\"url\":\"http://a/\"}"),
            (
                "(() => { const u = new URL('http://a/?x=1'); u.searchParams.append('y', '2 3'); \
                 return u.href; })()",
                "http://a/?x=1&y=2+3",
            ),
            (
                "new URLSearchParams([['utm', 'a b'], ['key', 'c&d']]).toString()",
                "utm=a+b&key=c%26d",
            ),
            ("new URLSearchParams({ a: 1, b: '~' }).toString()", "a=1&b=%7E"),
            ("new URLSearchParams('?a=1&b=%zz&a=%E2%82%AC').getAll('a')", "[\"1\",\"\u{20ac}\"]"),
            ("[...new URLSearchParams('b=1&a=2&b=3').keys()]", "[\"b\",\"a\",\"b\"]"),
            (
                "(() => { const p = new URLSearchParams('b=1&a=2&b=3'); p.set('b', 9); p.sort(); \
                 p.delete('x'); return `${p} ${p.size} ${p.has('a', '2')} ${p.get('q')}`; })()",
                "a=2&b=9 2 true null",
            ),
        ],
    );
    for (expression, want) in [
        ("new URL('x')", "TypeError: Invalid URL: 'x'"),
        ("new URL('http://h:99999')", "TypeError: Invalid URL"),
        ("new URL('http://a b')", "TypeError: Invalid URL"),
        ("new URL('http://b\u{fc}cher.test')", "give it in Punycode"),
        ("new URLSearchParams([['a']])", "needs pairs"),
    ] {
        let line = value_with(imports, expression);
        assert!(line.contains(want) && line.starts_with("/s/main.js:"), "{expression}: {line}");
    }
}

/// Every prefix of a URL is parsed or refused, and what is parsed stays as it is when it is parsed
/// once more.
#[test]
fn every_prefix_of_a_url_is_parsed_or_refused() {
    let value = value_with(
        "import { URL } from 'https://jslib.k6.io/url/1.0.0/index.js';
         const texts = ['https://u:p@[::1.2.3.4]:80/a/%2e%2e/b?c=%zz&\u{20ac}#\\ud800', 'foo:\\\\a//../?', '//x', 'file:///c:/'];
         const base = 'http://b.test/c/d?e#f';
         function run() {
             let refused = 0;
             for (const text of texts) for (let end = 0; end <= text.length; end++) {
                 let url;
                 try { url = new URL(text.slice(0, end), base); } catch (e) {
                     if (!(e instanceof TypeError)) throw e; refused++; continue; }
                 if (new URL(url.href).href !== url.href) return url.href;
             }
             return refused > 0;
         }",
        "run()",
    );
    assert_eq!(value, "true");
}

#[test]
fn papaparse() {
    let imports = "import Papa from 'https://jslib.k6.io/papaparse/5.1.1/index.js';
        const data = (text, config) => Papa.parse(text, config).data;";
    check_all(
        imports,
        &[
            ("data('a,b\\n1,\"x,y\"')", r#"[["a","b"],["1","x,y"]]"#),
            ("data('a;b\\n1;\"q \"\"r\"\"\\nz\"')", r#"[["a","b"],["1","q \"r\"\nz"]]"#),
            ("data('u,p\\r\\njo,x\\r\\n', { header: true })", r#"[{"u":"jo","p":"x"},{"u":""}]"#),
            (
                "data('u,p\\r\\njo,x\\r\\n', { header: true, skipEmptyLines: true })",
                r#"[{"u":"jo","p":"x"}]"#,
            ),
            (
                "data('n,t,e,s\\n-1.5e2,TRUE,,0x', { header: true, dynamicTyping: true })",
                r#"[{"n":-150,"t":true,"e":null,"s":"0x"}]"#,
            ),
            ("data('# no\\na,b', { comments: '#' })", r#"[["a","b"]]"#),
            ("data('a\\tb\\n1\\t2')[1][1] + Papa.parse('a|b').meta.delimiter", "2|"),
            ("data('a,b\\n\\n , \\n', { skipEmptyLines: 'greedy' })", r#"[["a","b"]]"#),
            ("data('a,b\\n1,2\\n3,4', { preview: 1, header: true })", r#"[{"a":"1","b":"2"}]"#),
            ("data('a,a\\n1,2', { header: true })", r#"[{"a":"1","a_1":"2"}]"#),
            ("data('a\\n1,2', { header: true })", r#"[{"a":"1","__parsed_extra":["2"]}]"#),
            ("data(\"a,'b,c'\", { quoteChar: \"'\" })", r#"[["a","b,c"]]"#),
            ("data('\u{feff}a,b')[0][0].length", "1"),
            ("Papa.parse('a,\"b').errors[0].code", "MissingQuotes"),
            ("Papa.parse('a,b\\n1', { header: true }).errors[0].code", "TooFewFields"),
            (
                "(() => { const seen = []; Papa.parse('a\\n1\\n2\\n3', { header: true, step(row, parser) \
                 { seen.push(row.data.a); if (seen.length === 2) parser.abort(); } }); return seen; })()",
                r#"["1","2"]"#,
            ),
            (
                "Papa.unparse([{ a: 1, b: 'x,y' }, { a: null, b: '\"' }])",
                "a,b\r\n1,\"x,y\"\r\n,\"\"\"\"",
            ),
            ("Papa.unparse([[1, ' a']], { delimiter: ';' })", "1;\" a\""),
            (
                "Papa.unparse({ fields: ['a'], data: [['=1']] }, { escapeFormulae: true })",
                "a\r\n\"'=1\"",
            ),
        ],
    );
    let line = value_with(imports, "Papa.parse('x', { download: true })");
    assert!(line.contains("no downloads"), "{line}");
}

/// Quotes, delimiters and line ends in every order of five: parsing ends, and what was written is
/// read again as it was.
#[test]
fn papaparse_reads_what_it_writes() {
    let value = value_with(
        "import Papa from 'https://jslib.k6.io/papaparse/5.1.1/index.js';
         const alphabet = ['a', ',', '\"', '\\n', ' '];
         function run() {
             for (let number = 0; number < 5 ** 5; number++) {
                 let [text, rest] = ['', number];
                 for (let at = 0; at < 5; at++) { text += alphabet[rest % 5]; rest = Math.floor(rest / 5); }
                 Papa.parse(text, { delimiter: ',', newline: '\\n' });
                 const written = Papa.unparse([['x', text]], { newline: '\\n' });
                 const read = Papa.parse(written, { delimiter: ',', newline: '\\n' }).data;
                 if (read.length !== 1 || read[0][1] !== text) return JSON.stringify([text, written, read]);
             }
             return true;
         }",
        "run()",
    );
    assert_eq!(value, "true");
}

const SUMMARY: &str = "const data = {
    root_group: { name: '', path: '', groups: [{ name: 'login', groups: [], checks: [{ name: 'ok', passes: 2, fails: 0 }] }],
        checks: [{ name: 'is 200', passes: 1, fails: 2 }] },
    options: { summaryTrendStats: ['avg', 'p(95)', 'count'], summaryTimeUnit: '' },
    metrics: {
        http_req_duration: { type: 'trend', contains: 'time', values: { avg: 1.2345, 'p(95)': 61234, count: 3 },
            thresholds: { 'p(95)<500': { ok: false } } },
        'http_req_duration{expected_response:true}': { type: 'trend', contains: 'time', values: { avg: 0.5, 'p(95)': 0, count: 1 } },
        checks: { type: 'rate', contains: 'default', values: { rate: 0.33339, passes: 1, fails: 2 } },
        data_sent: { type: 'counter', contains: 'data', values: { count: 12345, rate: 99.5 } },
        vus: { type: 'gauge', contains: 'default', values: { value: 1, min: 1, max: 19 }, thresholds: { 'value<5': { ok: true } } },
    } };";

#[test]
fn k6_summary() {
    let imports = format!(
        "import {{ textSummary, jUnit, humanizeValue }} from 'https://jslib.k6.io/k6-summary/0.0.2/index.js'; {SUMMARY}"
    );
    let text = value_with(&imports, "textSummary(data, { indent: ' ', enableColors: false })");
    let want = "     \u{2717} is 200
      \u{21b3}  33% \u{2014} \u{2713} 1 / \u{2717} 2

     \u{2588} login

       \u{2713} ok

     checks.........................: 33.33% \u{2713} 1     \u{2717} 2   
     data_sent......................: 12 kB  100 B/s
   \u{2717} http_req_duration..............: avg=1.23ms p(95)=1m1s count=3
       { expected_response:true }...: avg=500\u{b5}s  p(95)=0s   count=1
   \u{2713} vus............................: 1      min=1   max=19";
    assert_eq!(text, want);
    check_all(
        &imports,
        &[
            (
                "JSON.stringify(textSummary(data).split('\\n').filter((line) => line.endsWith('ok\\x1b[0m')))",
                "[\"\\u001b[32m       \u{2713} ok\\u001b[0m\"]",
            ),
            (
                "JSON.stringify(textSummary(data).split('\\n').at(-1))",
                "\"   \\u001b[32m\u{2713}\\u001b[0m vus\\u001b[2m............................:\\u001b[0m \
                 \\u001b[36m1\\u001b[0m      \\u001b[36;2mmin=1\\u001b[0m   \\u001b[36;2mmax=19\\u001b[0m\"",
            ),
            (
                "textSummary({ ...data, metrics: {} }, { enableColors: false }) === \
                 textSummary({ ...data, metrics: {} }, { enableColors: false, indent: ' ' })",
                "true",
            ),
            (
                // The mark of a part is as far in as its name.
                "textSummary({ metrics: { n: data.metrics.vus, 'n{a:b}': data.metrics.vus } }, \
                 { enableColors: false })",
                "   \u{2713} n...........: 1 min=1 max=19\n     \u{2713} { a:b }...: 1 min=1 max=19",
            ),
            ("humanizeValue(1500000, { type: 'counter', contains: 'data' })", "1.5 MB"),
            ("humanizeValue(90500, { type: 'trend', contains: 'time' })", "1m30s"),
            ("humanizeValue(90500, { type: 'trend', contains: 'time' }, 's')", "90.50s"),
            ("humanizeValue(1 / 3, { type: 'gauge', contains: 'default' })", "0.333333"),
            (
                "jUnit(data)",
                "<?xml version=\"1.0\"?>\n<testsuites tests=\"2\" failures=\"1\">\n<testsuite name=\"k6 \
                 thresholds\" tests=\"2\" failures=\"1\"><testcase name=\"http_req_duration - \
                 p(95)&lt;500\"><failure message=\"failed\" /></testcase>\n<testcase name=\"vus - \
                 value&lt;5\" />\n</testsuite>\n</testsuites>",
            ),
        ],
    );
}

#[test]
fn k6chaijs() {
    let (steps, ending) = trace(
        "import http from 'k6/http';
         import chai, { describe, expect } from 'https://jslib.k6.io/k6chaijs/4.3.4.3/index.js';
         chai.config.logFailures = true;
         export default function () {
             const outcomes = [
                 describe('crocs', () => {
                     const response = http.get('http://x.test/');
                     expect(response.status, 'response status').to.equal(200);
                     expect(response).to.have.validJsonBody();
                     expect(response.json(), 'list').to.be.an('array').that.includes(1);
                 }),
                 describe('fails', () => {
                     expect(42, 'it').to.be.within(1, 9);
                     expect(true).to.be.ok;
                 }),
                 describe('raises', () => { null.x; }),
                 describe('waits', async () => {
                     expect(1, 'one').to.equal(1); await null; expect(2, 'two').to.equal(2);
                 }),
             ];
             console.log(JSON.stringify(outcomes));
         }",
    );
    assert_eq!(ending, Ending::Complete);
    assert_eq!(
        steps,
        [
            "enter ::crocs",
            "send GET http://x.test/",
            "record checks 1{check:expected response status to equal 200}",
            "record checks 0{check:has valid json body}",
            "Warn has valid json body",
            "Leave",
            "enter ::fails",
            "record checks 0{check:expected it to be within 1..9}",
            "Warn expected 42 to be within 1..9",
            "Leave",
            "enter ::raises",
            "record checks 0{check:Exception raised \"TypeError: cannot read property 'x' of null\"}",
            "Error Exception raised in test \"raises\". Failing the test and continuing. \nTypeError: \
             cannot read property 'x' of null",
            "Leave",
            "enter ::waits",
            "record checks 1{check:expected one to equal 1}",
            "Leave",
            "Info [false,false,false,true]",
            "record checks 1{check:expected two to equal 2}",
        ]
    );
}

/// Whether assertions hold is that of Chai 4.3 for the same lines.
#[test]
fn k6chaijs_asserts_as_chai_does() {
    let holding = [
        "expect({ a: 1 }).to.not.have.property('b')",
        "expect({ a: { b: ['x', 'y'] } }).to.have.nested.property('a.b[1]')",
        "expect({ a: 1 }).to.have.own.property('a')",
        "expect([1, 2]).to.have.ordered.members([1, 2]).but.not.have.ordered.members([2, 1])",
        "expect({ a: 1, b: 2 }).to.have.all.keys('a', 'b')",
        "expect({ a: 1, b: 2 }).to.include.any.keys('a', 'c')",
        "expect([1, 2, 3]).to.be.an('array').that.includes(2)",
        "expect('foobar').to.include('foo').and.match(/^foo/)",
        "expect(NaN).to.be.NaN",
        "expect([]).to.be.empty",
        "expect({ a: [1, NaN] }).to.eql({ a: [1, NaN] }).but.not.equal({ a: [1, NaN] })",
        "expect('foo').to.have.length(3)",
        "expect([1, 2, 3]).to.have.lengthOf.above(2)",
        "expect([{ a: 1 }]).to.deep.include({ a: 1 })",
        "expect([1, 2, 3]).to.include.members([3, 1])",
        "expect(() => { throw new TypeError('bad x'); }).to.throw(TypeError, /bad/)",
        "expect(() => {}).to.not.throw()",
        "expect(2).to.be.oneOf([1, 2])",
        "expect({ a: 1 }).to.have.property('a').that.is.a('number')",
        "expect(new Date(5)).to.eql(new Date(5))",
        "expect(-0).to.not.eql(0)",
        "expect(null).to.be.null",
        "expect(undefined).to.not.exist",
        "expect(1.5).to.be.closeTo(1, 0.5)",
    ];
    let failing = [
        ("expect(1).to.equal(2)", "expected ${this} to equal 2", "expected 1 to equal 2"),
        (
            "expect([1], 'list').to.be.empty",
            "expected list to be empty",
            "expected [ 1 ] to be empty",
        ),
        (
            "expect({ a: 1 }).to.have.keys('b')",
            "expected ${this} to have key 'b'",
            "expected { a: 1 } to have key 'b'",
        ),
        (
            "expect('abc').to.have.lengthOf(2)",
            "expected ${this} to have a length of 2 got ${actual}",
            "expected 'abc' to have a length of 2 got 3",
        ),
    ];
    let chai = "import { expect } from 'https://jslib.k6.io/k6chaijs/4.3.4.0/index.js';";
    let lines = holding.join(";\n");
    let (steps, ending) = trace(&format!("{chai} export default () => {{ {lines} }};"));
    assert_eq!(ending, Ending::Complete, "{steps:?}");
    assert!(steps.iter().all(|step| step.starts_with("record checks 1{")), "{steps:?}");
    for (line, name, message) in failing {
        let (steps, ending) = trace(&format!("{chai}\nexport default () => {{\n{line};\n}};"));
        assert_eq!(ending, Ending::Failed);
        let want = [
            format!("record checks 0{{check:{name}}}"),
            format!("/s/main.js:3: AssertionError: {message}"),
        ];
        // The column is where the call ends.
        let [.., failed, error] = &steps[..] else { panic!("{steps:?}") };
        let place = error.splitn(4, ':').collect::<Vec<_>>();
        assert_eq!(*failed, want[0]);
        assert_eq!(format!("{}:{}:{}", place[0], place[1], place[3]), want[1], "{steps:?}");
    }
    let line = value_with(chai, "expect({}).to.matchSchema({})");
    assert!(line.contains("matchSchema() is not supported"), "{line}");
}

/// An assertion may be several checks. Their names are those that k6 1.8 shows with k6chaijs 4.5
/// for the same lines.
#[test]
fn k6chaijs_names_checks_as_in_k6() {
    let list = "expected v to be an array";
    let function = "expected v to be a function";
    for (line, want) in [
        (
            "expect('abc', 'v').to.have.length(3)",
            &[
                "expected v to have property 'length'",
                "expected v to have a length of 3 got ${actual}",
            ][..],
        ),
        (
            "expect([1], 'v').to.have.lengthOf.above(0)",
            &[
                "expected v to have property 'length'",
                "expected v to have a length above +0 got ${actual}",
            ],
        ),
        ("expect(5, 'v').to.have.lengthOf(2)", &["expected v to have property 'length' ✗"]),
        (
            "expect({ a: 1 }, 'v').to.have.property('a', 2)",
            &[
                "expected v to have property 'a'",
                "expected v to have property 'a' of 2, got ${actual} ✗",
            ],
        ),
        (
            "expect({ a: 1 }, 'v').to.not.have.property('a', 2)",
            &["expected v to not have property 'a' of ${actual}"],
        ),
        (
            "expect({ a: 1, b: 2 }, 'v').to.include({ a: 1 })",
            &[
                "expected v to have property 'a'",
                "expected v to have property 'a' of 1, got ${actual}",
            ],
        ),
        (
            "expect('hello', 'v').to.have.string('ell')",
            &["expected v to be a string", "expected v to contain 'ell'"],
        ),
        ("expect(null, 'v').to.not.exist", &["expected v to not exist"]),
        ("expect(1, 'v').to.be.oneOf([1, 2])", &[list, "expected v to be one of [ 1, 2 ]"]),
        (
            "expect([1, 2], 'v').to.have.members([2, 1])",
            &[list, list, "expected v to have the same members as [ 2, 1 ]"],
        ),
        (
            "expect([1, 2, 3], 'v').to.include.members([2, 1])",
            &[list, list, "expected v to be a superset of [ 2, 1 ]"],
        ),
        (
            "expect(1.5, 'v').to.be.closeTo(1, 0.1)",
            &["expected v to be a number", "expected v to be close to 1 +/- 0.1 ✗"],
        ),
        (
            "expect(() => { throw new Error('boom') }, 'v').to.throw('boom')",
            &[function, "expected v to throw an error"],
        ),
        (
            "expect(() => { throw new Error('boom') }, 'v').to.throw('bam')",
            &[
                function,
                "expected v to throw an error",
                "expected v to throw error including 'bam' got ${actual} ✗",
            ],
        ),
        (
            "expect(() => { throw new TypeError('x') }, 'v').to.throw(TypeError, 'x')",
            &[function, "expected v to throw TypeError"],
        ),
        (
            "expect(() => {}, 'v').to.not.throw()",
            &[function, "expected v to not throw an error ${actual} was thrown"],
        ),
        ("expect(5, 'v').to.throw()", &["expected v to be a function ✗"]),
        (
            "let x = 0; expect(() => { x++ }, 'v').to.increase(() => x).by(1)",
            &[
                function,
                function,
                "expected v to be a number",
                "expected 0 to increase",
                "expected 0 to increase by 1",
            ],
        ),
        (
            "expect({ a: 1 }, 'v').to.have.ownPropertyDescriptor('a')",
            &["expected v to have an own property descriptor for 'a'"],
        ),
        ("expect('x', 'v').to.be.within(1, 2)", &[]),
        (
            "expect('').to.equal('y'.repeat(39))",
            &["expected ${this} to equal 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…' ✗"],
        ),
    ] {
        let (steps, _) = trace(&format!(
            "import {{ expect }} from 'https://jslib.k6.io/k6chaijs/4.5.0.1/index.js';
             export default () => {{ {line} }};"
        ));
        let checks: Vec<String> = steps
            .iter()
            .filter_map(|step| step.strip_prefix("record checks "))
            .filter_map(|step| step.strip_suffix('}')?.split_once("{check:"))
            .map(|(value, name)| format!("{name}{}", if value == "1" { "" } else { " ✗" }))
            .collect();
        assert_eq!(checks, want, "{line}");
    }
}

#[test]
fn form_data() {
    let value = value_with(
        "import http from 'k6/http';
         import { FormData } from 'https://jslib.k6.io/formdata/0.0.2/index.js';
         function run() {
             const form = new FormData();
             form.append('aTextField', 'some\u{e9}');
             form.append('aFile', http.file('xyz', 'a\"b.txt', 'text/plain'));
             form.append('bytes', new Uint8Array([65, 66]));
             const text = new TextDecoder().decode(form.body());
             return text.split(form.boundary).join('B');
         }",
        "run()",
    );
    assert_eq!(
        value,
        "--B\r\nContent-Disposition: form-data; name=\"aTextField\"\r\nContent-Type: text/plain\r\n\r\nsome\u{e9}\r\n\
         --B\r\nContent-Disposition: form-data; name=\"aFile\"; filename=\"a%22b.txt\"\r\n\
         Content-Type: text/plain\r\n\r\nxyz\r\n\
         --B\r\nContent-Disposition: form-data; name=\"bytes\"; filename=\"blob\"\r\n\
         Content-Type: application/octet-stream\r\n\r\nAB\r\n--B--\r\n"
    );
}

/// A library takes memory only where a script imports it.
#[test]
fn libraries_cost_memory_only_when_imported() {
    let used = |text: &str| {
        let mut host = Host::of(text);
        host.vu(1).used_bytes()
    };
    let none = used("export default () => {};");
    let utils = used(
        "import { randomItem } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
         export default () => {};",
    );
    let chai = used(
        "import { expect } from 'https://jslib.k6.io/k6chaijs/4.3.4.3/index.js';
         export default () => {};",
    );
    assert!(none < utils && utils < chai, "{none} {utils} {chai}");
}
