//! JSON, and lists of numbers: read and written without detours where they are plain, and always as
//! QuickJS' own functions read and write them.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

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
                 const [got, want] = [attempt(() => response.json()), attempt(() => JSON.parse(text, (_, value) => value))];
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

/// Two pages, of which the second can't be read.
struct Pages {
    start: *mut u8,
    page_bytes: usize,
}

impl Pages {
    fn new() -> Self {
        // SAFETY: a new mapping, of which the second half is closed before anyone knows of it.
        unsafe {
            let page_bytes = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap();
            let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
            let flags = flags | libc::MAP_ANONYMOUS;
            let start = libc::mmap(ptr::null_mut(), 2 * page_bytes, access, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let start = start.cast::<u8>();
            assert_eq!(libc::mprotect(start.add(page_bytes).cast(), page_bytes, 0), 0);
            Self { start, page_bytes }
        }
    }

    /// The text, so that its NUL is the last byte that can be read.
    fn put(&mut self, text: &str) -> *const c_char {
        // SAFETY: the first page has room for it.
        unsafe {
            let start = self.start.add(self.page_bytes - text.len() - 1);
            ptr::copy_nonoverlapping(text.as_ptr(), start, text.len());
            *start.add(text.len()) = 0;
            start.cast()
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: they are this value's own.
        unsafe { libc::munmap(self.start.cast(), 2 * self.page_bytes) };
    }
}

/// A body may end anywhere.
#[test]
fn no_text_is_read_beyond_its_end() {
    let whole =
        r#" [ {"a":[1.5,-20,"b\n\u00e9é"],"c":{}},{"a":null,"c":true,"d":false,"e":1e5} ] "#;
    let mut pages = Pages::new();
    let mut machine = MaybeUninit::<ffi::Machine>::zeroed();
    let machine = machine.as_mut_ptr();
    // SAFETY: the machine is zeroed and stays where it is, and each text has its NUL.
    unsafe {
        assert_eq!(ffi::plimsoll_open(machine, 256 << 10, ptr::null_mut()), 0);
        let context = (*machine).context;
        for (end, _) in whole.char_indices() {
            let text = pages.put(&whole[..end]);
            let value = ffi::plimsoll_parse_json(context, text, end, c"body".as_ptr());
            let is_whole = end + 1 == whole.len();
            assert_eq!(value.tag == ffi::TAG_OBJECT, is_whole, "{}", &whole[..end]);
            ffi::JS_FreeValue(context, value);
            ffi::JS_FreeValue(context, ffi::JS_GetException(context));
        }
        ffi::plimsoll_close(machine);
    }
}

/// Runs a script that logs each difference it finds, and then that it is done.
#[track_caller]
fn finds_no_difference(script: &str) {
    let mut host = Host::of(script);
    let mut vu = host.vu(1);
    host.iterate(&mut vu);
    assert_eq!(host.trace, ["Info done"]);
}

/// A replacer and an iterator of the script's own keep QuickJS to its own functions.
#[test]
fn values_are_written_as_quickjs_writes_them() {
    let script = r#"
        class Point { constructor() { this.x = 1; } get y() { return 2; } }
        class Named { toJSON(key) { return `named ${key}`; } }
        const bare = Object.create(null); bare.a = 1;
        const hidden = Object.defineProperty({ a: 1 }, 'b', { value: 2, enumerable: false });
        const got = Object.defineProperty({}, 'a', { get: () => [1], enumerable: true });
        const gone = { a: 1, b: 2, c: 3 }; delete gone.b;
        const circle = {}; circle.in = [circle];
        const deep = JSON.parse('['.repeat(40) + ']'.repeat(40));
        const long = [1, 2]; long.length = 4;
        const odd = [1]; odd.toJSON = () => 'odd';
        const heir = Object.create({ toJSON: () => 'heir' });
        const plainHeir = Object.create({ inherited: 1 }); plainHeir.own = 2;
        const values = [
            0, -0, 1, -1, 2147483648, 1e21, 1e-7, 5e-324, 1.5, -0.5, 0.001, -0.001, 0.0001, 1.005,
            0.1 + 0.2, 123456789.123, 999999999.999, 4.35, 1e9 + 0.5, 123456789012.25, NaN,
            Infinity, -Infinity, '', 'a', '"\\\b\f\n\r\t\u0000\u001f\u007f\u00e9', 'ж', '\ud800',
            '😀', 'a'.repeat(9) + 'b' + 'ц', true, false, null, undefined, Symbol('s'), () => 1, [],
            {}, [[]], [{}], [undefined, () => 1, Symbol('s')],
            { a: undefined, b: () => 1, c: Symbol('s'), d: 1 },
            { 2: 'b', 1: 'a', z: 1, '01': 2, '-1': 3 },
            { 'é"': 1, ж: 2, '': 3, [Symbol('s')]: 4 }, new Point(), new Named(), [new Named()],
            { in: new Named() }, bare, hidden, got, gone, circle, deep, long, [1, , 3], odd, heir,
            plainHeir, new Date(0), /a/, new Map([[1, 2]]), new Number(1), new String('s'),
            new Boolean(false), Object(1n), 1n, [1n], new Proxy({ a: 1 }, {}), new Proxy([1], {}),
            new Uint8Array([1, 2]), (function () { return arguments; })(1, 2),
            Object.freeze({ a: [1] }), { toJSON: 1, a: 2 }, { toJSON: () => undefined },
            'x'.repeat(3) + 'y'.repeat(2000) + '"',
            Array.from({ length: 70 }, (_, n) => ({ id: n, name: `n${n}`, price: n + 0.25 })),
        ];
        const attempt = (write) => { try { return write(); } catch (e) { return `${e}`; } };
        const compare = (value, at) => {
            const own = attempt(() => JSON.stringify(value));
            const want = attempt(() => JSON.stringify(value, (_, part) => part));
            if (own !== want) console.log(`${at}: ${own} and ${want}`);
        };
        const expect = (got, want) => { if (got !== want) console.log(`${got} is not ${want}`); };
        export default function () {
            values.forEach(compare);
            for (let n = 0; n < 3000; n++) {
                compare((Math.random() - 0.5) * 10 ** (n % 30 - 8), `number ${n}`);
                compare((n - 1500) / 1000, `thousands ${n}`);
            }
            const spaced = JSON.stringify([1.5, { a: 'b' }], null, 1);
            expect(spaced, '[\n 1.5,\n {\n  "a": "b"\n }\n]');
            expect(JSON.stringify({ a: 1, b: 2 }, ['b']), '{"b":2}');
            Object.prototype.toJSON = () => 'of all';
            values.forEach((value, at) => compare(value, `toJSON of all, ${at}`));
            delete Object.prototype.toJSON;
            Array.prototype.toJSON = () => 'of lists';
            expect(JSON.stringify([1]), '"of lists"');
            delete Array.prototype.toJSON;
            expect(JSON.stringify([1]), '[1]');
            console.log('done');
        }"#;
    finds_no_difference(script);
}

#[test]
fn lists_become_typed_arrays_as_iterators_give_them() {
    let script = r#"
        const kinds = [Uint8Array, Int8Array, Uint8ClampedArray, Int16Array, Uint32Array,
            Float32Array, Float64Array, BigInt64Array];
        const lists = () => {
            const valued = { valueOf() { changing.length = 0; return 7; } };
            const changing = [valued, 2, 3];
            return [[], [1, 2, 300], [-1.5, NaN, Infinity, 2 ** 40], [1, '2', null, true, {}],
                changing, [1, , 3], [1n], Object.assign([1, 2], { length: 4 })];
        };
        const attempt = (make) => {
            try { return Array.from(make(), String).join(); } catch (e) { return `${e}`; }
        };
        const expect = (got, want) => { if (got !== want) console.log(`${got} is not ${want}`); };
        function* each(list) { for (const value of list) yield value; }
        export default function () {
            for (const Kind of kinds) {
                const [own, again] = [lists(), lists()];
                own.forEach((list, at) => {
                    const want = attempt(() => new Kind(each(again[at])));
                    expect(attempt(() => new Kind(list)), want);
                });
            }
            const iterated = [1, 2];
            iterated[Symbol.iterator] = function* () { yield 9; };
            expect(String(new Uint8Array(iterated)), '9');
            const prototype = Object.getPrototypeOf([][Symbol.iterator]());
            const next = prototype.next;
            prototype.next = function () {
                const { done, value } = next.call(this);
                return { done, value: value + 1 };
            };
            expect(String(new Uint8Array([1, 2])), '2,3');
            prototype.next = next;
            const list = [1, 2];
            const bytes = new Uint8Array(list);
            list[0] = 5;
            expect(String(bytes), '1,2');
            console.log('done');
        }"#;
    finds_no_difference(script);
}
