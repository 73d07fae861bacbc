//! What becomes of types, and what is refused.

use super::*;

#[test]
fn types_become_blanks() {
    for (text, want) in [
        ("let a: number = 1;", "let a         = 1;"),
        ("let a!: number;", "let a         ;"),
        (
            "function f<T>(a: T, b?: string): T { return a; }",
            "function f   (a   , b         )    { return a; }",
        ),
        (
            "const f = async (a: A): Promise<void> => {};",
            "const f = async (a   )                => {};",
        ),
        ("const f = (a): {\n  x: string\n} => a;", "const f = (a    \n           \n) => a;"),
        ("x = y as unknown as Z;", "x = y                ;"),
        ("x = y as Z\n(z)", "x = y;    \n(z)"),
        ("x = y! + z!.w;", "x = y  + z .w;"),
        ("x = <Z>y;", "x =    y;"),
        ("const o = { a: 1 } satisfies O;", "const o = { a: 1 }            ;"),
        ("f<string>(a);", "f        (a);"),
        ("interface I { a: 1 }\nlet a;", "                    \nlet a;"),
        ("export type T = 1;\ntype U = T;", "                  \n           "),
        (
            "declare const x: 1; declare function f(): void;",
            "                                               ",
        ),
        (
            "function f(a: 1): 1;\nfunction f(a) { return a; }",
            "                    \nfunction f(a) { return a; }",
        ),
        (
            "class A<T> extends B<T> implements C, D<T> { x; }",
            "class A    extends B                       { x; }",
        ),
        (
            "abstract class A { abstract m(): void; private readonly x?: 1 = 1; static y?: 2; }",
            "         class A {                                      x     = 1; static y    ; }",
        ),
        (
            "class A { a = 1\n readonly ['b'] = 2;\n [k: string]: 1; public get c(): 1 { return 1; } }",
            "class A { a = 1\n ;        ['b'] = 2;\n                        get c()    { return 1; } }",
        ),
        (
            "class A { m(): void; m(a?: 1) {} declare z: 1; constructor(a: 1) { super(); } }",
            "class A {            m(a    ) {}               constructor(a   ) { super(); } }",
        ),
        ("function f(this: Window, a: 1) {}", "function f(              a   ) {}"),
        ("try {} catch (e: unknown) {}", "try {} catch (e         ) {}"),
        ("for (const a of b as C[]) {}", "for (const a of b       ) {}"),
        ("let \u{e9}: '\u{20ac}' = 1;", "let \u{e9}      = 1;"),
        ("const g = <T,>(a: T) => a;", "const g =     (a   ) => a;"),
        ("let v = a < b, c = d > (e);", "let v = a < b, c = d > (e);"),
    ] {
        assert_eq!(strip(text).as_deref(), Ok(want), "{text}");
    }
}

#[test]
fn imports_of_types_vanish() {
    for (text, want) in [
        ("import type { A } from 'a';", "                           "),
        ("import { type A, b } from 'a'; b();", "import {         b } from 'a'; b();"),
        (
            "import { Options } from 'k6/options';\nconst o: Options = {};",
            "                                     \nconst o          = {};",
        ),
        (
            "import http, { Response } from 'k6/http'; let r: Response = http.get('');",
            "import http, {          } from 'k6/http'; let r           = http.get('');",
        ),
        ("import A, { b } from 'a'; b();", "import    { b } from 'a'; b();"),
        ("import * as a from 'a'; let x: a.T;", "                        let x     ;"),
        ("import 'a'; import {} from 'b';", "import 'a'; import {} from 'b';"),
        ("import { a } from 'a'; export { a };", "import { a } from 'a'; export { a };"),
        ("import { a } from 'a'; x = { a };", "import { a } from 'a'; x = { a };"),
        (
            "export type { A } from 'a'; export type * from 'b';",
            "                                                   ",
        ),
        ("interface A { a: 1 }\nexport { A, b };", "                    \nexport {    b };"),
        ("type A = 1; export { A as B };", "            export {        };"),
        ("interface A {} class A {} export { A };", "               class A {} export { A };"),
        ("export { type A, b } from 'a';", "export {         b } from 'a';"),
    ] {
        assert_eq!(strip(text).as_deref(), Ok(want), "{text}");
    }
}

#[test]
fn what_needs_code_is_refused_with_its_place() {
    for (text, want) in [
        ("let a;\n  enum E { A }", "2:3: enums are not supported"),
        ("export const enum E { A }", "1:8: enums are not supported"),
        ("namespace N { export const a = 1; }", "1:1: namespaces are not supported"),
        ("class A { constructor(private a: 1) {} }", "1:23: parameter properties are not"),
        ("import a = require('a');", "1:1: imports with '=' are not"),
        ("export = a;", "1:1: exports with '=' are not"),
        ("let a: = 1;", "1:8: "),
    ] {
        let error = strip(text).unwrap_err();
        assert!(error.starts_with(want) && !error.contains('\n'), "{text}: {error}");
    }
    assert!(strip(&" ".repeat(300 << 10)).unwrap_err().contains("bundle it"));
}

#[test]
fn the_deepest_text_fits_the_stack() {
    for (part, count) in [
        ("(", 256),
        ("[", 256),
        ("{", 256),
        ("A<", 128),
        ("<a>", 128),
        ("!", 32_700),
        ("a+", 16_300),
        ("a.", 16_300),
        ("a=>", 10_900),
        ("a?", 16_300),
        ("f`${", 256),
        ("if(a)", 6_500),
        ("if(a){}else ", 21_000),
        ("a?{}:", 52_000),
        ("-{}", 87_000),
        ("a?(", 256),
        ("async(", 256),
        ("(a)=>(", 256),
        ("a<(", 128),
    ] {
        let text = part.repeat(count) + "a";
        let error = strip(&text).err().unwrap_or_default();
        assert!(!error.contains("too deep"), "{part}: {error}");
        drop(strip(&part.repeat(TEXT_BYTES_MAX / part.len())));
    }
}

#[test]
fn every_prefix_is_stripped_or_refused() {
    let text = "import { A } from 'a';\nclass B<T> implements A { private x?: T = 1 as T; }\n\
                const f = async <T,>(a?: T): Promise<{\n a: T }> => <T>a!; /* \u{20ac} */ type C = B<A>;";
    for (end, _) in text.char_indices() {
        match strip(&text[..end]) {
            Ok(stripped) => assert_eq!(stripped.chars().count(), text[..end].chars().count()),
            Err(error) => assert!(error.contains(": "), "{error}"),
        }
    }
}
