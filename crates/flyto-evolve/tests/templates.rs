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
    "python3 -c ", "perl -e ", "'echo \"$1\"' _ ", "--", " -- ", "$'", "$\"", "~", "*", "?", "@(", "{a,b}", "wait ", "trap ", "set ", "local ",
];

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
