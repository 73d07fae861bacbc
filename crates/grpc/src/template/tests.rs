//! What templates write is what their text means: it is filled in as text, and that is encoded.

use allocation_counter::measure;
use plimsoll_core::template::{Compiler, Table};

use crate::{Method, Schema};

const SOURCE: &str = r#"
    syntax = "proto3";
    package t;
    import "google/protobuf/wrappers.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/struct.proto";
    enum Colour { RED = 0; GREEN = 1; BLUE = -2; }
    message Inner { int64 id = 1; string name = 2; Inner inner = 3; }
    message All {
      int32 int32 = 1; int64 int64 = 2; uint32 uint32 = 3; uint64 uint64 = 4;
      sint32 sint32 = 5; sint64 sint64 = 6; fixed32 fixed32 = 7; fixed64 fixed64 = 8;
      sfixed32 sfixed32 = 9; sfixed64 sfixed64 = 10; float float = 11; double double = 12;
      bool bool = 13; Colour colour = 14; string string = 15; bytes bytes = 16;
      Inner inner = 17; repeated Inner inners = 18; repeated int64 numbers = 19;
      repeated string strings = 20; repeated int32 loose = 21 [packed = false];
      map<string, int64> counts = 22; map<int32, Inner> by_number = 23;
      optional int32 maybe = 24; oneof either { string left = 25; int32 right = 26; }
      google.protobuf.Int64Value wrapped = 27; google.protobuf.Timestamp when = 28;
      string long_name = 29; google.protobuf.Value any = 30;
      optional google.protobuf.NullValue none = 31;
    }
    service Service { rpc Call(All) returns (All); }
"#;

fn method() -> Method {
    let read = |name: &str| Ok((name == "t.proto").then(|| SOURCE.to_owned()));
    let schema = Schema::compile(&["t.proto".to_owned()], read).expect("compiles");
    schema.method("t.Service/Call").expect("is there")
}

fn tables() -> [Table; 1] {
    let rows = [["1", "GREEN", "true", "a", "1.5"], ["-7", "RED", "false", "é\"\\", "-2e3"]];
    [Table {
        path: "t.csv".to_owned(),
        columns: ["number", "colour", "truth", "text", "real"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect(),
    }]
}

const FILLED: [&str; 29] = [
    r#"{"int32": {{seq}}}"#,
    r#"{"int64": {{random -9223372036854775808 9223372036854775807}}}"#,
    r#"{"uint32": {{random 0 4294967295}}, "uint64": "{{seq}}"}"#,
    r#"{"sint32": {{random -2147483648 2147483647}}, "sint64": {{random -5 5}}}"#,
    r#"{"fixed32": {{seq}}, "fixed64": {{random 1 9}}}"#,
    r#"{"sfixed32": {{random -5 -1}}, "sfixed64": {{csv:t.csv:number}}}"#,
    r#"{"float": {{csv:t.csv:real}}, "double": "{{csv:t.csv:real}}"}"#,
    r#"{"double": {{seq}}, "float": {{random -3 3}}}"#,
    r#"{"bool": {{csv:t.csv:truth}}, "colour": "{{csv:t.csv:colour}}"}"#,
    r#"{"colour": {{random 0 1}}}"#,
    r#"{"string": "{{uuid}}", "int32": 5}"#,
    r#"{"string": "a {{seq}} \u00e9\n{{random_hex 300}}\\", "int64": "12"}"#,
    r#"{"string": "{{csv:t.csv:text json}}"}"#,
    r#"{"string": "\"a\": {{seq}}, \\\"{{seq}}\\", "int32": {{seq}}}"#,
    r#"{"longName": "{{seq}}", "left": "{{seq}}"}"#,
    r#"{"long_name": "{{{{ {{seq}} }}", "right": {{seq}}}"#,
    r#"{"inner": {"name": "n{{seq}}", "inner": {"inner": {"id": {{seq}}, "name": "x"}}}}"#,
    r#"{"inner": {"name": "{{random_hex 1000}}", "inner": {"name": "{{random_hex 1024}}"}}}"#,
    r#"{"inners": [{"id": 1}, {"id": {{seq}}}, {}, {"name": "{{seq}}"}]}"#,
    r#"{"numbers": [1, {{seq}}, -1, "{{random 5 500}}"], "strings": ["", "{{seq}}", "b"]}"#,
    r#"{"loose": [1, {{seq}}, 0], "bytes": "AAEC"}"#,
    r#"{"counts": {"k{{seq}}": {{seq}}}}"#,
    r#"{"byNumber": {"{{seq}}": {"name": "{{seq}}"}}}"#,
    r#"{"byNumber": {"-1": {"name": "{{seq}}"}}, "counts": {"x": 0}}"#,
    r#"{"maybe": {{seq}}, "wrapped": "{{seq}}", "inner": null}"#,
    r#"{"any": null, "string": "{{seq}}"}"#,
    r#"{"none": null, "wrapped": null, "inner": {"id": {{seq}}}}"#,
    r#"{"when": "2001-02-03T04:05:06Z", "string": "{{seq}}", "right": 0}"#,
    "\n{ \"int32\" :{{seq}}\t, \"string\":\"{{seq}}\"\n}",
];

#[test]
fn a_template_writes_what_its_text_means() {
    let (method, tables) = (method(), tables());
    for text in FILLED {
        let mut compiler = Compiler::new(7, &tables);
        let template = method.request(text, Some(&mut compiler)).expect(text);
        assert_eq!(template.fixed(), None, "{text}");
        // The values are drawn again to be compared: the text has to be filled place by place as
        // well, so that each has the same random stream.
        let mut compiler = Compiler::new(7, &tables);
        let mut whole = plimsoll_core::template::Template::default();
        for span in plimsoll_core::template::spans(text).expect(text) {
            match span {
                plimsoll_core::template::Span::Text(text) => whole.push_bytes(text.as_bytes()),
                plimsoll_core::template::Span::Template(text) => {
                    whole.append(compiler.compile(text).expect(text));
                }
            }
        }
        for number in [0, 1, 2, 127, 128, 70_000] {
            let (mut json, mut message) = (Vec::new(), b"before".to_vec());
            whole.fill(number, &mut json);
            let json = String::from_utf8(json).expect("is text");
            let want = method.request(&json, None).expect(&json);
            template.fill(number, &mut message);
            let got = message.strip_prefix(b"before").expect("appends");
            assert!(got.len() <= template.bytes_max(), "{text}: {}", got.len());
            // Entries of maps may leave out what is 0, so messages are compared, not bytes.
            let (want, got) = (want.fixed().expect("is fixed"), got);
            let canonical = |bytes: &[u8]| method.response_json(bytes).expect("a message");
            assert_eq!(canonical(got), canonical(want), "{text} {number}");
            if !text.contains("counts") && !text.contains("byNumber") {
                assert_eq!(
                    got.escape_ascii().to_string(),
                    want.escape_ascii().to_string(),
                    "{json}"
                );
            }
        }
    }
}

#[test]
fn numbers_of_requests_begin_again_where_a_field_ends() {
    let method = method();
    let text = r#"{"int32": {{seq}}, "uint32": {{seq}}, "sint32": {{seq}}, "int64": {{seq}}}"#;
    let template = method.request(text, Some(&mut Compiler::new(7, &[]))).expect("compiles");
    for (number, want) in [
        (
            1 << 31,
            r#"{"int32":-2147483648,"int64":"2147483648","uint32":2147483648,"sint32":-2147483648}"#,
        ),
        ((1 << 32) + 3, r#"{"int32":3,"int64":"4294967299","uint32":3,"sint32":3}"#),
        (u64::MAX, r#"{"int32":-1,"int64":"-1","uint32":4294967295,"sint32":-1}"#),
    ] {
        let mut message = Vec::new();
        template.fill(number, &mut message);
        assert_eq!(method.response_json(&message).expect("a message"), want);
    }
}

#[test]
fn what_is_the_same_in_each_request_becomes_bytes() {
    let method = method();
    for (text, with_templates, want) in [
        ("", true, ""),
        ("  \n", false, ""),
        ("{}", true, ""),
        (r#"{"string": "{{{{seq}}"}"#, true, r"z\x07{{seq}}"),
        (r#"{"string": "{{seq}}"}"#, false, r"z\x07{{seq}}"),
        (r#"{"right": 0, "int32": 1}"#, true, r"\x08\x01\xd0\x01\x00"),
    ] {
        let mut compiler = Compiler::new(7, &[]);
        let compiler = with_templates.then_some(&mut compiler);
        let message = method.request(text, compiler).expect(text);
        let bytes = message.fixed().expect("is the same");
        assert_eq!(bytes.escape_ascii().to_string(), want, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let (method, tables) = (method(), tables());
    for (text, want) in [
        ("{", "not the JSON of a t.All: EOF while parsing an object at line 1 column 1"),
        (
            r#"{"int32": "x"}"#,
            "not the JSON of a t.All: invalid digit found in string at line 1 column 13",
        ),
        (
            r#"{"string": "{{seq}}"} x"#,
            "message 2: not the JSON of a t.All: expected value at line 1 column",
        ),
        (r#"{"strin": "{{seq}}"}"#, "strin: t.All has no such field: did you mean 'string'?"),
        (
            r#"{"inner": {"zzzzz": 1, "id": {{seq}}}}"#,
            "inner.zzzzz: t.Inner has no such field: there are id, name, inner",
        ),
        (
            r#"{"inners": [{}, {"id": "x", "name": "{{seq}}"}]}"#,
            "inners.1.id: invalid digit found in string",
        ),
        (r#"{"bytes": "{{seq}}"}"#, "bytes: a template cannot fill a field of bytes"),
        (
            r#"{"when": "{{seq}}"}"#,
            "when: a template cannot fill a google.protobuf.Timestamp: its JSON is its own",
        ),
        (r#"{"inner": "{{seq}}"}"#, "inner: a t.Inner is written as an object"),
        (r#"["{{seq}}"]"#, ": a t.All is written as an object"),
        (r#"{"numbers": "{{seq}}"}"#, "numbers: a list is written in brackets"),
        (r#"{"counts": "{{seq}}"}"#, "counts: a map is written as an object"),
        (r#"{"int32": ["{{seq}}"]}"#, "int32: the field takes one value"),
        (r#"{"int32": {{uuid}}}"#, "int32: '{{uuid}}' is not a value of type int32"),
        (
            r#"{"int32": 1{{seq}}}"#,
            "int32: '1{{seq}}' is not a value of type int32: write one template, and nothing beside it",
        ),
        (
            r#"{"int32": {{random 0 2147483648}}}"#,
            "int32: '2147483648' is not a value of type int32",
        ),
        (r#"{"uint64": {{random -1 1}}}"#, "uint64: '-1' is not a value of type uint64"),
        (r#"{"bool": {{seq}}}"#, "bool: '{{seq}}' is not a value of type bool"),
        (
            r#"{"uint32": {{csv:t.csv:number}}}"#,
            "uint32: '-7' in column 'number' of t.csv is not a value of type uint32",
        ),
        (r#"{"left": "{{seq}}", "right": 1}"#, "right: only one of this and 'left' can be there"),
        (r#"{"longName": "{{seq}}", "long_name": "b"}"#, "long_name: the field is there twice"),
        (r#"{"{{seq}}": 1}"#, "{{seq}}: t.All has no such field: there are"),
        (
            r#"{"byNumber": {"x{{seq}}": {}}}"#,
            "byNumber.x{{seq}}: 'x{{seq}}' is not a value of type int32: write",
        ),
        (r#"{"string": "{{sequence}}"}"#, "'{{sequence}}' is not a template"),
    ] {
        let mut compiler = Compiler::new(7, &tables);
        let error = method.request(text, Some(&mut compiler)).expect_err(text).to_string();
        assert!(error.starts_with(want) && !error.contains('\n'), "{text}\n{error}\n{want}");
    }
}

#[test]
fn filling_allocates_nothing() {
    let (method, tables) = (method(), tables());
    for text in FILLED {
        let mut compiler = Compiler::new(7, &tables);
        let template = method.request(text, Some(&mut compiler)).expect(text);
        let mut out = Vec::with_capacity(template.bytes_max());
        let counted = measure(|| {
            for number in 0..1000 {
                out.clear();
                template.fill(number, &mut out);
            }
        });
        assert_eq!(counted.count_total, 0, "{text}");
    }
}

#[test]
fn several_messages_stand_behind_each_other() {
    let method = method();
    for (text, want) in [
        ("", &["{}"][..]),
        (" \n\t", &["{}"]),
        ("{}", &["{}"]),
        ("{}{}", &["{}", "{}"]),
        ("{\"int32\": 1}\n{\"string\": \"}{\"}\n\n{}\n", &["{'int32':1}", "{'string':'}{'}", "{}"]),
        (
            "{\"int32\": {{seq}}} {\"int32\": 9}{\"string\": \"s{{seq}}\"}",
            &["{'int32':7}", "{'int32':9}", "{'string':'s7'}"],
        ),
    ] {
        for templates in [true, false] {
            if !templates && text.contains("{{") {
                continue;
            }
            let mut compiler = Compiler::new(7, &[]);
            let compiler = templates.then_some(&mut compiler);
            let messages = method.requests(text, compiler).expect(text);
            let shown = messages.iter().map(|message| {
                let mut bytes = Vec::new();
                message.fill(7, &mut bytes);
                method.response_json(&bytes).expect("a message").replace('"', "'")
            });
            assert_eq!(shown.collect::<Vec<_>>(), want, "{text:?} {templates}");
        }
    }
    for (text, says) in [
        ("{} {\"int3\": 1}", "message 2: not the JSON of a t.All: "),
        ("{} {\"int3\": {{seq}}} {}", "message 2: int3: t.All has no such field"),
        ("{} {} {", "message 3: not the JSON of a t.All: EOF"),
        ("{\"int3\": 1}", "not the JSON of a t.All: "),
    ] {
        let mut compiler = Compiler::new(7, &[]);
        let error = method.requests(text, Some(&mut compiler)).expect_err(text).to_string();
        assert!(error.starts_with(says) && !error.contains('\n'), "{text}: {error}");
    }
    let two = method.request("{} {}", None).expect_err("there are two").to_string();
    assert_eq!(two, "a call sends one message, and here are 2");
}
