//! The example of every flag, run as the documentation shows it, and its wrong value.

use std::fs;

use crate::support::{Server, plimsoll, run};

#[path = "../../src/manual/examples.rs"]
mod examples;

use examples::{EXAMPLES, FILES};

#[test]
fn every_example_does_what_it_shows_and_every_wrong_value_is_refused() {
    let server = Server::start(&[]);
    let base = server.url("");
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in FILES {
        let text = text.replace("{url}", &base);
        fs::write(directory.path().join(name), text).expect("a file");
    }
    for example in EXAMPLES {
        let cases = [(example.arguments, Some(example.exit)), (example.wrong, None)];
        for (arguments, exit) in cases {
            let words: Vec<String> =
                arguments.iter().map(|word| word.replace("{url}", &base)).collect();
            let mut command = plimsoll(&["run"]);
            let flag = example.flag;
            let finished = run(command.args(&words).current_dir(directory.path()));
            let Some(exit) = exit else {
                assert!(matches!(finished.code, Some(1 | 2)), "{flag}: {words:?}: {finished:?}");
                assert_eq!(finished.stdout, "", "{flag}: {words:?}");
                assert!(finished.stderr.contains(example.says), "{flag}: {words:?}: {finished:?}");
                continue;
            };
            assert_eq!(finished.code, Some(i32::from(exit)), "{flag}: {words:?}: {finished:?}");
            assert_eq!(finished.stderr, "", "{flag}: {words:?}");
        }
    }
}

#[test]
fn the_manual_is_printed() {
    for (arguments, holds) in [
        (&["--man"][..], ".TH plimsoll 1"),
        (&["--man", "run"], "connections"),
        (&["--completions", "bash"], "--no-keepalive"),
        (&["--completions", "zsh"], "--no-keepalive"),
        (&["--completions", "fish"], "no-keepalive"),
        (&["--markdown"], "### `-c, --connections N`"),
    ] {
        let finished = run(plimsoll(&["manual"]).args(arguments));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(finished.stdout.contains(holds), "{arguments:?}: {}", finished.stdout);
    }
    for (arguments, says) in [
        (&["--man", "nothing"][..], "run, serve, demo"),
        (&["--completions", "dos"], "bash"),
        (&[], "--man"),
        (&["--man", "--markdown"], "cannot be used with"),
    ] {
        let finished = run(plimsoll(&["manual"]).args(arguments));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(finished.stderr.contains(says), "{arguments:?}: {}", finished.stderr);
    }
}
