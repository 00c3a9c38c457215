//! What the lint knows of common programs, and the limits of what it is for.

use flyto_plugin::ToolDef;
use serde_json::{Value, json};

use crate::{Host, code::check_refused, template};

fn schema() -> Value {
    json!({"type": "object", "properties": {"x": {}, "y": {}}})
}

#[track_caller]
fn check_loads(commands: &[&str]) {
    for command in commands {
        if let Err(err) = ToolDef::template("t", command, schema()) {
            panic!("{err}");
        }
    }
}

#[test]
fn refused_in_options_that_are_run() {
    check_refused(&[
        "rsync -e {{x}} a b",
        "rsync -ave {{x}} a b",
        "rsync --rsh={{x}} a b",
        "rsync -{{x}} a b",
        "psql -c {{x}}",
        "psql -X --command={{x}} db",
        "psql -h localhost -c{{x}} db",
        "bun -e {{x}}",
        "npx -c {{x}}",
        "fd a -x {{x}}",
        "fd a --exec-batch sh -c {{x}}",
        "docker exec c python3 -c {{x}}",
        "runuser -u root -- sh -c {{x}}",
        "strace -f sh -c {{x}}",
        "printf -v {{x}} %s y",
        "test -v {{x}}",
        "[ -v {{x}} ]",
    ]);
}

/// Programs that no list could be finished for: permission rules and the sandbox see what they get.
#[test]
fn loads_where_nothing_of_it_is_run_as_far_as_is_known() {
    check_loads(&[
        "rsync -e ssh {{x}} b",
        "rsync --exclude={{x}} a b",
        "psql -v x={{x}} -f file db",
        "psql -d {{x}} -f file",
        "bun run f.ts {{x}}",
        "make -C {{x}} all",
        "make {{x}}",
        "bat --pager {{x}}",
        "tcpdump -z {{x}}",
        "docker exec c awk {{x}}",
        "tar -czf {{x}} {{y}}",
        "strace -f p {{x}}",
        "npx eslint {{x}}",
        "uv run f.py {{x}}",
        "kubectl exec c -- ls {{x}}",
        "fd {{x}} -x p {} {{y}}",
        "printf %s {{x}}",
        "printf -v A %s {{x}}",
        "[ {{x}} = a ]",
        "test -f {{x}}",
        "find . {{x}} -delete",
        "mytool eval {{x}}",
    ]);
}

/// What one shell takes for a variable and another for an argument.
#[test]
fn refused_as_shells_differ() {
    for command in [
        "p {fd}>{{x}}",
        "p {fd}<f {{x}}",
        "exec {PATH}>f",
        "cat <({{x}})",
        "cat < <({{x}})",
        "cat <(p {{x}})",
        "echo a>({{x}})",
        ">( {{x}} )",
        "cat <(\n{{x}})",
        "cat <(A={{x}} b)",
        "cat <>({{x}})",
        "cat $(p < (q {{x}}))",
        "p >\nq {{x}}",
        "p > & q {{x}}",
        "p {{x}} >",
        "p $(q >) {{x}}",
        "eval &>f p {{x}}",
        "sh &>>f -c {{x}}",
        "a=(p [{{x}}]=1)",
        "a=({{x}})",
        "declare a=(p {{x}})",
        "p !(q {{x}})",
        "p @(q {{x}})",
        "function f { {{x}}\n}\nf",
        "function f { p\n}\nf {{x}}",
        "time function f { {{x}}\n}",
        "time -p function f { {{x}}\n}",
        "if function f { {{x}}\n}",
        "! function f { {{x}}\n}",
        "function f if {{x}}\nthen a\nfi",
        "function {{x}} { p\n}",
        "coproc {{x}}",
        "coproc F { {{x}}\n}",
        "coproc F if p {{x}}",
        "select i do {{x}}\ndone",
        "select {{x}} in a",
        "[[ {{x}} -eq 1 ]]",
        "for i do coproc p {{x}}\ndone",
        "time ! {{x}}",
        "time ! p {{x}}",
        "time { p {{x}}\n}",
        "time -p -- for i do {{x}}\ndone",
        "time time {{x}}",
        "time a[1 + {{x}}]=1",
        "a[1 + {{x}}]=1",
        "a[1 + 1]=b {{x}}",
        "alias p=\np {{x}}",
        "command alias p=\np {{x}}",
        "alias a={{x}}",
        "<&-sh -c {{x}}",
        ">&-p {{x}}",
        "{,} {{x}}",
        "{\"$@\",} {{x}}",
        "eval{,} {{x}}",
        "{sh,-c} {{x}}",
        "sh {-c,{{x}}}",
        "p {{{x}},a}",
        "p {a{{x}}..b}",
        "p {a,b}>{{x}}",
        "p {a\",\"'x',$A} {{x}}",
        "p $(q {a,b}) {{x}}",
        "p ${!a} {{x}}",
        "p \"${!a@}\" {{x}}",
        "\"${!a@}\" {{x}}",
        "p \"${ q\n}\" {{x}}",
        "p ${a:-<(q)} {{x}}",
        "shopt -s nullglob\n/no/such* {{x}}",
    ] {
        let err = ToolDef::template("t", command, schema()).expect_err(command);
        assert!(err.code().as_str() == "F0152" && err.help().is_some(), "{command}: {err}");
    }
    check_loads(&[
        "p {fd} >{{x}}",
        "p {a,b} >f",
        "p {'a':{{x}}}",
        "p '{a,b}' {a{{x}}b} {{x}}",
        "p ${!} ${a:-b} {{x}}",
        "p {a\\,b} {{x}}",
        "p 3>{{x}}",
        "p '{fd}' {{x}}",
        "p {{x}} & >f",
        "p {{x}} >&- <&3-",
        "time p {{x}}",
        "time -p p {{x}}",
        "function f { p\n}",
        "alias a=b",
        "[[ a = b ]]",
        "for i in {{x}}\ndo p\ndone",
        "f() (p {{x}})",
        "f( ) { p {{x}}\n}",
    ]);
}

/// The rules without exception: no value in the program word, behind one that may be empty, or in an assignment.
#[test]
fn refused_whatever_the_program_is() {
    check_refused(&[
        "{{x}}",
        "p{{x}} a",
        "$NOTHING {{x}}",
        "$(p) {{x}}",
        "${A}${B} {{x}}",
        "\"$P\" {{x}}",
        "env $NOTHING {{x}}",
        "A={{x}}",
        "A={{x}} p",
        "A+={{x}} p",
        "A[1]={{x}} p",
        "A[{{x}}]=1 p",
        "{{x}}() { p\n}",
        "for {{x}} in a",
        "for i do {{x}}\ndone",
        "for i do A=1 {{x}}\ndone",
        "compgen -W {{x}}",
    ]);
    let err = ToolDef::template("t", "A={{x}} p", schema()).expect_err("an assignment");
    assert!(err.help().is_some_and(|it| it.contains("\"env\" in the manifest")), "{err}");
    let err =
        ToolDef::template("t", "p $flyto_value_1 {{x}}", schema()).expect_err("a name of ours");
    assert_eq!(err.code().as_str(), "F0152", "{err}");
    check_loads(&["\"$P/p\" {{x}}", "$P/bin/p {{x}}", "A=1 p {{x}}"]);
}

#[test]
fn a_text_that_names_program_after_program_is_refused_in_time() {
    for word in ["fakeroot", "env", "sh", "find -exec", "nice -n 1", "python3 -W", "xargs"] {
        let text = format!("{} {{{{x}}}}", format!("{word} ").repeat(13_000));
        // Some end before: what matters is that they end.
        let _ = ToolDef::template("t", &text, schema());
    }
    let err = ToolDef::template("t", "env ".repeat(1000), schema()).expect_err("too many");
    assert_eq!(err.code().as_str(), "F0152", "{err}");
}

/// No value is among the positional parameters, or anywhere else where a shell finds it by itself.
#[tokio::test]
async fn a_shell_finds_values_under_no_name_but_ours() {
    for shell in ["dash", "bash", "busybox"] {
        let Some(host) = Host::with_shell(shell) else { continue };
        for (text, expect) in [
            ("printf '<%s>' \"$#\" \"$@\" \"$*\" {{x}}", "<0><><v>"),
            ("for v do printf '<%s>' \"$v\"\ndone\nprintf %s {{x}}", "v"),
            ("getopts ab opt\nprintf '<%s>' \"$OPTIND\" {{x}}", "<1><v>"),
            ("shift 0\nprintf '<%s>' \"$1\" \"${1-none}\" {{x}}", "<><none><v>"),
            ("set -- a\nprintf '<%s>' \"$@\" {{x}}", "<a><v>"),
            ("f() { printf '<%s>' \"$1\" {{x}}\n}\nf a", "<a><v>"),
            ("printf '<%s>' \"${BASH_ARGV-}\" {{x}}", "<><v>"),
        ] {
            let res = host.call(template(text, json!({"x": {}})), json!({"x": "v"})).await;
            assert_eq!((res.output.as_str(), res.is_error()), (expect, false), "{shell}: {text}");
        }
        let def = template("printf '<%s>' \"$_\" {{x}}", json!({"x": {}}));
        let res = host.call(def, json!({"x": "secret"})).await;
        assert_eq!(res.output.matches("secret").count(), 1, "{shell}: {}", res.output);
    }
}

#[test]
fn the_safe_form_is_shown() {
    for (command, safe) in [
        ("p {fd}>{{x}}", "`3>`"),
        ("awk {{x}} f", "`awk 'BEGIN { x = ARGV[1]; ARGV[1] = \"\" } …' {{x}} FILE`"),
        ("perl -e {{x}}", "`perl -e '…' -- {{x}}`"),
    ] {
        let err = ToolDef::template("t", command, schema()).expect_err(command);
        assert!(err.help().is_some_and(|it| it.contains(safe)), "{command}: {err}");
    }
}

/// The form of awk that is shown does what it says.
#[tokio::test]
async fn the_form_that_is_shown_for_awk_works() {
    let host = Host::new();
    std::fs::write(host.dir.path().join("session/f"), "a 1\nb 2\n").expect("written");
    let text = "awk 'BEGIN { x = ARGV[1]; ARGV[1] = \"\" } $1 == x { print $2 }' {{x}} f";
    let res = host.call(template(text, json!({"x": {}})), json!({"x": "b"})).await;
    assert_eq!((res.output.as_str(), res.is_error()), ("2\n", false));
}
