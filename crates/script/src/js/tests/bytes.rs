//! What has bytes: every function that takes some takes those that a buffer or a view has now.

use super::*;

/// Values, and their bytes as text; `None` if they have none any more.
const VALUES: [(&str, Option<&str>); 11] = [
    ("four", Some("abcd")),
    ("new Uint8Array(four, 1, 2)", Some("bc")),
    ("new Uint16Array(four, 2)", Some("cd")),
    ("new DataView(four, 1, 2)", Some("bc")),
    ("new DataView(new ArrayBuffer(0))", Some("")),
    ("resized((buffer) => new Uint8Array(buffer), 4)", Some("abcd")),
    ("resized((buffer) => new Uint8Array(buffer, 1), 2)", Some("b")),
    ("resized((buffer) => new DataView(buffer, 1), 4)", Some("bcd")),
    ("resized((buffer) => new Uint8Array(buffer, 1, 2), 2)", None),
    ("resized((buffer) => new DataView(buffer, 1, 2), 2)", None),
    ("(() => { const gone = four.slice(); gone.transfer(); return gone; })()", None),
];

#[test]
fn buffers_and_views_have_the_bytes_that_they_reach_now() {
    for (value, want) in VALUES {
        for read in [
            "new TextDecoder().decode(value)",
            "encoding.b64decode(encoding.b64encode(value), 'std', 's')",
            "(crypto.sha256(value, 'hex') === crypto.sha256(text, 'hex') ? text : 'another')",
            "(http.post('http://x/', value).request.body ?? '')",
            "(sent.length = 0, http.post('http://x/', { f: http.file(value, 'n') }), text)",
        ] {
            let text = want.unwrap_or("");
            let got = value_of(&format!(
                "(() => {{
                    const four = new Uint8Array([97, 98, 99, 100]).buffer;
                    const resized = (view, bytes) => {{
                        const buffer = new ArrayBuffer(3, {{ maxByteLength: 4 }});
                        const made = view(buffer);
                        new Uint8Array(buffer).set([97, 98, 99]);
                        buffer.resize(bytes);
                        if (bytes === 4) new Uint8Array(buffer)[3] = 100;
                        return made;
                    }};
                    const value = {value}, text = '{text}', sent = [];
                    try {{ return {read}; }} catch (error) {{ return error.name; }}
                }})()"
            ));
            assert_eq!(got, want.unwrap_or("TypeError"), "{read} of {value}");
        }
    }
}

#[test]
fn what_has_no_bytes_any_more_is_shown_and_leaves_no_exception_behind() {
    let shown = value_of(
        "(() => {
            const gone = new ArrayBuffer(2), view = new DataView(new ArrayBuffer(1));
            gone.transfer();
            console.log(gone, view);
            return 'on';
        })()",
    );
    assert_eq!(shown, "on");
    let (trace, ending) = trace(
        "export default function () {
            const gone = new ArrayBuffer(2); gone.transfer();
            console.log(gone); console.log(new DataView(new ArrayBuffer(1)));
        }",
    );
    assert_eq!(ending, Ending::Complete);
    assert_eq!(trace, ["Info ArrayBuffer { [Uint8Contents]: <>, byteLength: 0 }", "Info {}"]);
}
