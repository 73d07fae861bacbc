//! Errors of scripts: one line with the file and the line, while loading and during the run.

use super::*;

#[test]
fn errors_say_file_and_line() {
    for (text, want) in [
        ("x = = 1", "s.lua:1: unexpected symbol near '='"),
        ("\nlocal x = nil\nx.y = 1", "s.lua:3: attempt to index local 'x' (a nil value)"),
        ("error('all\\nwrong', 0)", "s.lua: all wrong"),
        ("error({})", "s.lua: error object that is a table value: table: 0x"),
        ("error(nil)", "s.lua: error object that is a nil value: nil"),
        ("function setup(t)\n t:sit() end", "s.lua:2: attempt to call method 'sit' (a nil value)"),
        (
            "function setup(t)\n t.x = 1 end",
            "s.lua:2: cannot set 'x' on a thread: use thread:set()",
        ),
        (
            "function setup(t)\n t.get('x') end",
            "s.lua:2: thread:get() is a method: write it with a colon",
        ),
        (
            "function setup(t)\n t.addr = 'x' end",
            "s.lua:2: thread.addr takes an address from wrk.lookup, not a string",
        ),
        (
            "function setup(t)\n t:set('x', print) end",
            "s.lua:2: a function cannot be transferred between threads",
        ),
        (
            "function setup(t)\n local x = {} x.x = x\n t:set('x', x) end",
            "s.lua:3: a table nested 100 deep, or in itself, cannot be transferred",
        ),
        ("function init()\n\n foo() end", "s.lua:3: attempt to call global 'foo' (a nil value)"),
        ("function init()\n wrk.lookup('nowhere', 1) end", "s.lua:2: unable to resolve nowhere:1"),
        (
            "function init()\n wrk.connect('nowhere') end",
            "s.lua:2: wrk.connect takes an address from wrk.lookup, not a string",
        ),
        (
            "function request()\n return nil .. 'x' end",
            "s.lua:2: attempt to concatenate a nil value",
        ),
        (
            "function request()\n local r = wrk.format(nil, nil, nil, {})\n return r end",
            "s.lua:2: wrk.format: the body has to be a string, not a table",
        ),
        (
            "function request()\n local r = wrk.format(nil, nil, 5)\n return r end",
            "s.lua:2: attempt to index",
        ),
        (
            "function request() return '' end",
            "s.lua: request() has to return a request as a string, and returned an empty string",
        ),
        (
            "function request() end",
            "s.lua: request() has to return a request as a string, and returned nothing",
        ),
        (
            "function request() return {} end",
            "s.lua: request() has to return a request as a string, and returned a table",
        ),
        (
            "function request() return 'GET / HTTP/1.1\\r\\n' end",
            "s.lua: what request() returned is not a request: it ends within its head, at line 2, column 1 of it",
        ),
        (
            "wrk.headers.X = 'a\\r\\nb'",
            "s.lua: what request() returned is not a request: a header has no name or no colon, at line",
        ),
        ("#!/usr/bin/env wrk\nx()", "s.lua:2: attempt to call global 'x' (a nil value)"),
    ] {
        let Err(error) = load(&plain(text)) else { panic!("{text} loads") };
        let error = error.to_string();
        assert!(error.starts_with(want) && !error.contains('\n'), "{text}\n{error}\n{want}");
    }
}

#[test]
fn errors_during_the_run_say_file_and_line() {
    let mut thread = one("local n = 0\n\
         function request()\n\
           n = n + 1\n\
           if n == 2 then local x = nil + 1 end\n\
           return wrk.format()\n\
         end\n\
         function response(status) if status == 500 then\n\
           error('bad') end end\n\
         function delay() return {} .. '' end");
    let mut out = b"kept".to_vec();
    let error = thread.next(&mut out).unwrap_err();
    assert_eq!(error.to_string(), "s.lua:4: attempt to perform arithmetic on a nil value");
    assert_eq!(out, b"kept");
    thread.next(&mut out).unwrap();
    thread.response(200, no_headers(), b"").unwrap();
    let error = thread.response(500, no_headers(), b"").unwrap_err();
    assert_eq!(error.to_string(), "s.lua:8: bad");
    let error = thread.delay_ns().unwrap_err();
    assert_eq!(error.to_string(), "s.lua:9: attempt to concatenate a table value");
}
