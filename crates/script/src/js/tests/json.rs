//! JSON of responses: read without detours where it is plain, and as `JSON.parse` reads it always.

use super::*;

#[test]
fn bodies_are_read_as_json_parse_reads_them() {
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    for text in [
        "1",
        "-0",
        "0.1",
        "123456789012345678",
        "1e5",
        "-2147483649",
        "4.35",
        "0.30000000000000004",
        "\"\"",
        "\"a\\u0041\"",
        "\"\u{e9}\"",
        "[]",
        "{}",
        " [ 1 , [2], {} ] ",
        "true",
        "null",
        r#"[{"a":1,"b":2},{"a":3,"b":4},{"a":5},{"b":1,"a":2},{"a":1,"a":2},{"a":1,"b":2,"c":3}]"#,
        r#"[{"__proto__":1,"1":2,"0":3},{"__proto__":{"x":1},"1":2,"0":3}]"#,
        r#"{"rows":[{"id":1,"tags":["x","y"],"in":{"deep":1.5}},{"id":2,"tags":[],"in":{"deep":-1}}]}"#,
        &deep,
        "[1,]",
        "{\"a\":1,}",
        "01",
        "-",
        "1.",
        "tru",
        "truex",
        "[1 2]",
        "{a:1}",
        "{\"a\" 1}",
        "\"x",
        "1 2",
    ] {
        let script = format!(
            "import http from 'k6/http';
             const text = {text:?};
             const show = (v) => v === null || typeof v !== 'object' ? typeof v + (Object.is(v, -0) ? '-0' : v)
                 : Array.isArray(v) ? '[' + v.map(show) + v.length + ']'
                 : '{{' + Object.getOwnPropertyNames(v).map((name) => name + ':' + show(v[name])) + '}}';
             const attempt = (read) => {{ try {{ return show(read()); }} catch (e) {{ return e.name; }} }};
             export default function () {{
                 const response = http.get('http://x/');
                 const [got, want] = [attempt(() => response.json()), attempt(() => JSON.parse(text))];
                 console.log(got === want ? 'same' : `${{got}} and ${{want}}`);
             }}",
        );
        let mut host = Host::of(&script);
        let body = text.to_owned();
        host.serve = Box::new(move |_| ok(&body));
        let mut vu = host.vu(1);
        host.iterate(&mut vu);
        assert_eq!(host.trace.last().map(String::as_str), Some("Info same"), "{text}");
    }
}
