//! The names that modules export, against those of k6: `exports_of_k6.txt`.

use std::collections::{BTreeMap, BTreeSet};

use super::super::resolve::BUILT_IN;
use super::*;

const TABLE: &str = include_str!("exports_of_k6.txt");

/// Modules that are refused by name.
const REFUSED: [&str; 2] = ["k6/browser", "k6/crypto/x509"];

/// Names that k6 has and this does not. Those of modules are warned about where they are imported.
/// Of the globals, the first two are Go's, and the others are errors when a script names them.
const LACKING: &[(&str, &[&str])] = &[("globals", &["GoError", "vubox", "exports", "module"])];

/// Modules of earlier versions of k6, which are still here.
const FORMER: [&str; 1] = ["k6/experimental/timers"];

/// By module, or by the object within one, its names; a constant is `name=value`.
fn table() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut table: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let (module, names) = line.split_once(": ").expect("a line is a module and its names");
        table.entry(module).or_default().extend(names.split(' '));
    }
    table
}

/// What a module or an object has, with the values of those of its names that are constants in k6.
fn ours(of: &str, wanted: &BTreeSet<&str>) -> BTreeSet<String> {
    let (module, path) =
        of.split_once('.').map_or((of, None), |(module, path)| (module, Some(path)));
    let import = if module == "globals" {
        "const it = globalThis;".to_owned()
    } else if path.is_some() || module == "k6/secrets" {
        format!("import it from '{module}';")
    } else {
        format!("import * as it from '{module}';")
    };
    let object = path.map_or_else(|| "it".to_owned(), |path| format!("it.{path}"));
    let constants: Vec<&str> =
        wanted.iter().filter_map(|name| Some(name.split_once('=')?.0)).collect();
    let listed = value_with(
        &import,
        &format!(
            "Object.getOwnPropertyNames({object}).map((name) =>
                 {constants:?}.includes(name) ? name + '=' + {object}[name] : name).join(' ')"
        ),
    );
    listed.split(' ').map(str::to_owned).collect()
}

#[test]
fn modules_export_what_those_of_k6_do() {
    for (of, wanted) in table() {
        if REFUSED.contains(&of) {
            let failure = load(&format!("import it from '{of}';")).err().expect("it is refused");
            assert!(failure.text.contains(&format!("cannot import '{of}': ")), "{failure}");
            continue;
        }
        let ours = ours(of, &wanted);
        let lacking: BTreeSet<&str> =
            wanted.iter().copied().filter(|name| !ours.contains(*name)).collect();
        let known = LACKING.iter().find(|(module, _)| *module == of);
        let known: BTreeSet<&str> =
            known.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(lacking, known, "{of}");
        if of == "globals" {
            continue;
        }
        let more: Vec<&String> =
            ours.iter().filter(|name| !wanted.contains(name.as_str())).collect();
        assert!(more.iter().all(|name| *name == "default"), "{of} has more: {more:?}");
    }
}

#[test]
fn each_module_of_k6_is_here_or_refused() {
    let table = table();
    let modules = table.keys().filter(|of| of.starts_with("k6") && !of.contains('.'));
    for module in modules {
        assert!(BUILT_IN.contains(module) || REFUSED.contains(module), "{module}");
    }
    for module in BUILT_IN {
        assert!(table.contains_key(module) || FORMER.contains(&module), "{module}");
    }
}
