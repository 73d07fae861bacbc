//! Modules: how files are found and evaluated, and the messages about those that cannot be.

use super::*;

/// The last line that an iteration of the main file logs.
fn logged(files: &[(&str, &str)]) -> String {
    let program = load_with(files, Settings::default()).unwrap_or_else(|it| panic!("{it}"));
    let mut host = Host::new(program);
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    host.trace.last().cloned().unwrap_or_default()
}

const LOG: &str = "export default () => console.log(JSON.stringify(value));";

#[test]
fn files_import_each_other() {
    for (name, main, others, want) in [
        (
            "relative, from the importing file",
            "import { value } from './lib/a.js';",
            &[
                ("/s/lib/a.js", "export { value } from '../other/b.js';"),
                (
                    "/s/other/b.js",
                    "import part, { n } from './c.js'; export const value = part + n;",
                ),
                ("/s/other/c.js", "export default 'c'; export const n = 1;"),
            ][..],
            "\"c1\"",
        ),
        (
            "absolute and file URLs",
            "import a from '/t/a.js'; import b from 'file:///t/b.js'; const value = a + b;",
            &[("/t/a.js", "export default 1;"), ("/t/b.js", "export default 2;")],
            "3",
        ),
        (
            "circles",
            "import { value } from './a.js';",
            &[
                (
                    "/s/a.js",
                    "import { b } from './b.js'; export const value = b(); export let a = 5;",
                ),
                (
                    "/s/b.js",
                    "import { a } from './a.js';
                     export function b() { try { return a; } catch (e) { return e.name; } }",
                ),
            ],
            "\"ReferenceError\"",
        ),
        (
            "JSON",
            "import data from './d.json'; const value = data.list[1];",
            &[("/s/d.json", "\u{feff}{\"list\": [1, {\"deep\": true}]}")],
            "{\"deep\":true}",
        ),
        (
            "CommonJS: names and default",
            "import all, { f } from './c.js'; const value = [f(), typeof all.f];",
            &[("/s/c.js", "#!/bin/node\nmodule.exports = { f: () => 'x', default: undefined };")],
            "[\"x\",\"function\"]",
        ),
        (
            "CommonJS with a default",
            "import it from './c.js'; const value = it;",
            &[("/s/c.js", "exports.default = 7;")],
            "7",
        ),
        (
            "require from CommonJS, relative to its file",
            "import { value } from './lib/c.js';",
            &[
                ("/s/lib/c.js", "exports.value = require('./d.js').d + require('./e.json').e;"),
                ("/s/lib/d.js", "exports.d = 1;"),
                ("/s/lib/e.json", "{\"e\": 2}"),
            ],
            "3",
        ),
        (
            "require of an ES module and of one that is built in",
            "const value = [require('./e.js').e, typeof require('k6').check];",
            &[("/s/e.js", "export const e = 1;")],
            "[1,\"function\"]",
        ),
        (
            "a function that a library puts in place of one that is built in",
            "import './c.js'; import http from 'k6/http'; const value = http.get();",
            &[("/s/c.js", "require('k6/http').get = () => 'instrumented';")],
            "\"instrumented\"",
        ),
        (
            "what was kept of URLs",
            "import { value } from 'https://x.test/p/a.js';",
            &[
                ("https://x.test/p/a.js", "import { b } from '../b.js'; export const value = b;"),
                ("https://x.test/b.js", "export const b = require('./p/c.js').c;"),
                ("https://x.test/p/c.js", "exports.c = 'kept';"),
            ],
            "\"kept\"",
        ),
        ("await at the top", "const value = await Promise.resolve(4);", &[], "4"),
        (
            "open, relative to the file that is being evaluated",
            "import { text, read } from './lib/o.js'; import { c, d } from './lib/c.js';
             const value = [text, read('t.txt'), c, d(), new Uint8Array(open('b.bin', 'b'))[1]];",
            &[
                (
                    "/s/lib/o.js",
                    "export const text = open('./t.txt');
                     export const read = (name) => [name].map((name) => open(name))[0];",
                ),
                (
                    "/s/lib/c.js",
                    "exports.c = open('t.txt') + require('./deep/e.js').e; exports.d = () => open('t.txt');",
                ),
                ("/s/lib/deep/e.js", "export const e = open('t.txt') + open('../t.txt');"),
                ("/s/lib/deep/t.txt", "deep"),
                ("/s/lib/t.txt", "lib"),
                ("/s/t.txt", "hällo"),
                ("/s/b.bin", "ab"),
            ],
            "[\"lib\",\"hällo\",\"libdeeplib\",\"hällo\",98]",
        ),
        (
            "URLs from where a file is",
            "import { there, value as text } from './lib/a.js';
             const value = [text, there, open(there), require(import.meta.resolve('./lib/c.js')),
                 import.meta.resolve('https://x.test/a.js'), Object.keys(import.meta)];",
            &[
                (
                    "/s/lib/a.js",
                    "export const there = import.meta.resolve('../t.txt');
                     export const value = [there].map(open)[0];",
                ),
                ("/s/lib/c.js", "module.exports = 5;"),
                ("/s/t.txt", "x"),
            ],
            "[\"x\",\"file:///s/t.txt\",\"x\",5,\"https://x.test/a.js\",[\"resolve\"]]",
        ),
        (
            "an ES module that is imported and required is one",
            "import * as a from './a.js'; import { made } from './count.js';
             const value = [a === require('./a.js') || a.it === require('./a.js').it, made.length];",
            &[
                ("/s/a.js", "import { made } from './count.js'; made.push(1); export const it = {};"),
                ("/s/count.js", "export const made = [];"),
            ],
            "[true,1]",
        ),
        (
            "names that modules do not have, unless they are ES modules of files",
            "import { check, nosuch } from 'k6'; import { a, b } from './c.js';
             import { again } from './re.js'; const { other } = require('k6');
             const value = [typeof check, typeof nosuch, a, typeof b, typeof again, typeof other];",
            &[
                ("/s/c.js", "exports.a = 1;"),
                ("/s/re.js", "export { nothing as again } from 'k6/http';"),
            ],
            "[\"function\",\"undefined\",1,\"undefined\",\"undefined\",\"undefined\"]",
        ),
    ] {
        let main = format!("{main} {LOG}");
        let mut files = vec![(MAIN, main.as_str())];
        files.extend_from_slice(others);
        assert_eq!(logged(&files), format!("Info {want}"), "{name}");
    }
}

/// Circles of modules that require each other, of all kinds and states. Each ends with a value or
/// with an exception; QuickJS would end the process.
#[test]
fn circles_of_requires_end() {
    const OF_MAIN: &str =
        "import { m } from './main.js'; export const y = 2; export const f = () => m;";
    for (name, main, others, want) in [
        (
            "of a module that is being evaluated",
            "const b = require('./b.js'); export const m = 5; const value = [b.y, b.f()];",
            &[("/s/b.js", OF_MAIN)][..],
            "Info [2,5]",
        ),
        (
            "of one that imports another which is being evaluated",
            "import { x } from './a.js'; const value = x;",
            &[
                ("/s/a.js", "const b = require('./b.js'); export const x = [b.y, b.early];"),
                (
                    "/s/b.js",
                    "import { x } from './a.js'; export let early; export const y = 2;
                     try { x; } catch (e) { early = e.name; }",
                ),
            ],
            "Info [2,\"ReferenceError\"]",
        ),
        (
            "within an import",
            "import './b.js'; const value = globalThis.z;",
            &[
                ("/s/b.js", "const c = require('./c.js'); export const y = 1; globalThis.z = c.z;"),
                ("/s/c.js", "import { y } from './b.js'; export const z = 3;"),
            ],
            "Info 3",
        ),
        (
            "of a module that is linked and not evaluated",
            "import './b.js'; import { z } from './c.js'; export const q = 1; const value = z;",
            &[
                ("/s/b.js", "export const b = require('./c.js').z;"),
                ("/s/c.js", "import { q } from './main.js'; export const z = 3;"),
            ],
            "Info 3",
        ),
        (
            "that fail, and fail again",
            "const seen = []; export const m = 1; const value = seen;
             for (let n = 0; n < 2; n++) try { require('./b.js'); } catch (e) { seen.push(e.message); }",
            &[("/s/b.js", "import { m } from './main.js'; throw new Error('from b');")],
            "Info [\"from b\",\"from b\"]",
        ),
        (
            "through CommonJS",
            "const a = require('./a.js'); export const m = 1; const value = [a.x, a.b.y];",
            &[
                ("/s/a.js", "exports.x = 1; exports.b = require('./b.js');"),
                (
                    "/s/b.js",
                    "import a from './a.js'; import { m } from './main.js';
                     export const y = [a.x, require('./a.js').x];",
                ),
            ],
            "Info [1,[1,1]]",
        ),
        (
            "three deep, and of all that is exported",
            "require('./b.js'); export const m = 1; const value = m;",
            &[
                ("/s/b.js", "import './c.js'; export * from './main.js'; export const y = 2;"),
                ("/s/c.js", "import { y } from './b.js'; require('./d.js'); export const z = 1;"),
                ("/s/d.js", "import { z } from './c.js'; require('./e.js'); export const d = 1;"),
                ("/s/e.js", "export * from './b.js'; export * from './d.js'; export * from './main.js';"),
            ],
            "Info 1",
        ),
        (
            "of one that waits",
            "import { x } from './a.js'; const value = x;",
            &[
                ("/s/a.js", "const b = require('./b.js'); export const x = b.y;"),
                ("/s/b.js", "import { x } from './a.js'; await 0; export const y = 2;"),
            ],
            "Info 2",
        ),
        (
            "in one that waits",
            "import { x } from './a.js'; const value = x;",
            &[
                ("/s/a.js", "const b = require('./b.js'); await 0; export const x = b.y;"),
                ("/s/b.js", "import { x } from './a.js'; export const y = 2;"),
            ],
            "/s/a.js:1:56: ReferenceError: y is not initialized",
        ),
        (
            "of a name that is not there",
            "require('./b.js'); const value = 1;",
            &[("/s/b.js", "import { nothing } from './main.js'; export const y = 2;")],
            "/s/main.js:1:1: SyntaxError: Could not find export 'nothing' in module 'file:///s/main.js'",
        ),
        (
            "of a module that is being loaded, from CommonJS that it imports",
            "import './b.js'; import { z } from './c.js'; export const q = 1; const value = z;",
            &[
                ("/s/b.js", "const c = require('./c.js'); globalThis.z = c.z;"),
                ("/s/c.js", "import { q } from './main.js'; export const z = 3;"),
            ],
            "/s/b.js:1:11: Error: require(): the module imports one that is still being loaded, in a circle",
        ),
        ("of itself", "export const m = require('./main.js'); const value = typeof m;", &[], "Info \"object\""),
    ] {
        let main = format!("{main} {LOG}");
        let mut files = vec![(MAIN, main.as_str())];
        files.extend_from_slice(others);
        let came = match load_with(&files, Settings::default()) {
            Ok(_) => logged(&files),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(came, want, "{name}");
    }
}

/// What is noted while a script loads, whether it loads or not.
fn noted(files: &[(&str, &str)]) -> Vec<String> {
    let all: HashMap<String, Vec<u8>> =
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let (text, registry) = (all[MAIN].clone(), Registry::default());
    let read = move |path: &str| all.get(path).cloned().ok_or_else(|| "no such file".to_owned());
    let source = Source { path: MAIN.to_owned(), text, read: Box::new(read), registry };
    let mut notes = Vec::new();
    let _ = Program::load(source, Settings::default(), START_NS, &mut |notice| {
        if let Notice::Note(level, line) = notice {
            notes.push(format!("{level:?} {line}"));
        }
        ControlFlow::Continue(START_NS)
    });
    notes
}

#[test]
fn what_is_not_there_is_told_once() {
    let missing = "Debug 'k6' exports no 'nosuch', which is imported: it is undefined";
    for (main, want) in [
        ("import { check, nosuch } from 'k6';", &[missing][..]),
        // The reason for what fails then.
        ("import { nosuch } from 'k6'; nosuch();", &[missing]),
        ("import http from 'k6/http'; export const options = { tlsVersion: http.TLS_1_2 };", &[]),
        (
            "export const options = { vus: 1, tlsVersion: undefined,
                 scenarios: { a: { executor: 'x', stages: [{ target: undefined }] } } };",
            &[
                "Warn option 'scenarios.a.stages.0.target' is undefined, and counts as not given",
                "Warn option 'tlsVersion' is undefined, and counts as not given",
            ],
        ),
        (
            "import { read } from './lib/a.js'; read('t.txt'); read('/s/t.txt');",
            &[
                "Warn open('t.txt') is relative to /s/main.js, which is being evaluated, and not to \
               /s/lib/a.js, which calls it: use import.meta.resolve() for the latter",
            ],
        ),
    ] {
        let lib = "export const read = (name) => open(name);";
        assert_eq!(noted(&[(MAIN, main), ("/s/lib/a.js", lib), ("/s/t.txt", "x")]), want, "{main}");
    }
}

#[test]
fn a_script_may_be_common_js() {
    let line = logged(&[(
        MAIN,
        "const { check } = require('k6');
         module.exports.options = { vus: 1 };
         module.exports.default = () => console.log(typeof check);",
    )]);
    assert_eq!(line, "Info function");
}

#[test]
fn modules_are_evaluated_once_for_each_vu() {
    let program = load_with(
        &[
            (MAIN, "import './a.js'; import './b.js'; export default () => console.log(count);"),
            ("/s/a.js", "import './b.js'; globalThis.count = (globalThis.count || 0) + 1;"),
            ("/s/b.js", "globalThis.count = (globalThis.count || 0) + 10;"),
        ],
        Settings::default(),
    );
    let mut host = Host::new(program.unwrap());
    for number in 1..4 {
        let mut vu = host.vu(number);
        host.iterate(&mut vu);
    }
    assert_eq!(host.trace, ["Info 11"; 3]);
}

#[test]
fn what_is_wrong_has_a_position() {
    for (text, want) in [
        ("export default function () {\n  let x = ;\n}", "/s/main.js:2:11: SyntaxError: "),
        ("import { nothing } from './es.js';", "nothing"),
        ("export default import.meta.resolve('lodash');", "'./lodash.js'"),
        ("import 'k6/x/sql';", "cannot import 'k6/x/sql': extensions of k6"),
        (
            "import 'https://x.test/a.js';",
            "cannot import 'https://x.test/a.js': no such file; nothing is downloaded: save it there",
        ),
        ("import 'https://jslib.k6.io/aws/0.11.0/s3.js';", "nothing is downloaded"),
        ("import 'https://x.test/b.js';", "https://x.test/b.js:2:9: SyntaxError: "),
        ("import 'lodash';", "'./lodash.js'"),
        ("import './none.js';", "cannot read '/s/none.js': no such file"),
        ("const a = 1;\n\nundefinedName();", "/s/main.js:3:1: ReferenceError: "),
        ("import './b.js';", "/s/b.js:2:11: Error: from b"),
        ("import './d.json';", "/s/d.json:1:"),
        ("throw { code: 5 };", "{\"code\":5}"),
        ("throw 'plain';", "plain"),
        ("await Promise.reject(new TypeError('late'));", "TypeError: late"),
        ("Promise.reject(new TypeError('lost'));", "TypeError: lost"),
        ("require('./c.js');", "/s/c.js:3:13: ReferenceError: "),
        ("open('none.txt');", "cannot read '/s/none.txt'"),
        (
            "import http from 'k6/http'; http.get('http://x.test');",
            "within exported functions only",
        ),
        ("setTimeout(() => { throw new Error('in a timer'); }, 5);", "Error: in a timer"),
    ] {
        let failure = load_with(
            &[
                (MAIN, text),
                ("/s/b.js", "// b\nthrow new Error('from b');"),
                ("/s/c.js", "exports.c = 1;\n\nexports.d = nowhere;"),
                ("/s/d.json", "{\"a\": }"),
                ("/s/es.js", "export const something = 1;"),
                ("https://x.test/b.js", "//\nlet x = ;"),
            ],
            Settings::default(),
        );
        let failure = failure.err().unwrap_or_else(|| panic!("{text:?} loads"));
        assert!(failure.text.contains(want), "{text:?}: {failure}");
        assert!(!failure.text.contains('\n'), "{failure}");
    }
}

#[test]
fn every_prefix_of_a_script_loads_or_says_why() {
    let text = "import { check } from 'k6';\nconst re = /a[b/]c/g, t = `x${1 + `y`}`;\n\
                export default async function* f(a = {...check}) { for await (const x of a) {} }\n";
    for end in 0..=text.len() {
        if let Err(failure) = load(&text[..end]) {
            assert!(!failure.text.is_empty() && !failure.text.contains('\n'), "{failure}");
        }
    }
}

#[test]
fn later_vus_find_only_what_the_first_has_found() {
    let program = load_with(
        &[(MAIN, "if (__VU > 0) open('late.txt'); export default () => {};"), ("/s/late.txt", "x")],
        Settings::default(),
    );
    let mut host = Host::new(program.unwrap());
    let mut vu = host.program.spawn(&host.worker, 1).unwrap();
    assert_eq!(host.run(&mut vu, Task::Evaluate), Ending::Failed);
    let failure = vu.error().unwrap();
    assert!(failure.text.contains("open the same files for every VU"), "{failure}");
}

#[test]
fn loading_can_be_ended() {
    for text in ["while (true) {}", "setInterval(() => {}, 1)"] {
        let failure = load(text).err().unwrap();
        assert_eq!(failure.text, "/s/main.js: stopped while it was being loaded");
    }
}
