//! Both sides against each other, and a client against servers that answer something else.

use super::*;
use crate::wire::{write_bytes, write_delimited, write_number, write_tag};
use crate::{Kind, Schema, builtin};

const IMPORTS: [(&str, &str); 4] = [
    (
        "a.proto",
        r#"syntax = "proto3"; package a; import "b.proto"; import "dir/c.proto";
           import "google/protobuf/empty.proto";
           service Service { rpc Call(b.Ask) returns (stream c.Reply);
                             rpc Other(google.protobuf.Empty) returns (b.Ask); }"#,
    ),
    (
        "b.proto",
        r#"syntax = "proto3"; package b; import "dir/d.proto";
           message Ask { d.Deep deep = 1; }"#,
    ),
    (
        "dir/c.proto",
        r#"syntax = "proto3"; package c; import "dir/d.proto"; message Reply { d.Deep deep = 1; }"#,
    ),
    (
        "dir/d.proto",
        r#"syntax = "proto3"; package d; import "google/protobuf/timestamp.proto";
           message Deep { google.protobuf.Timestamp at = 1; enum Size { S = 0; } }"#,
    ),
];

fn schema() -> Schema {
    let read = |name: &str| {
        let file = IMPORTS.iter().find(|(known, _)| *known == name);
        Ok(file.map(|(_, source)| (*source).to_owned()))
    };
    Schema::compile(&["a.proto".to_owned()], read).expect("compiles")
}

/// Asks until the end. Also returns how many questions that took.
fn discover(method: &str, server: &Answers) -> Result<(Schema, u32), ReflectionError> {
    let mut discovery = Discovery::new(method)?;
    for asked in 1.. {
        let (mut request, mut response) = (Vec::new(), Vec::new());
        discovery.write_request(&mut request);
        server.answer(&request, &mut response).expect("a request");
        if discovery.response(&response)? == Step::Whole {
            return Ok((discovery.into_schema()?, asked));
        }
    }
    unreachable!("the loop has no end")
}

#[test]
fn a_client_learns_what_a_server_has() {
    let server = Answers::new(&schema());
    for method in ["a.Service/Call", "/a.Service/Call", "a.Service.Call"] {
        let (learned, asked) = discover(method, &server).expect("is there");
        // One for each file of ours.
        assert_eq!(asked, 4);
        let found = learned.method(method).expect("is there");
        assert_eq!((found.path().as_str(), found.kind()), ("/a.Service/Call", Kind::Server));
        let json = r#"{"deep":{"at":"2001-02-03T04:05:06Z"}}"#;
        let request = found.request(json, None).expect("fits");
        let bytes = request.fixed().expect("has no templates");
        assert_eq!(found.response_json(bytes).as_deref(), Ok(json));
    }
    let builtin = Answers::new(&builtin::schema().expect("compiles"));
    for method in
        [builtin::PING, builtin::HEALTH_WATCH, Version::V1.path(), Version::V1Alpha.path()]
    {
        let (learned, asked) = discover(method, &builtin).expect("is there");
        assert_eq!((learned.method(method).expect("is there").path().as_str(), asked), (method, 1));
    }
}

#[test]
fn unknown_names_are_refused_with_what_there_is() {
    let server = Answers::new(&builtin::schema().expect("compiles"));
    for (method, want) in [
        (
            "fgrpc.PingServe/Ping",
            "the server has no service 'fgrpc.PingServe': did you mean 'fgrpc.PingServer'? There are \
                grpc.health.v1.Health, fgrpc.PingServer, grpc.testing.TestService, \
                grpc.reflection.v1.ServerReflection, grpc.reflection.v1alpha.ServerReflection",
        ),
        ("Ping", "'Ping' does not name a method: write package.Service/Method"),
        ("/", "'/' does not name a method: write package.Service/Method"),
    ] {
        let error = discover(method, &server).expect_err(method);
        assert_eq!(error.to_string(), want);
    }
    let (learned, _) = discover("fgrpc.PingServer/Pong", &server).expect("the service is there");
    assert_eq!(
        learned.method("fgrpc.PingServer/Pong").expect_err("is not there").to_string(),
        "there is no method 'fgrpc.PingServer/Pong': did you mean 'fgrpc.PingServer/Ping'? There \
            are fgrpc.PingServer/Ping"
    );
}

#[test]
fn a_server_answers_each_question() {
    let answers = Answers::new(&schema());
    let builtin = builtin::schema().expect("compiles");
    let reflection = builtin.method(Version::V1.path()).expect("is there");
    for (request, want) in [
        (
            r#"{"host":"h","listServices":"*"}"#,
            r#""listServicesResponse":{"service":[{"name":"a.Service"}]}"#,
        ),
        (
            r#"{"fileByFilename":"dir/d.proto"}"#,
            r#""fileDescriptorResponse":{"fileDescriptorProto":["#,
        ),
        (
            r#"{"fileByFilename":"e.proto"}"#,
            r#""errorResponse":{"errorCode":5,"errorMessage":"no such file"}"#,
        ),
        (r#"{"fileContainingSymbol":"a.Service"}"#, r#""fileDescriptorResponse":"#),
        (r#"{"fileContainingSymbol":"a.Service.Call"}"#, r#""fileDescriptorResponse":"#),
        (r#"{"fileContainingSymbol":"a.Service.No"}"#, r#""errorResponse":{"errorCode":5"#),
        (r#"{"fileContainingSymbol":"b.Ask"}"#, r#""fileDescriptorResponse":"#),
        (r#"{"fileContainingSymbol":"d.Deep.Size"}"#, r#""fileDescriptorResponse":"#),
        (
            r#"{"fileContainingExtension":{"containingType":"b.Ask","extensionNumber":9}}"#,
            r#""errorResponse":{"errorCode":5"#,
        ),
        (
            r#"{"allExtensionNumbersOfType":"b.Ask"}"#,
            r#""allExtensionNumbersResponse":{"baseTypeName":"b.Ask"}"#,
        ),
        (r#"{"allExtensionNumbersOfType":"b.No"}"#, r#""errorResponse":{"errorCode":5"#),
        ("{}", r#""errorResponse":{"errorCode":3,"errorMessage":"the request asks nothing"}"#),
    ] {
        let message = reflection.request(request, None).expect(request);
        let mut response = Vec::new();
        answers.answer(message.fixed().expect("is fixed"), &mut response).expect(request);
        let json = reflection.response_json(&response).expect("a response");
        assert!(json.contains(&format!(r#""originalRequest":{request}"#)), "{json}");
        assert_eq!(json.contains(r#""validHost":"h""#), request.contains("host"), "{json}");
        assert!(json.contains(want), "{request}\n{json}\n{want}");
    }
    for request in [&b"\x18\x01"[..], b"\x1a\x01\xff", b"\x0a", b"\x28\x01", b"\x08\x01"] {
        assert!(answers.answer(request, &mut Vec::new()).is_err(), "{}", request.escape_ascii());
    }
}

/// A response with these files.
fn files(files: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    write_tag(&mut out, response::FILE_DESCRIPTOR, 2);
    write_delimited(&mut out, |out| files.iter().for_each(|file| write_bytes(out, 1, file)));
    out
}

/// A file with a name and one import.
fn file(name: &str, import: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_bytes(&mut out, 1, name.as_bytes());
    write_bytes(&mut out, 3, import.as_bytes());
    out
}

fn error(code: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_tag(&mut out, response::ERROR, 2);
    write_delimited(&mut out, |out| {
        write_number(out, 1, code);
        write_bytes(out, 2, b"not\nnow");
    });
    out
}

#[test]
fn servers_that_answer_something_else_end_the_exchange() {
    let malformed = ReflectionError::Malformed.to_string();
    let list = b"\x32\x05\x0a\x03\x0a\x01s".to_vec();
    for (responses, want) in [
        (vec![Vec::new()], malformed.as_str()),
        (vec![b"\x22\x05".to_vec()], &malformed),
        (vec![b"\x22\x02\x0a\x05".to_vec()], &malformed),
        (vec![files(&[b"\x08"])], &malformed),
        (vec![list.clone()], &malformed),
        (vec![error(5), files(&[])], &malformed),
        (vec![error(5), list], "the server has no service 'a.B': there are s"),
        (
            vec![error(5), error(16)],
            "the server's reflection does not give the service 'a.B', nor a list of services: \
                status 16, 'not now'",
        ),
        (
            vec![files(&[&file("a", "b")]), error(5)],
            "the server's reflection does not give the file 'b': status 5, 'not now'",
        ),
        (
            vec![files(&[&file("a", "b")]), files(&[&file("c", "a")])],
            "the server's reflection was asked for the file 'b' and sent others",
        ),
    ] {
        let mut discovery = Discovery::new("a.B/C").expect("a name");
        let steps: Vec<_> = responses.iter().map(|it| discovery.response(it)).collect();
        let (last, before) = steps.split_last().expect("there are steps");
        assert!(before.iter().all(|step| *step == Ok(Step::Ask)), "{steps:?}");
        let error = last.as_ref().map_err(ToString::to_string);
        assert_eq!(error, Err(want.to_owned()), "{responses:?}");
    }
}

#[test]
fn what_a_server_sends_is_limited() {
    let mut discovery = Discovery::new("a.B/C").expect("a name");
    let mut end = None;
    for number in 0..3000 {
        let file = file(&number.to_string(), &(number + 1).to_string());
        match discovery.response(&files(&[&file])) {
            Ok(step) => assert_eq!(step, Step::Ask),
            Err(error) => {
                end = Some((number, error));
                break;
            }
        }
    }
    assert_eq!(end, Some((2000, ReflectionError::TooLarge)));

    let mut long = file("a", "b");
    write_bytes(&mut long, 100, &vec![0; 20 << 20]);
    let mut discovery = Discovery::new("a.B/C").expect("a name");
    assert_eq!(discovery.response(&files(&[&long])), Ok(Step::Ask));
    long[2] = b'b';
    assert_eq!(discovery.response(&files(&[&long])), Err(ReflectionError::TooLarge));
}

/// The schema that a server's files make.
fn of(sent: &[Vec<u8>]) -> Result<Schema, ReflectionError> {
    let sent: Vec<&[u8]> = sent.iter().map(Vec::as_slice).collect();
    let mut discovery = Discovery::new("a.Service/Call")?;
    discovery.response(&files(&sent))?;
    discovery.into_schema()
}

#[test]
fn files_that_do_not_fit_together_are_refused() {
    let whole: Vec<Vec<u8>> = schema().pool().files().map(|it| it.encode_to_vec()).collect();
    let circle = [file("a", "b"), file("b", "a")];
    let itself = [file("a", "a")];
    assert!(of(&whole).is_ok());
    for files in [&circle[..], &itself, &whole[..1], &[b"\x0a".to_vec()]] {
        let has_method = of(files).and_then(|it| Ok(it.method("a.Service/Call")?));
        assert!(has_method.is_err(), "{files:?}");
    }
}

/// A file with a bit of all that a file can have.
const RICH: &str = r#"
    syntax = "proto2"; package a; import "google/protobuf/descriptor.proto";
    message M {
      optional int32 x = 1 [default = 5]; repeated int32 y = 2 [packed = true];
      oneof o { string z = 3; M m = 4; } map<string, E> e = 5; extensions 100 to 200;
      reserved 10 to 12; reserved "foo"; optional group G = 7 { optional bytes b = 1; }
      enum In { Q = 1; }
    }
    enum E { A = 0; B = 1; }
    extend M { optional string ext = 100; }
    extend google.protobuf.MethodOptions { optional M opt = 50001; }
    service Service {
      rpc Call(M) returns (stream M) { option (opt) = { x: 1 z: "a" }; option deprecated = true; }
    }"#;

#[test]
fn changed_files_make_a_schema_or_an_error() {
    let read = |name: &str| Ok((name == "a.proto").then(|| RICH.to_owned()));
    let schema = Schema::compile(&["a.proto".to_owned()], read).expect("compiles");
    let file = schema.pool().get_file_by_name("a.proto").expect("is there").encode_to_vec();
    let judge = |file: Vec<u8>| {
        let found = of(&[file]).and_then(|it| Ok(it.method("a.Service/Call")?));
        let request = found.map(|it| it.request(r#"{"x": 1, "m": {}}"#, None));
        let error = match &request {
            Ok(Ok(_)) => String::new(),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(!error.contains('\n'), "{error}");
        request.is_ok_and(|it| it.is_ok())
    };
    assert!(judge(file.clone()));
    for at in 0..file.len() {
        for value in [0xff, file[at] ^ 1] {
            let mut changed = file.clone();
            changed[at] = value;
            judge(changed);
        }
        judge(file[..at].to_vec());
    }
    let mut edition = file;
    write_bytes(&mut edition, 12, b"editions");
    assert_eq!(
        of(&[edition]).expect_err("is not understood").to_string(),
        "the server's file 'a.proto' is in the syntax 'editions', not proto2 or proto3"
    );
}
