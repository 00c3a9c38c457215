//! Our reading of a text beside that of a shell.

use flyto_plugin::ToolDef;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::json;

use crate::{Host, uses_shell};

/// How many texts one shell reads.
const N_TEXTS: usize = 60;

/// A text of the language in which words need no shell, and a little beyond.
fn text() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "{{x}}",
        "{{y}}",
        "'",
        "\"",
        "\\",
        " ",
        " ",
        "\t",
        "a",
        "b-c",
        "é",
        "'s t'",
        "\"u v\"",
        "\\ ",
        "\\\\",
        "\\'",
        "\\\"",
        "\\$",
        "\\`",
        " \\\n",
        "$",
        "=",
        "--t=",
        "A=1",
        "#",
        " #",
        "~",
        " ~/",
        "a~",
        "%",
        "!",
        "]",
        "}",
        "{",
        "{{.",
        "}}",
        "{{ x }}",
        "{{.X}}",
        "^",
        "@",
        ":",
        "+",
        ",",
        "''",
        "\"\"",
        "'{{x}}'",
        "\"{{y}}\"",
        "\"a\\b\"",
        "\"\\\\\"",
        "'\\'",
        "*",
        "?",
        "$HOME",
        "\"$HOME\"",
        "$(echo {{x}})",
        "${HOME}",
        "$((1+2))",
        "\r",
    ];
    proptest::collection::vec(proptest::sample::select(PIECES), 0..9).prop_map(|it| it.concat())
}

/// The text with values that mean nothing to a shell in any quotes, and end no name.
fn substituted(text: &str) -> String {
    text.replace("{{x}}", ".x1.").replace("{{ x }}", ".x1.").replace("{{y}}", ".y2.")
}

/// What the program gets, and whether a shell was asked.
async fn ours(host: &Host, command: &str) -> Option<(Vec<String>, bool)> {
    let schema = json!({"type": "object", "properties": {"x": {}, "y": {}}});
    let def = ToolDef::template("t", command, schema).ok()?;
    let shell = uses_shell(&def);
    let input = json!({"x": ".x1.", "y": ".y2."});
    if shell {
        let res = host.call(def, input).await;
        assert!(!res.is_error(), "{command:?}: {}", res.output);
        return Some((res.output.split_terminator('\0').map(str::to_owned).collect(), true));
    }
    let words = host.words(def, input);
    let words = words.lines().map(|it| serde_json::from_str(it).expect("a word"));
    Some((words.skip(2).collect(), false))
}

#[tokio::test]
async fn words_are_those_of_a_shell() {
    let mut runner = TestRunner::deterministic();
    let (mut n_direct, mut n_shell, mut n_refused) = (0, 0, 0);
    for host in ["dash", "bash", "busybox"].into_iter().filter_map(Host::with_shell) {
        for _ in 0..20 {
            let mut script = String::new();
            let mut expected = Vec::new();
            while expected.len() < N_TEXTS {
                let text = text().new_tree(&mut runner).expect("a text").current();
                // The first word is there always, so that the program prints at least one.
                let command = format!(r"printf '%s\0' first {text}");
                // In a script, the next line would go on with this one; and behind a comment, another
                // command would begin.
                let comment = command.find('#').is_some_and(|at| command[at..].contains('\n'));
                // Each shell has a number of its own, which is `$$`.
                if command.ends_with('\\') || comment || command.contains("$$") {
                    continue;
                }
                match ours(&host, &command).await {
                    Some((words, shell)) => {
                        if shell {
                            n_shell += 1
                        } else {
                            n_direct += 1
                        }
                        script += &format!("{}\nprintf 'end\\0'\n", substituted(&command));
                        expected.push((command, words));
                    }
                    None => n_refused += 1,
                }
            }
            let mut def = ToolDef::argv("t", "sh", ["-c", &script]);
            def.work_dir = Some(host.dir.path().join("session"));
            let res = host.call(def, json!({})).await;
            assert!(!res.is_error(), "{}", res.output);
            let mut theirs = res.output.split_terminator('\0');
            for (command, words) in expected {
                let got: Vec<_> = theirs.by_ref().take_while(|it| *it != "end").collect();
                assert_eq!(words, got, "{command:?}");
            }
        }
    }
    // The texts are worth something only if most of them are read.
    assert!(n_direct > 500 && n_shell > 500, "{n_direct} {n_shell} {n_refused}");
}
