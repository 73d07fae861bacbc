//! Which templates are read, which are refused, and what they write for a number.

use super::*;

fn table() -> Table {
    let row = |id: &str, name: &str| vec![id.to_owned(), name.to_owned()];
    Table {
        path: "dir/users.csv".to_owned(),
        columns: vec!["id".to_owned(), "name".to_owned()],
        rows: vec![row("1", "ann"), row("22", ""), row("333", "zoë")],
    }
}

fn compile(seed: u64, text: &str) -> Template {
    Compiler::new(seed, &[table()]).compile(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn filled(template: &Template, number: u64) -> String {
    let mut out = Vec::new();
    template.fill(number, &mut out);
    assert_eq!(out.len(), template.bytes(number));
    assert!(out.len() <= template.bytes_max());
    String::from_utf8(out).expect("text went in")
}

#[test]
fn what_is_read() {
    let text = |text: &str| Piece::Text(text.to_owned());
    let csv = |table: &str, column: &str, random| Piece::Csv {
        encoding: None,
        table: table.to_owned(),
        column: column.to_owned(),
        random,
    };
    for (given, want) in [
        ("", vec![]),
        ("plain } }} {", vec![text("plain } }} {")]),
        ("{{seq}}", vec![Piece::Seq]),
        ("a{{ seq }}b", vec![text("a"), Piece::Seq, text("b")]),
        ("{{seq}}{{uuid}}", vec![Piece::Seq, Piece::Uuid]),
        ("{{{{seq}}", vec![text("{{seq}}")]),
        ("{{{{{{seq}}", vec![text("{{"), Piece::Seq]),
        ("{\"a\":{\"b\":1}}", vec![text("{\"a\":{\"b\":1}}")]),
        ("{{random 1 100}}", vec![Piece::Random { from: 1, to: 100 }]),
        ("{{random  -5  -5 }}", vec![Piece::Random { from: -5, to: -5 }]),
        ("{{random_hex 16}}", vec![Piece::RandomHex { digits: 16 }]),
        ("{{csv:users.csv:id}}", vec![csv("users.csv", "id", false)]),
        ("{{csv: C:\\a b.csv : the id }}", vec![csv("C:\\a b.csv", "the id", false)]),
        ("{{csv:users.csv:id random}}", vec![csv("users.csv", "id", true)]),
    ] {
        assert_eq!(parse(given).as_ref(), Ok(&want), "{given}");
    }
    assert_eq!(tables("{{csv:a:x}}{{seq}}{{csv:b:y random}}"), Ok(vec!["a".into(), "b".into()]));
}

#[test]
fn what_is_refused_says_what_to_write() {
    for (given, says) in [
        ("{{seq", "not closed"),
        ("a{{", "not closed"),
        ("{{{", "not closed"),
        ("{{{seq}}", "'{{{seq}}' is not a template"),
        ("{{}}", "{{seq}}"),
        ("{{sequence}}", "'{{sequence}}' is not a template: write {{seq}}, {{uuid}}"),
        ("{{seq 1}}", "--no-templates"),
        ("{{random}}", "{{random FROM TO}}"),
        ("{{random 1}}", "{{random FROM TO}}"),
        ("{{random 2 1}}", "smaller first"),
        ("{{random 1 99999999999999999999}}", "{{random FROM TO}}"),
        ("{{random_hex 0}}", "1 to 1024"),
        ("{{random_hex 1025}}", "1 to 1024"),
        ("{{csv:users.csv}}", "{{csv:FILE:COLUMN}}"),
        ("{{csv::id}}", "{{csv:FILE:COLUMN}}"),
        ("{{csv:users.csv: }}", "{{csv:FILE:COLUMN}}"),
        ("{{csv:other.csv:id}}", "other.csv is not among"),
        ("{{csv:dir/users.csv:mail}}", "no column 'mail': its first line names id, name"),
        ("{{csv:dir/users.csv:Nmae}}", "no column 'Nmae': did you mean 'name'?"),
    ] {
        let error = Compiler::new(1, &[table()]).compile(given).expect_err(given).to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{given}: {error}");
    }
    let empty = [Table { rows: Vec::new(), ..table() }];
    let error = Compiler::new(1, &empty).compile("{{csv:dir/users.csv:id}}").unwrap_err();
    assert!(error.to_string().contains("no rows"), "{error}");
    let long = format!("{{{{{}}}}}", "ä".repeat(1000));
    assert!(parse(&long).unwrap_err().to_string().len() < 400);
}

#[test]
fn no_prefix_of_a_template_panics() {
    let text = "a{{seq}}{{{{ä}}{{random -1 1}}{{csv:dir/users.csv:name random}}{{random_hex 3}}";
    for (end, _) in text.char_indices() {
        if let Ok(template) = Compiler::new(1, &[table()]).compile(&text[..end]) {
            filled(&template, 7);
        }
    }
}

#[test]
fn what_is_written() {
    for (text, number, want) in [
        ("n={{seq}}&{{seq}}", 0, "n=0&0"),
        ("{{seq}}", u64::MAX, "18446744073709551615"),
        ("{{csv:dir/users.csv:id}}", 0, "1"),
        ("{{csv:dir/users.csv:id}}-{{csv:dir/users.csv:name}}", 5, "333-zoë"),
        ("[{{csv:dir/users.csv:name}}]", 4, "[]"),
        ("{{random 7 7}}", 3, "7"),
        ("{{random -9223372036854775808 -9223372036854775808}}", 3, "-9223372036854775808"),
    ] {
        assert_eq!(filled(&compile(1, text), number), want, "{text}");
    }
}

#[test]
fn what_is_random_is_of_its_kind_and_differs() {
    let uuids: Vec<String> = (0..1000).map(|n| filled(&compile(1, "{{uuid}}"), n)).collect();
    for uuid in &uuids {
        let groups: Vec<&str> = uuid.split('-').collect();
        assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(
            groups[2].starts_with('4') && groups[3].starts_with(['8', '9', 'a', 'b']),
            "{uuid}"
        );
        assert!(uuid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()), "{uuid}");
    }
    let mut distinct = uuids.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), uuids.len());

    let template = compile(1, "{{random -1 1}}");
    let drawn: Vec<String> = (0..100).map(|number| filled(&template, number)).collect();
    for want in ["-1", "0", "1"] {
        assert!(drawn.iter().filter(|got| *got == want).count() > 15, "{want}");
    }
    let whole = compile(1, "{{random -9223372036854775808 9223372036854775807}}");
    assert_ne!(filled(&whole, 0), filled(&whole, 1));
    for digits in [1, 15, 16, 17, 1024] {
        let hex = filled(&compile(1, &format!("{{{{random_hex {digits}}}}}")), 9);
        assert!(hex.len() == digits && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hex}");
    }
}

#[test]
fn one_seed_writes_one_text() {
    let text = "{{uuid}}{{random 1 1000000}}{{random_hex 8}}{{csv:dir/users.csv:id random}}";
    let all = |seed| (0..50).map(|n| filled(&compile(seed, text), n)).collect::<Vec<_>>();
    assert_eq!(all(1), all(1));
    assert!(all(1).iter().zip(all(2)).all(|(one, two)| *one != two));
    let twice = filled(&compile(1, "{{uuid}} {{uuid}}"), 0);
    let (first, second) = twice.split_once(' ').expect("two of them");
    assert_ne!(first, second, "each place has its own");
}

#[test]
fn columns_of_a_random_row_belong_together() {
    let id = "{{csv:dir/users.csv:id random}}";
    let template = compile(1, &format!("{id},{{{{csv:dir/users.csv:name random}}}},{id}"));
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..100 {
        seen.insert(filled(&template, number));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["1,ann,1", "22,,22", "333,zoë,333"]);
}
