//! Which commands are taken, and what bash gets for them.

mod refused;

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(text: &str, expect: Expect) {
    let res = render(text, |it| matches!(it, "x" | "y" | "dry-run"));
    expect.assert_eq(&res.map_or_else(|err| format!("{}: {}", err.at, err.what), |it| it.text));
}

#[test]
fn a_placeholder_is_quoted_for_its_context() {
    check("wc -l {{.x}}", expect![[r#"wc -l "$TOOL_INPUT_X""#]]);
    check("wc -l {{ .dry-run }}z", expect![[r#"wc -l "$TOOL_INPUT_DRY_RUN"z"#]]);
    check(r#"echo "a {{.x}}b""#, expect![[r#"echo "a ${TOOL_INPUT_X}b""#]]);
    check("echo 'a {{.x}} b'", expect![[r#"echo 'a '"$TOOL_INPUT_X"' b'"#]]);
    check(
        r#"echo "$(cat {{.x}} | tr a b)""#,
        expect![[r#"echo "$(cat "$TOOL_INPUT_X" | tr a b)""#]],
    );
    check("cat <<< {{.x}} > {{.y}}", expect![[r#"cat <<< "$TOOL_INPUT_X" > "$TOOL_INPUT_Y""#]]);
    check(
        "cd {{.x}} && make 2>&1 | tail # {{.x}}",
        expect![[r#"cd "$TOOL_INPUT_X" && make 2>&1 | tail # {{.x}}"#]],
    );
    check(
        "for f in {{.x}} *.c; do cc {{.y}} \"$f\"; done",
        expect![[r#"for f in "$TOOL_INPUT_X" *.c; do cc "$TOOL_INPUT_Y" "$f"; done"#]],
    );
    check("bash -c 'wc \"$1\"' _ {{.x}}", expect![[r#"bash -c 'wc "$1"' _ "$TOOL_INPUT_X""#]]);
    check(
        "diff <(sort {{.x}}) <(sort {{.y}})",
        expect![[r#"diff <(sort "$TOOL_INPUT_X") <(sort "$TOOL_INPUT_Y")"#]],
    );
    check(
        "[ {{.x}} = yes ] && (cd /; ls {{.y}})",
        expect![[r#"[ "$TOOL_INPUT_X" = yes ] && (cd /; ls "$TOOL_INPUT_Y")"#]],
    );
}

#[test]
fn texts_of_other_programs_stay() {
    check("docker ps --format '{{.Names}}'", expect!["docker ps --format '{{.Names}}'"]);
    check("echo {{x}} `date` $((1+1))", expect!["echo {{x}} `date` $((1+1))"]);
    check(
        "docker ps --format '{{.Names}}' -f {{.x}}",
        expect![[r#"docker ps --format '{{.Names}}' -f "$TOOL_INPUT_X""#]],
    );
}

#[test]
fn a_placeholder_that_would_be_code_is_refused() {
    let code = [
        "{{.x}} a",
        "A={{.x}} ls",
        "A={{.x}}",
        "a={{.x}} ls",
        "a[1]={{.x}}",
        "eval {{.x}}",
        "bash -c {{.x}}",
        "timeout --signal KILL 5 {{.x}}",
        "sudo --user bob {{.x}}",
        "time -p {{.x}}",
        "time -- {{.x}}",
        "jobs -x {{.x}}",
        "bash -c -- {{.x}}",
        "bash -c -x +e {{.x}}",
        "sh -ec 'a {{.x}}'",
        "bash {{.x}}",
        "python3 -c \"print({{.x}})\"",
        "sudo {{.x}}",
        "nice -n 5 {{.x}}",
        "sudo -u bob {{.x}}",
        "env A=1 {{.x}}",
        "xargs {{.x}}",
        "setarch x86_64 {{.x}}",
        "setarch {{.x}}",
        "setarch x86_64 bash -c {{.x}}",
        "setarch -R bash -c {{.x}}",
        "prlimit --nofile 10 {{.x}}",
        "choom -n 500 -- sh -c {{.x}}",
        "unbuffer -p {{.x}}",
        "setpriv --reuid 1000 --clear-groups sh -c {{.x}}",
        "unshare -r bash -c {{.x}}",
        "nsenter -t 1 -m sh -c {{.x}}",
        "systemd-run --user -p A=b sh -c {{.x}}",
        "xargs -n 1 sh -c {{.x}}",
        "timeout 5 {{.x}}",
        "timeout 5 bash -c {{.x}}",
        "ssh host ls {{.x}}",
        "awk {{.x}} f",
        "sed -e {{.x}} f",
        "sed p -e {{.x}}",
        "find . -exec {{.x}} \\;",
        "find . -exec sh -c {{.x}} \\;",
        "export {{.x}}",
        "read {{.x}}",
        "unset {{.x}}",
        "printf -v {{.x}} 1",
        "printf {{.x}}",
        "test -v {{.x}}",
        "[ {{.x}} {{.y}} ]",
        "[[ a -eq {{.x}} ]]",
        "for {{.x}} in a; do :; done",
        "$CMD {{.x}}",
        "2>/dev/null eval {{.x}}",
        "docker exec c sh -c {{.x}}",
        "if {{.x}}; then :; fi",
        "! {{.x}}",
        "a; {{.x}}",
        "a | {{.x}}",
        "a && {{.x}}",
        "(a; {{.x}})",
        "\"$({{.x}})\"",
        "echo >&{{.x}}",
        "make {{.x}}",
        "git -c {{.x}} log",
        "command eval {{.x}}",
        "\\eval {{.x}}",
        "'eval' {{.x}}",
        "/bin/bash -c {{.x}}",
        "time {{.x}}",
        "perl -pe {{.x}} f",
        "node --eval {{.x}}",
        "env -S {{.x}}",
        ". {{.x}}",
        "source {{.x}}",
        "trap {{.x}} EXIT",
        "coproc {{.x}}",
    ];
    for text in code {
        let found = render(text, |it| matches!(it, "x" | "y"));
        assert!(found.is_err(), "{text}");
    }
}

/// A value gets to a command by its input and by variables as well.
#[test]
fn a_command_that_could_run_a_value_is_refused() {
    let ways = [
        "E=eval; \"$E\" {{.x}}",
        "E=\"bin/bash -c\"; /usr/$E {{.x}}",
        "for f in {{.x}}; do $f; done",
        "for f in {{.x}}; do \"$f\"; done",
        "read -r a <<< {{.x}}; $a",
        "read -r PATH <<< {{.x}}; ls",
        "read -ra PATH <<< {{.x}}; ls",
        "read -aPATH <<< {{.x}}; ls",
        "for PATH in {{.x}}; do ls; done",
        "for f in {{.x}}; do PATH=$f; ls; done",
        "for f in {{.x}}; do PATH=$f ls; done",
        "for f in {{.x}}; do env PATH=$f ls; done",
        "printf -v PATH %s {{.x}}; ls",
        "printf -vPATH %s {{.x}}; ls",
        "mapfile -C eval a <<< {{.x}}",
        "for npm_config_script_shell in {{.x}}; do export npm_config_script_shell; npm test; done",
        "for npm_config_script_shell in {{.x}}; do npm test; done",
        "for a in {{.x}}; do export a; ls; done",
        "export a=1; for a in {{.x}}; do ls; done",
        "for a in {{.x}}; do export a=1; a+=$b; ls; done",
        "a={{.x}}; export a+=1; ls",
        "a=1; export a; a={{.x}}; ls",
        "a={{.x}} b=1 ls",
        "for f in {{.x}}; do a=$f ls; done",
        "for f in {{.x}}; do env a=$f ls; done",
        "for f in {{.x}}; do a=$f if; done",
        "export a=1; read -ra a <<< {{.x}}; ls",
        "export a=1; read -raa <<< {{.x}}; ls",
        "export a=1; read -aa <<< {{.x}}; ls",
        "export a=1; printf -va %s {{.x}}; ls",
        "export a=1; printf -v a %s {{.x}}; ls",
        "set -a; a={{.x}}; ls",
        "set -o allexport; a={{.x}}; ls",
        "declare -x a={{.x}}; ls",
        "typeset -x a; a={{.x}}; ls",
        "for http_proxy in {{.x}}; do curl a; done",
        "histchars={{.x}}; ls",
        "read auto_resume <<< {{.x}}",
        "a[0]=1; echo {{.x}}",
        "bash <<< {{.x}}",
        "bash.exe <<< {{.x}}",
        "bash-static <<< {{.x}}",
        "static-sh <<< {{.x}}",
        "python3-dbg <<< {{.x}}",
        "python3.12-dbg -c 'import a' <<< {{.x}}; python3-dbg",
        "unshare -r <<< {{.x}}",
        "nsenter -t 1 -a <<< {{.x}}",
        "setarch ppc64 <<< {{.x}}",
        "linux64 <<< {{.x}}",
        "chroot / <<< {{.x}}",
        "systemd-run --shell <<< {{.x}}",
        "env bash <<< {{.x}}",
        "(bash) <<< {{.x}}",
        "printf %s {{.x}} | sh",
        "printf %s {{.x}} | /bin/sh -",
        "printf %s {{.x}} | sh /dev/stdin",
        "printf %s {{.x}} | python3",
        "printf %s {{.x}} | python3 -",
        "printf %s {{.x}} | python3 -i x.py",
        "printf %s {{.x}} | perl",
        ". <(echo {{.x}})",
        "source /dev/stdin <<< {{.x}}",
        "source ./../../dev/stdin <<< {{.x}}",
        "bash; echo {{.x}}",
        "sh - ; echo {{.x}}",
        "bash -s a {{.x}}",
        "bash -c \"bash -s\" {{.x}}",
        "bash -c \"cat | sh\" _ {{.x}}",
        "bash -c '$1' _ {{.x}}",
        "bash -c 'eval \"$1\"' _ {{.x}}",
        "bash -c 'bash -c \"\\$1\" _ \"$1\"' _ {{.x}}",
        "bash -c 'for f do sh; done' _ {{.x}}",
        "bash -ic 'echo' {{.x}}",
        "bash -O expand_aliases -c 'ls' {{.x}}",
        "zsh -c 'echo $1' _ {{.x}}",
        "shopt -s expand_aliases; alias ls=\"eval\"\nls {{.x}}",
        "hash -p /bin/sh x; x -c {{.x}}",
        "git -C . -c alias.z=!sh z -c {{.x}}",
        "xargs -I{} sh -c {} <<< {{.x}}",
        "xargs -I % % <<< {{.x}}",
        "xargs sh -c <<< {{.x}}",
        "xargs env <<< {{.x}}",
        "xargs awk <<< {{.x}}",
        "xargs find . -maxdepth 0 -exec <<< {{.x}}",
        "xargs rsync <<< {{.x}}",
        "xargs rsync -e <<< {{.x}}",
        "xargs git log <<< {{.x}}",
        "xargs git <<< {{.x}}",
        "xargs jq <<< {{.x}}",
        "xargs docker exec c sh <<< {{.x}}",
        "xargs docker exec c bash -x <<< {{.x}}",
        "xargs sed -e p <<< {{.x}}",
        "xargs perl -e 1 <<< {{.x}}",
        "xargs awk -f a.awk <<< {{.x}}",
        "for f in {{.x}}; do sed -e p \"$f\"; done",
        "for f in {{.x}}; do rsync \"$f\" a:; done",
        "for f in {{.x}}; do docker exec c sh \"$f\"; done",
        "function ls { sh; }; ls; echo {{.x}}",
        "coproc bash; echo {{.x}}",
        "trap 'sh' EXIT; echo {{.x}}",
        "/bin/ba?h -c {{.x}}",
        "/bin/{bash,-c} {{.x}}",
        "{bash,-c} {{.x}}",
        "bash {-c,} {{.x}}",
        "~/sh -c {{.x}}",
        "/proc/self/exe -c {{.x}}",
        "cd /; proc/self/exe; echo {{.x}}",
        "i\\\nf bash; then ls; fi; echo {{.x}}",
        "echo \"$\\\n({{.x}})\"",
        "(\\\n(a[f]=1)); echo {{.x}}",
        "for f in {{.x}}; do echo ${f@P}; done",
        "for f in {{.x}}; do echo ${!f}; done",
        "for f in {{.x}}; do echo ${PATH:f}; done",
        "for f in {{.x}}; do echo ${a[f]}; done",
        "for f in {{.x}}; do : ${PATH:=$f}; done",
        "for f in {{.x}}; do [[ f -eq 1 ]]; done",
        "for f in {{.x}}; do [[ a && f -eq 1 ]]; done",
        "for f in {{.x}}; do [ $f ]; done",
        "for f in {{.x}}; do test -v \"$f\"; done",
        "for f in {{.x}}; do test -v 'a[$f]'; done",
        "for f in {{.x}}; do let n=f; done",
        "declare -i n; read n <<< {{.x}}",
        "declare -n r=PATH; read r <<< {{.x}}; ls",
        "set -k; ls LD_PRELOAD={{.x}}",
        "sudo -s; echo {{.x}}",
        "env -S bash; echo {{.x}}",
        "env --split-string=bash; echo {{.x}}",
        "flock f -c bash; echo {{.x}}",
        "parallel <<< {{.x}}",
        "make -f - <<< {{.x}}",
        "for f in {{.x}}; do awk \"$f\" a; done",
        "for f in {{.x}}; do python3 -c \"$f\"; done",
        "docker exec c sh -c '$1' _ {{.x}}",
        "echo {{.x}} > a; bash a",
        "echo {{.x}} >> a; . ./a",
        "echo {{.x}} > a; bash -c 'python3 a'",
        "tee r <<< {{.x}} >/dev/null; . ./r",
        ". ./r; tee r <<< {{.x}}",
        "tee r <<< {{.x}}; bash r",
        "cp {{.x}} r; bash r",
        "curl -o r {{.x}}; python3 r",
        "echo {{.x}} | dd of=r; sh r",
        "{ tee r; sh r; } <<< {{.x}}",
        "(tee r; sh r) <<< {{.x}}",
        "for f in {{.x}}; do cp \"$f\" r; . ./r; done",
        "bash r \"$(cp {{.x}} r)\"",
        "bash r {{.x}} | tee r; bash r",
        "bash -c 'cp \"$1\" r; bash r' _ {{.x}}",
        "find . -exec cp {{.x}} r \\; -exec bash r \\;",
        "cd {{.x}}; timeout 5 python3 tool.py",
        "perl -pe 's/a/b/' {{.x}}",
        "perl -i.bak -lne 'print' -- {{.x}}",
        "perl -e 'while(<>){print}' {{.x}}",
        "for f in {{.x}}; do perl -ne print -- \"$f\"; done",
        "printf %s {{.x}} | xargs -0 perl -ne print --",
        "printf %s {{.x}} | xargs find",
        "for f in {{.x}}; do find $f; done",
        "bash -c 'find \"$@\"' _ {{.x}}",
        "PS4='$(eval \"$TOOL_INPUT_X\")'; set -x; echo {{.x}}",
        "PROMPT_COMMAND=a; echo {{.x}}",
        "BASH_ENV=/dev/stdin bash -c true <<< {{.x}}",
        "env BASH_ENV=/dev/stdin bash -c true <<< {{.x}}",
        "export BASH_ENV=./r; echo {{.x}} > r; bash -c true",
        "readonly PS4=a; echo {{.x}}",
        "shopt -so keyword; ls LD_PRELOAD={{.x}}",
        "shopt -so allexport; a={{.x}}; env",
        "shopt -s extdebug; echo {{.x}}",
        "bash -c 'test \"$@\"' -- {{.x}}",
        "bash -c '[ \"${@}\" ]' -- {{.x}}",
        "bash -c 'git -C \"$@\" log' -- {{.x}}",
        "bash -c 'jq --arg a \"$@\" .' -- {{.x}}",
        "read -r a b <<< {{.x}}; [ -n h -a \"$a\" \"$b\" = c ]",
        "[ -f h -a {{.x}} -o -f g ]",
        "/lib64/ld-linux-x86-64.so.2 {{.x}} a",
    ];
    for text in ways {
        assert!(render(text, |it| it == "x").is_err(), "{text}");
    }
}

#[test]
fn commands_that_run_no_value_are_taken() {
    for text in [
        "cd {{.x}} && ./configure > log 2>&1",
        "for f in {{.x}}/*; do wc -l \"$f\"; done",
        "while read -r line; do echo \"$line\"; done < {{.x}}",
        "set -euo pipefail; git -C {{.x}} log --oneline -n 5 | head -n 3",
        "LC_ALL=C sort {{.x}} | uniq -c",
        "file={{.x}}; n={{.y}}; head -n \"$n\" \"$file\"",
        "export LC_ALL=C b=2; a=\"{{.x}}/b\"; c+=$a; wc \"$c\"",
        "n=$(wc -l < {{.x}}); echo \"${n:-0} ${n%.*} ${#n}\"",
        "[ -f {{.x}} ] && [[ -n $HOME ]] && cat -- {{.x}}",
        "timeout -k 5 10 nice -n 5 grep -rn -- {{.x}} .",
        "xargs -0 -n 1 sed -e 's/a/b/' -- < {{.x}}",
        "find {{.x}} -name '*.c' -print0 | xargs -0 wc -l",
        "find {{.x}} -print0 | xargs -0 git log --",
        "find {{.x}} -print0 | xargs -0 awk '{ print $1 }'",
        "perl -ne 'print' < {{.x}}",
        "perl -e 'print $ARGV[0]' {{.x}}",
        "shopt -s nullglob; for f in {{.x}}/*; do echo \"$f\"; done",
        "bash -c 'wc -l -- \"$@\"' _ {{.x}} {{.y}}",
        "[ ! {{.x}} = {{.y}} ] && echo a",
        "ENV=prod ./deploy {{.x}}",
        "find {{.x}} -name '*.c' -exec wc -l {} \\;",
        "for f in {{.x}}; do find \"$f\" *.c -name a; done",
        "awk '{ print $1 }' {{.x}} | sed -e 's/a/b/'",
        "python3 -c 'import sys; print(sys.argv[1])' {{.x}}",
        "python3 tool.py {{.x}}",
        "cd a && timeout 5 python3 tool.py {{.x}} | sort",
        ". venv/bin/activate <<< {{.x}}",
        "jq --arg v {{.x}} '.a == $v' file.json",
        "bash -euo pipefail -c 'sort \"$1\" | head -n \"$2\"' _ {{.x}} {{.y}}",
        "prlimit --nofile=10 -- wc {{.x}}",
        "setarch x86_64 wc {{.x}}",
        "unshare -r -n wc {{.x}}",
        "systemd-run --unit=a -G wc {{.x}}",
        "grep -c es {{.x}}",
        "env; nice; echo {{.x}}",
        "command -v python3 >/dev/null || exit 1; echo {{.x}}",
        "curl -sS -X POST --data-raw {{.x}} https://example.org",
        "grep -c bash f {{.x}}",
        "printf '%s\\n' {{.x}} | sudo tee /etc/a",
        "docker exec c sh -c 'wc \"$1\"' _ {{.x}}",
        "tar -C {{.x}} -czf out.tgz .",
    ] {
        let found = render(text, |it| matches!(it, "x" | "y"));
        assert!(found.is_ok(), "{text}: {found:?}");
    }
}

#[test]
fn what_to_write_instead_is_told_by_program() {
    let help = |text: &str| render(text, |it| it == "x").expect_err(text).help;
    expect![[r#"
        hand the value over as an argument, as in `bash -c '… "$1"' _ {{.x}}`, where it is "$1"
        have the code read the variable, as in `awk '… ENVIRON["TOOL_INPUT_X"] …'`
        hand the value over as an argument, as in `python -c '… sys.argv[1] …' {{.x}}`
        name the value, as in `jq --arg v {{.x}} '… $v …'`
        make it a script (execution_type "script"), which reads "$TOOL_INPUT_X"
        make it a script (execution_type "script"), which reads "$TOOL_INPUT_X"
        make it a script (execution_type "script"), which reads "$TOOL_INPUT_NAME"
        write the name in lower case, as in `file={{.x}}`
    "#]]
    .assert_eq(
        &[
            "bash -c {{.x}}",
            "awk {{.x}} f",
            "python3 -c \"{{.x}}\"",
            "jq {{.x}} f",
            "sed s/a/{{.x}}/ f",
            "command -v {{.x}}",
            "bash; echo {{.x}}",
            "FILE={{.x}}; cat \"$FILE\"",
        ]
        .map(|it| help(it) + "\n")
        .concat(),
    );
}

#[test]
fn what_is_not_read_exactly_is_refused() {
    for text in [
        "echo `cat {{.x}}`",
        "echo $(( {{.x}} + 1 ))",
        "(( {{.x}} ))",
        "echo ${A:-{{.x}}}",
        "cat << E\n{{.x}}\nE",
        "echo \\{{.x}}",
        "echo ${{.x}}",
        "echo $'{{.x}}'",
        "echo $\"{{.x}}\"",
        "a=({{.x}})",
        "f() { ls {{.x}}; }",
        "case {{.x}} in a) ls;; esac",
        "echo 'a {{.x}}",
        "echo \"{{.x}}",
        "echo $(ls {{.x}}",
        "ls {{.x}} )",
        "echo $[{{.x}}]",
        "echo @(a|{{.x}})",
        "{fd}> {{.x}} ls",
        "function f { ls {{.x}}; }",
    ] {
        assert!(render(text, |it| it == "x").is_err(), "{text}");
    }
}

/// Each of them took more time with every word, twice as much for some, or overflowed the stack.
#[test]
fn words_that_may_each_be_a_program_have_a_bound() {
    for text in [
        "nice --a nice ".repeat(4000) + "ls {{.x}}",
        "nice --a nice ".repeat(15) + "ls ls; " + &"nice --a nice ".repeat(15) + "ls {{.x}}",
        "nice ".repeat(12_000) + "{{.x}}",
        "echo {{.x}}; find . ".to_owned() + &"-exec a ".repeat(8000),
        "echo {{.x}}; a ".to_owned() + &"-exec -a ".repeat(7000),
        "echo {{.x}}; a ".to_owned() + &"sed ".repeat(16_000),
        "echo {{.x}}; a ".to_owned() + &"perl -w ".repeat(8000),
        "echo {{.x}}; a ".to_owned() + &"sh -x ".repeat(10_000),
        "echo {{.x}}; a ".to_owned() + &"sh ".repeat(20_000) + "-x",
        format!("echo {{{{.x}}}}; a {} '#{}'", "docker sh -c ".repeat(2000), "a".repeat(30_000)),
    ] {
        assert!(text.len() <= 64 * 1024 + 64, "{}", text.len());
        // What comes of it is its own matter: it comes.
        let _ = render(&text, |it| it == "x");
    }
    assert!(render("sudo nice -n 5 timeout 5 ionice -c 3 wc {{.x}}", |it| it == "x").is_ok());
}

#[test]
fn values_that_programs_may_read_as_options_are_told() {
    let res = render("rm {{.x}} -- {{.y}}; ls a{{.y}}", |it| matches!(it, "x" | "y")).unwrap();
    assert_eq!(res.option_names(), ["x"]);
    // Behind the code of a shell, `--` is its name.
    let res = render("bash -c 'ls \"$@\"' -- {{.x}}", |it| it == "x").unwrap();
    assert_eq!(res.option_names(), ["x"]);
}
