//! Texts of what shells read in different ways: no value becomes a program or code in any of them.

use std::{
    fs,
    process::{Command, Stdio},
};

use flyto_plugin::ToolDef;
use flyto_tools::{Input, Tool};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::json;

use crate::Host;

/// How many texts are made for each shell. `FLYTO_TEMPLATES` is another number.
const N_TEXTS: usize = 2000;

/// The value: a program that leaves a mark when it is run as one, and not as the file of a script.
const VALUE: &str = "canary";

/// Bounds of one shell: processor seconds, blocks of a file, KiB of memory; `timeout` ends those that wait. The number of
/// processes is bounded by the text, as no function calls itself.
const BOUNDS: &str =
    "ulimit -t 2; ulimit -f 8; ulimit -v 262144; exec timeout -s KILL 5 \"$0\" \"$@\"";

const VALUES: &[&str] = &[
    "{{x}}",
    " {{x}}",
    " {{x}} ",
    "{{x}} ",
    "\"{{x}}\"",
    "'{{x}}'",
    "{{x}},",
    "={{x}}",
    "[{{x}}]=",
];

/// Pieces of a text. No piece hands a value on to code of the author, as `for v in {{x}}` with `$v` would, nor names a
/// program that runs its arguments, but for those that the rules or the lint follow.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    " ", " ", " ", "\t", "\n", "\n", "\\\n", " \\\n", "\r", "\u{a0}", "\u{3000}", "\u{b}",
    "p", "p ", "p {{x}}", ":", "true ", "a", "1", "f", "A=1", "A=1 ", "a[1]=", "a[", "]", "]=1", "a=(", "a+=",
    "\"$@\"", "$@", "$*", "\"$*\"", "$A", "\"$A\"", "\"${a[@]}\"", "${@:1}", "\"${!a@}\"", "$(", "\"$(", ")\"", "$(p)",
    "$((1))", "$((a[", "))", "$[1]", "${A:-b}", "${A", "}", "~", "*", "!(", "@(a)", "?(",
    "&", " & ", "&>", "&>>", ">&", "> ", ">", "<", "<(", ">(", "<<<", "<<E\n", "<>", "|&", ";&", "2>", "{fd}>", ">&2", "<&-",
    "(", ")", "( ", " )", "((", "g() ", "{ ", "\n}", "{", "}", "{,}", "{a,b}", "{1..2}", "{", ",",
    "'", "\"", "\\", "''", "\"\"", "$'", "$\"", "`", "$", "#", " #", "!", "! ",
    "if ", "\nthen ", "\nfi", "while ", "\ndo ", " do ", "\ndone", "for i ", "for i in a", "case a in ", "(a)", "\nesac",
    "function f ", "function ", "coproc ", "coproc F ", "select i ", "[[ ", " ]]", "time ", "time -p ", "-- ",
    "alias p=", "alias p=\n", "shopt -s extglob\n", "shopt -s nullglob\n", "set -k\n", "HOME=\n", "set -- a\n",
    "eval ", "exec ", "command ", "builtin ", "env ", "sh ", "-c ", "sh -c ", "-o ", "-p ", "-u ", "declare ", "export ",
    "test ", "[ ", " -v ", " ]", "printf -v ", "timeout 1 ", "nice ", "xargs ", "trap ", " EXIT",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = |most| proptest::collection::vec(proptest::sample::select(PIECES), 0..most);
    (pieces(5), proptest::sample::select(VALUES), pieces(4))
        .prop_map(|(before, value, after)| before.concat() + value + &after.concat())
}

/// The words that run for a text; none where it does not load, or where no value is in it.
fn words(host: &Host, text: &str, value: &str) -> Option<Vec<String>> {
    let def =
        ToolDef::template("t", text, json!({"type": "object", "properties": {"x": {}}})).ok()?;
    let input = Input::from_value(json!({ "x": value }));
    let command = host.tool(def).preview(&input).expect("it has one").command_line?;
    command[1..].iter().any(|it| it.contains(value)).then_some(command)
}

/// Runs a command with few means, and says whether the mark was left.
fn leaves_mark(host: &Host, command: &[String]) -> bool {
    let dir = host.dir.path().join("session");
    fs::remove_dir_all(&dir).expect("removed");
    fs::create_dir(&dir).expect("created");
    #[expect(clippy::disallowed_methods, reason = "a test of shells themselves")]
    let mut bounded = Command::new("/bin/sh");
    let path = format!("{0}:/usr/bin:/bin", host.dir.path().join("bin").display());
    bounded.args(["-c", BOUNDS]).args(command).current_dir(&dir).env_clear().env("PATH", path);
    bounded.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bounded.status().expect("started");
    dir.join("mark").exists()
}

#[test]
fn no_value_becomes_a_program_or_code() {
    let n_texts = std::env::var("FLYTO_TEMPLATES").ok().and_then(|it| it.parse().ok());
    let mut runner = TestRunner::deterministic();
    let mut found = Vec::new();
    for shell in ["dash", "bash"] {
        let Some(host) = Host::with_shell(shell) else { continue };
        let bin = host.dir.path().join("bin");
        let mark = host.dir.path().join("session/mark");
        for (name, text) in [
            ("canary", format!("#!/bin/sh -u\ncase $- in *u*) : >{};; esac\n", mark.display())),
            ("p", "#!/bin/sh\n".to_owned()),
        ] {
            fs::write(bin.join(name), text).expect("written");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(bin.join(name), mode).expect("made a program");
        }
        let value = bin.join(VALUE).display().to_string();
        assert!(leaves_mark(&host, &["sh", "-c", "\"$1\"", "_", &value].map(str::to_owned)));
        let mut n_run = 0;
        for _ in 0..n_texts.unwrap_or(N_TEXTS) {
            let text = text().new_tree(&mut runner).expect("a text").current();
            // As a program, and as code in a calculation or where code is evaluated.
            for value in [value.clone(), format!("a[$({value})]")] {
                let Some(command) = words(&host, &text, &value) else { continue };
                n_run += 1;
                if leaves_mark(&host, &command) {
                    found.push(format!("{shell}: {text:?} {value}"));
                }
            }
        }
        assert!(n_run > 100, "{shell}: too few texts were run: {n_run}");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
