//! Commands of random pieces of bash, run with values that would make a file if any of them were read as code.
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::{path::Path, time::Duration};

use flyto_evolve::{EvolvedTool, HostContext, ToolDefinition};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_tools::{CallContext, Input, Tool};
use proptest::prelude::*;
use serde_json::json;

/// Values each of which makes the file `PWNED` where bash reads it as code, splits it, or calculates with it.
const VALUES: &[&str] = &[
    "$(touch PWNED)",
    "a[$(touch PWNED)]",
    "`touch PWNED`",
    "; touch PWNED #",
    "' ; touch PWNED ; '",
    "\" ; touch PWNED ; \"",
    "\ntouch PWNED\n",
    "touch PWNED",
    ">PWNED",
    "-v",
    "x=$(touch PWNED)",
    "$'$(touch PWNED)'",
    "--expression=1e touch PWNED",
    "touch PWNED|",
    "-v a[$(touch PWNED)]",
    ". -maxdepth 0 -exec touch PWNED ;",
];

#[rustfmt::skip] // A list reads best as one.
const PIECES: &[&str] = &[
    "{{.x}}", "{{.x}}", "{{.x}}", "{{.y}}", " {{.x}} ", " ", " ", " ", "'", "\"", "\\", "$", "$(", ")", "(", "`", "${A}", "$A", "${", "}", "{",
    ";", "&&", "||", "|", "&", "\n", "#", "!", "<<<", ">", ">>", "<", "<(", ">(", "2>&1", ">&", "&>", "<<E\n", "\nE\n",
    "echo ", "printf '%s' ", "printf ", "cat ", "true ", "[ ", " ]", "test ", "[[ ", " ]]", "-n ", "-v ", "-eq ", " = ", " -a ", "((", "))", "$((", "$[",
    "if ", "; then ", "; fi", "for i in ", "for ", "; do ", "; done", "while false; do ", "case ", " in ", ";; esac", "function f ", "f() ",
    "A=", "A+=", "a=", "a={{.x}};", "a+=", "$a ", "export a=1;", "a[", "]=", "eval ", "let ", "declare ", "export ", "read ", "unset ", "source ", ". ", "command ", "builtin ", "exec ",
    "bash ", "sh ", "bash -s ", "sh - ", "\"$E\" ", "E=eval;", "$f ", "\"$f\" ", "alias ls=eval;", "for f in ", "read -r f ", "read PATH ", "PATH=$f ",
    "python3 ", "xargs -I{} ", "hash -p /bin/sh x;", "x ", "/dev/stdin ", "bash -c '$1' _ ", "bash -c 'bash' ", "${f@P}", "[ $f ", "| sh", "<<< {{.x}}",
    "bash -c ", "sh -c ", "env ", "env A=1 ", "xargs ", "nice -n 5 ", "timeout 1 ", "nohup ", "time ", "coproc ", "awk ", "sed ", "find . -exec ",
    "shopt -so keyword;", "shopt -s ", "PS4='$(eval \"$TOOL_INPUT_X\")';", "set -x;", "BASH_ENV=/dev/stdin ", "\"$@\" ", "perl -ne print ", "xargs find ",
    "python3 -c ", "perl -e ", "'echo \"$1\"' _ ", "--", " -- ", "$'", "$\"", "~", "*", "?", "@(", "{a,b}", "wait ", "trap ", "set ", "local ",
];

/// Commands that are taken, each by itself and beside most others.
#[rustfmt::skip]
const COMMANDS: &[&str] = &[
    "cat {{.x}}", "echo \"a {{.x}}\" 'b {{.y}}'", "printf '%s\\n' {{.x}} {{.y}}", "for f in {{.x}} {{.y}}; do cat \"$f\"; done", "echo {{.x}} > out",
    "read -r a b <<< {{.x}}; echo \"$a\" $b", "mapfile -t l <<< {{.x}}", "while read -r a; do [ -n \"$a\" ]; done <<< {{.x}}", "a={{.x}}; echo \"$a\" $a",
    "[ {{.x}} = {{.y}} ]", "[ -n {{.x}} ]", "test ! {{.x}} = a", "[[ -n $A ]] && cat <(echo {{.x}})", "[ -f {{.x}} ] || echo {{.y}}",
    "bash -c 'echo \"$1\" $2' _ {{.x}} {{.y}}", "bash -c 'cat -- \"$@\"' -- {{.x}} {{.y}}", "bash -c 'for f in \"$@\"; do [ -f \"$f\" ]; done' _ {{.x}} {{.y}}",
    "set -x; echo {{.x}}", "set -euf; echo {{.x}}", "shopt -s nullglob; echo {{.x}}", "IFS=,; a={{.x}}; echo $a", "export B=1; cat {{.x}}",
    "env A=1 nice -n 5 echo {{.x}}", "timeout 5 cat -- {{.x}}", "xargs -0 echo <<< {{.x}}", "xargs -0 cat -- <<< {{.x}}", "printf '%s' {{.x}} | xargs -n 1 echo",
    "perl -e 'print $ARGV[0]' {{.x}}", "perl -ne 'print' < {{.x}}", "awk '{ print }' {{.x}}", "sed -e p -- {{.x}}", "find . -maxdepth 0 -name {{.x}}",
    "grep -e {{.x}} -- {{.y}}", "n=$(wc -c < {{.x}}); echo \"$n ${n:-0} ${#n} ${n%.*}\"", "git -C {{.x}} log", "find . -maxdepth 0 -exec echo {{.x}} {} \\;",
];

/// Three of these commands, each alone or in a pipe, a subshell or a condition.
fn commands() -> impl Strategy<Value = String> {
    const AROUND: &[(&str, &str)] = &[
        ("", ""),
        ("", " | cat"),
        ("(", ")"),
        ("if ", "; then :; fi"),
        ("! ", " 2>/dev/null"),
        ("echo \"$(", ")\""),
    ];
    let one = (prop::sample::select(COMMANDS), prop::sample::select(AROUND));
    let one = one.prop_map(|(it, (before, after))| format!("{before}{it}{after}"));
    prop::collection::vec(one, 3).prop_map(|it| it.join("; "))
}

fn template() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 1..12);
    // Half of them begin with a program, as most commands do.
    (prop::bool::ANY, pieces).prop_map(|(is_plain, it)| {
        format!("{}{}", if is_plain { "echo " } else { "" }, it.concat())
    })
}

/// Runs the command with each value. `None` where it is refused; else the values that were read as code, if any.
fn code_in(text: &str, dir: &Path) -> Option<Option<(&'static str, &'static str)>> {
    let parameters = json!({"type": "object", "properties": {"x": {}, "y": {}}});
    let def = ToolDefinition::command("t", "Tests.", text).with_input_schema(parameters);
    let env: Environment = [("PATH", "/usr/bin:/bin"), ("A", "a")].into_iter().collect();
    let host = HostContext::new(env, dir);
    let tool = EvolvedTool::new(def, ExecEnv::new(Local::new()), host).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for x in VALUES {
        for y in ["a[$(touch PWNED)]", "-v"] {
            let ctx = CallContext::new().with_timeout(Duration::from_millis(500));
            let input = Input::from_value(json!({"x": x, "y": y}));
            runtime.block_on(tool.execute(&ctx, input)).unwrap();
            if dir.join("PWNED").exists() {
                return Some(Some((x, y)));
            }
        }
    }
    Some(None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn no_value_is_ever_code(text in template().prop_filter("there is a value", |it| it.contains("{{."))) {
        let dir = tempfile::tempdir().unwrap();
        let found = code_in(&text, dir.path());
        prop_assert_eq!(found.flatten(), None, "{:?}", text);
    }
}

/// Texts as people write them, of which most are taken, so that values are put into them.
#[test]
fn no_value_is_code_in_commands_that_are_taken() {
    const N_CASES: u32 = 25;
    let n_taken = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(N_CASES));
    let res = runner.run(&commands(), |text| {
        let dir = tempfile::tempdir().unwrap();
        let found = code_in(&text, dir.path());
        n_taken.set(n_taken.get() + u32::from(found.is_some()));
        prop_assert_eq!(found.flatten(), None, "{:?}", text);
        Ok(())
    });
    assert!(res.is_ok(), "{}", res.unwrap_err());
    let n_taken = n_taken.get();
    assert!(n_taken * 2 >= N_CASES, "{n_taken} of {N_CASES} texts were taken");
}

/// What the lint of template tools refuses in a manifest, a command of an agent does not get either.
#[test]
fn places_that_are_code_to_a_template_tool_are_code_here() {
    let is_refused = |text: &str| {
        let parameters = json!({"type": "object", "properties": {"x": {}}});
        let def = ToolDefinition::command("t", "Tests.", text).with_input_schema(parameters);
        let host = HostContext::new(Environment::new(), "/tmp");
        EvolvedTool::new(def, ExecEnv::new(Local::new()), host).is_err()
    };
    for (programs, options) in [
        ("sh bash dash ash ksh mksh zsh fish csh tcsh pwsh", "-c"),
        (
            "yash posh lksh oksh sash bash-static static-sh bash.exe nu xonsh elvish rc es osh python3-dbg tclsh irb",
            "<<< -c",
        ),
        (
            "choom prlimit setarch linux64 linux32 unbuffer catchsegv setpriv unshare nsenter systemd-run torsocks numactl \
             dbus-run-session ssh-agent systemd-inhibit fakeroot pkexec proxychains firejail bwrap entr",
            "--",
        ),
        ("su runuser script", "-c"),
        ("expect", "-c"),
        ("npx", "--call -c"),
        (
            "eval trap let compgen complete watch parallel export readonly declare typeset local unset read mapfile",
            "",
        ),
        ("printf", "-v"),
        ("test", "-v"),
        (". source exec command builtin", ""),
        ("python pypy ipython python3.12", "-c"),
        ("perl julia", "-e -E"),
        ("ruby jruby lua luajit R Rscript elixir groovy scala osascript", "-e"),
        ("node nodejs bun", "-e -p --eval --print"),
        ("php", "-r -B -R -E --run"),
        ("awk gawk mawk nawk original-awk sed gsed", "-e --"),
        ("awk sed", ""),
        ("find gfind", "-exec -execdir -ok -okdir"),
        ("fd fdfind", "-x -X --exec"),
        (
            "xargs gxargs env genv sudo doas nice gnice nohup setsid busybox toybox time stdbuf gstdbuf strace ltrace",
            "",
        ),
        ("timeout gtimeout chroot flock", "5"),
        ("env", "-S"),
        ("ssh", "host -o"),
        ("rsync", "-e --rsh -ae"),
        ("git", "-c --config-env --exec-path"),
    ] {
        for program in programs.split(' ') {
            for option in options.split(' ') {
                let text = format!("{program} {option} {{{{.x}}}}");
                assert!(is_refused(&text), "{text}");
            }
        }
    }
    for text in ["bash -c bash {{.x}}", "env sh -c /bin/sh -c {{.x}}"] {
        assert!(is_refused(text), "{text}");
    }
    for text in
        ["rsync -r {{.x}} host:", "rsync --rsh=ssh -- {{.x}} b:", "bash -c 'echo \"$1\"' _ {{.x}}"]
    {
        assert!(!is_refused(text), "{text}");
    }
}
