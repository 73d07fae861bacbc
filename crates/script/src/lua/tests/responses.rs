//! What a script is told of a response: only the parts it reads, exactly as the server sent them.

use super::*;

#[test]
fn what_response_reads_is_seen() {
    const NONE: (bool, bool) = (false, false);
    const HEADERS: (bool, bool) = (true, false);
    const BODY: (bool, bool) = (false, true);
    const BOTH: (bool, bool) = (true, true);
    for (text, want) in [
        ("function response() n = 1 end", NONE),
        ("function response(status) n = status end", NONE),
        ("function response(status, headers, body) n = (n or 0) + 1 end", NONE),
        ("function response(status, headers, body) print(status) return end", NONE),
        ("function response(s, h, b) for i = 1, s do local x = i end end", NONE),
        ("function response(s, h, b) for k, v in pairs(wrk) do local x = v end end", NONE),
        ("function response(s, h, b) local x = 'a' .. s .. 'b' end", NONE),
        ("function response(status, headers, body) n = headers['X'] end", HEADERS),
        ("function response(status, headers) wrk.headers = headers end", HEADERS),
        ("function response(s, h, b) for k, v in pairs(h) do n = k end end", HEADERS),
        ("function response(s, h, b) if h then n = 1 end end", HEADERS),
        ("function response(s, h, b) n = h == 1 end", HEADERS),
        ("function response(s, h, b) h.x = 1 end", HEADERS),
        ("function response(s, h, b) n = { h } end", HEADERS),
        ("function response(status, headers, body) n = #body end", BODY),
        ("function response(s, h, b) n = 'x' .. b end", BODY),
        ("function response(s, h, b) n = b:find('x') end", BODY),
        ("function response(s, h, b) return s, b end", BODY),
        ("function response(s, h, b) return print(b) end", BODY),
        ("function response(s, h, b) n = h.x .. b end", BOTH),
        ("function response(s, h, b) return h end", BOTH),
        ("function response(...) local a = ... end", BOTH),
        ("function response(s, h, b) n = function() return b end end", BOTH),
        ("response = print", BOTH),
    ] {
        let wants = one(text).wants();
        assert!(wants.response, "{text}");
        assert_eq!((wants.headers, wants.body), want, "{text}");
    }
    assert_eq!(one("response = 1").wants(), Wants::default());
}

#[test]
fn responses_arrive_as_they_are() {
    let mut thread = one("function response(status, headers, body)\n\
           got = status .. ' ' .. tostring(headers.A) .. ' ' .. tostring(headers.a) .. ' ' .. body\n\
         end");
    let headers: [(&[u8], &[u8]); 3] = [(b"A", b"1"), (b"a", b"2"), (b"A", b"3")];
    thread.response(200, headers.into_iter(), b"bo\0dy\xff").unwrap();
    assert_eq!(variable(&thread.state, "got:gsub('[^%w ]', '?')"), "200 3 2 bo?dy?");
}

#[test]
fn response_can_be_replaced() {
    let mut thread =
        one("local function other(status, headers, body) second = headers.A .. body end\n\
         function response(status)\n first = status\n response = other\n end");
    assert_eq!(thread.wants(), Wants { response: true, headers: false, body: false });
    thread.response(201, no_headers(), b"").unwrap();
    assert_eq!(thread.wants(), Wants { response: true, headers: true, body: true });
    let headers: [(&[u8], &[u8]); 1] = [(b"A", b"1")];
    thread.response(202, headers.into_iter(), b"b").unwrap();
    assert_eq!(variable(&thread.state, "first .. second"), "2011b");
    thread.state.evaluate("response = nil return ''");
    thread.response(203, no_headers(), b"").unwrap();
    assert_eq!(thread.wants(), Wants::default());
}

#[test]
fn a_thread_can_stop_itself() {
    let mut thread = one("local n = 0\n\
         function init() wrk.thread:stop() end\n\
         function response() n = n + 1 if n == 2 then wrk.thread:stop() end end");
    // Before the run it has no effect, as in wrk.
    for stopped in [false, true, true] {
        thread.response(200, no_headers(), b"").unwrap();
        assert_eq!(thread.is_stopped(), stopped);
    }
}
