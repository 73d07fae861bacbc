//! The modules `k6/experimental/fs`, `k6/experimental/csv` and `k6/secrets`, and scripts in
//! TypeScript.

use super::*;

fn host_with(files: &[(&str, &str)], settings: Settings) -> Host {
    Host::new(load_with(files, settings).unwrap_or_else(|failure| panic!("{failure}")))
}

#[test]
fn files_are_read_from_a_position_of_each_vu() {
    let main = "import { open, SeekMode } from 'k6/experimental/fs';
        const file = await open('data.txt');
        export default async function () {
            const buffer = new Uint8Array(4);
            const seen = [(await file.stat()).name, (await file.stat()).size, file.path];
            for (let count = await file.read(buffer); count !== null; count = await file.read(buffer))
                seen.push(count + String.fromCharCode(...buffer.slice(0, count)));
            seen.push(await file.seek(-2, SeekMode.End), await file.read(buffer), await file.seek(1, SeekMode.Start));
            try { await file.seek(9, SeekMode.Current); } catch (e) { seen.push(e.message); }
            try { await file.read([]); } catch (e) { seen.push(e.name); }
            console.log(JSON.stringify(seen)); await file.seek(0, SeekMode.Start);
        }";
    let mut host = host_with(&[(MAIN, main), ("/s/data.txt", "abcdef")], Settings::default());
    for number in 1..3 {
        let mut vu = host.vu(number);
        assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
        assert_eq!(
            host.trace.last().unwrap(),
            "Info [\"data.txt\",6,\"data.txt\",\"4abcd\",\"2ef\",4,2,1,\
             \"position 10 is outside of a file of 6 bytes\",\"TypeError\"]"
        );
    }
    let late = "import { open } from 'k6/experimental/fs'; export default () => open('data.txt');";
    let mut host = host_with(&[(MAIN, late), ("/s/data.txt", "x")], Settings::default());
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Failed);
    assert!(vu.error().unwrap().text.contains("while a script loads only"));
}

/// The records that both functions read, whichever of the two modules is imported first.
fn csv(text: &str, options: &str) -> String {
    let (fs, csv) =
        ("import { open } from 'k6/experimental/fs';", "import csv from 'k6/experimental/csv';");
    let [first, second] =
        [[fs, csv], [csv, fs]].map(|imports| csv_with(&imports.concat(), text, options));
    assert_eq!(first, second);
    first
}

fn csv_with(imports: &str, text: &str, options: &str) -> String {
    let main = format!(
        "{imports}
         const file = await open('data.csv');
         let rows, error;
         try {{ rows = await csv.parse(file, {options}); }} catch (e) {{ error = e.message; }}
         export default async function () {{
             if (error) {{ console.log(error); return; }}
             const parser = new csv.Parser(file, {options});
             const read = [];
             for (let row = await parser.next(); !row.done; row = await parser.next()) read.push(row.value);
             console.log(JSON.stringify(read) === JSON.stringify([...rows]) ? JSON.stringify(read) : 'differ'); }}"
    );
    let mut host = host_with(&[(MAIN, &main), ("/s/data.csv", text)], Settings::default());
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Complete, "{:?}", vu.error());
    host.trace.last().unwrap().trim_start_matches("Info ").to_owned()
}

#[test]
fn records_of_csv() {
    for (text, options, want) in [
        ("a,b\n1,2\n", "{}", r#"[["a","b"],["1","2"]]"#),
        (
            "\u{feff}a,b\r\n1,\"x \"\"y\"\"\nz\"\r\n\r\n3,",
            "{}",
            r#"[["a","b"],["1","x \"y\"\nz"],["3",""]]"#,
        ),
        ("a,b\n1,2", "{ skipFirstLine: true }", r#"[["1","2"]]"#),
        ("a,b\n1,2", "{ asObjects: true }", r#"[{"a":"1","b":"2"}]"#),
        ("a;b\n1;2", "{ delimiter: ';' }", r#"[["a","b"],["1","2"]]"#),
        ("0\n1\n2\n3\n4", "{ fromLine: 1, toLine: 3 }", r#"[["1"],["2"],["3"]]"#),
        ("", "{}", "[]"),
        ("\u{e9},\u{20ac}", "{}", "[[\"\u{e9}\",\"\u{20ac}\"]]"),
        ("a,b\n1", "{}", "CSV: the record that ends in line 1 has 1 fields, the first one has 2"),
        ("a,\"b", "{}", "CSV: a quote before line 1 has no end"),
        ("\"a\"x", "{}", "CSV: a quoted field has to end before 'x'"),
        ("a", "{ delimiter: '' }", "CSV: the delimiter is one character"),
    ] {
        let got = csv(text, options);
        assert!(got.starts_with(want), "{text:?} {options}: {got}");
    }
    let text = "a,\"b\"\"\",c\r\n\"1\n\",2,\n";
    for end in 0..text.len() {
        assert_ne!(csv(&text[..end], "{}"), "differ", "{end}");
    }
}

#[test]
fn secrets_come_from_the_host_and_stay_out_of_the_log() {
    let secrets = Secrets::new(|source, name| match (source, name) {
        (None, "token") => Ok("s3cret".to_owned()),
        (Some("file"), "pin") => Ok("1234".to_owned()),
        _ => Err("it is not there".to_owned()),
    });
    let main = "import secrets from 'k6/secrets';
        export default async function () {
            const token = await secrets.get('token');
            console.log(token === 's' + '3cret', `is ${token}`, await secrets.source('file').get('pin'));
            try { await secrets.get('none'); } catch (e) { console.log(e.message); }
            throw new Error(token); }";
    let settings = Settings { secrets, ..Settings::default() };
    let mut host = host_with(&[(MAIN, main)], settings);
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Failed);
    assert_eq!(
        host.trace,
        [
            "Info true is ***SECRET_REDACTED*** ***SECRET_REDACTED***",
            "Info cannot get the secret 'none': it is not there",
        ]
    );
    let error = vu.error().unwrap();
    assert!(error.text.ends_with("Error: ***SECRET_REDACTED***"), "{error}");
    let mut host = host_with(&[(MAIN, main)], Settings::default());
    let mut vu = host.vu(1);
    host.iterate(&mut vu);
    assert!(vu.error().unwrap().text.contains("no source of secrets"));
}

#[test]
fn scripts_in_typescript() {
    let main = "import { sleep } from 'k6';
import { Options } from 'k6/options';
import { double, type Row } from './lib.ts';
export const options: Options = { vus: 2 };
interface Shape { name: string }
const rows: Row[] = [{ n: 1 }] as Row[];
export default function (data?: unknown): void {
    const shape = { name: 'x' } satisfies Shape;
    console.log(double<number>(rows[0]!.n), shape.name);
    if (rows.length > 1) sleep(1);
    throw new Error('here');
}";
    let lib = "export type Row = { n: number };
export function double<T extends number>(value: T): number { return value * 2; }";
    let main_path = "/s/main.ts";
    let files: HashMap<&str, &str> = [(main_path, main), ("/s/lib.ts", lib)].into();
    let load = |main: &str| {
        let lib = files["/s/lib.ts"].to_owned();
        let read = move |path: &str| {
            if path == "/s/lib.ts" { Ok(lib.clone().into_bytes()) } else { Err("none".to_owned()) }
        };
        let source = Source {
            path: main_path.to_owned(),
            text: main.as_bytes().to_vec(),
            read: Box::new(read),
            registry: Registry::default(),
        };
        Program::load(source, Settings::default(), START_NS, &mut |_| {
            ControlFlow::Continue(START_NS)
        })
    };
    let mut host = Host::new(load(main).unwrap_or_else(|failure| panic!("{failure}")));
    assert_eq!(host.program.options(), Some("{\"vus\":2}"));
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Failed);
    assert_eq!(host.trace, ["Info 2 x"]);
    assert_eq!(vu.error().unwrap().text, "/s/main.ts:11:15: Error: here");
    for (text, want) in [
        (
            "let a: number = 1;\nenum E { A }",
            "/s/main.ts:2:1: SyntaxError: enums are not supported in TypeScript",
        ),
        ("let a: = 1;", "/s/main.ts:1:8: SyntaxError: "),
        ("let a: number = b;", "/s/main.ts:1:17: ReferenceError: "),
    ] {
        let failure = load(text).err().unwrap();
        assert!(failure.text.starts_with(want), "{text}: {failure}");
    }
}
