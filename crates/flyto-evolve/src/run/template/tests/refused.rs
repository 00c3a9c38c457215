//! Texts that were taken while their value ran, each beside ordinary ones that stay.

use super::super::render;

#[track_caller]
fn refused(texts: &[&str]) {
    for text in texts {
        assert!(render(text, |it| matches!(it, "x" | "y")).is_err(), "{text}");
    }
}

#[track_caller]
fn taken(texts: &[&str]) {
    for text in texts {
        let found = render(text, |it| matches!(it, "x" | "y"));
        assert!(found.is_ok(), "{text}: {found:?}");
    }
}

/// Words that begin with a value which no schema lets be an option, where `true`, and others.
#[track_caller]
fn guarded(text: &str, expected: &[bool]) {
    let found = render(text, |it| matches!(it, "x" | "y")).expect(text).may_be_options;
    let found: Vec<_> = found.iter().map(|it| it.is_code).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn text_is_taken_apart_as_bash_does() {
    refused(&[
        // A backslash in double quotes stays in front of most characters.
        r#"bash -c "echo \'; eval \$1; \'" _ {{.x}}"#,
        r#"bash -c "echo \a; \e\v\a\l \$1" _ {{.x}}"#,
        // The patterns of `case` have parentheses.
        r#"echo "$(case a in a) eval "{{.x}}";; esac)""#,
        "echo $(case a in a) echo {{.x}};; esac)",
        "if true; then case a in a) ls; esac; fi; echo {{.x}}",
        // A substitution of a process is a part of the word in which it stands.
        r#"bash /<(echo "$TOOL_INPUT_X") {{.x}}"#,
        r#". /<(echo "$TOOL_INPUT_X") <<< {{.x}}"#,
        "/<(true) {{.x}}",
        "A=1</dev/null<(true) {{.x}}",
        // It may be the target of a redirection.
        r"find . -maxdepth 0 < <(true) -exec {{.x}} \;",
        "docker exec c < <(true) sh -c {{.x}}",
        "bash < <(echo {{.x}})",
        // A redirection without a target, and numbers that name no stream.
        "echo {{.x}} >; ls",
        "echo > > a {{.x}}",
        "echo {{.x}} 2&>a",
        "echo {{.x}} 12345678901>a",
        "ls {{.x}}\u{1}",
        "ls {{.x}}\r",
    ]);
    taken(&[
        r#"echo "a \$x \"b\" \\ \d" {{.x}}"#,
        "cat < <(sort {{.x}})",
        "diff <(sort {{.x}}) <(sort {{.y}})",
        "wc -l {{.x}} 2>&1 >/dev/null",
        "echo case {{.x}}",
    ]);
    guarded("ls < <(true) {{.x}}", &[false]);
}

/// Another shell than bash reads less.
#[test]
fn code_of_another_shell_has_what_all_of_them_read() {
    refused(&[
        "sh -c 'echo a &>/dev/null eval \"$1\"' _ {{.x}}",
        "dash -c 'cat <<< \"$1\"' _ {{.x}}",
        "sh -c 'cat <(echo \"$1\")' _ {{.x}}",
        "sh -c 'echo |& cat' _ {{.x}}",
        "sh -c '[[ -n $1 ]]' _ {{.x}}",
        "mksh -c '[ \"$1\" -eq 1 ]' _ {{.x}}",
        "ksh -c 'echo \"$1\"' _ {{.x}}",
    ]);
    taken(&[
        "bash -c 'cat <<< \"$1\" &>/dev/null' _ {{.x}}",
        "sh -c 'for f in \"$@\"; do wc -l \"$f\"; done' _ {{.x}}",
        "sh -c 'if [ -f \"$1\" ]; then cat \"$1\" 2>/dev/null; fi' _ {{.x}}",
    ]);
}

#[test]
fn a_file_of_code_is_run_where_no_command_may_write_it() {
    refused(&[
        r#"tee r <<< "$TOOL_INPUT_X" >/dev/null; bash r {{.x}}"#,
        "tee r >/dev/null; bash r {{.x}}",
        r#"echo "$TOOL_INPUT_X" >&r; bash r {{.x}}"#,
        r#"echo "$TOOL_INPUT_X" > 1; bash 1 {{.x}}"#,
        r#"echo "$TOOL_INPUT_X" > >(tee r); bash r {{.x}}"#,
        "cat >| r; bash r {{.x}}",
        "sort -o r; bash r {{.x}}",
        "sort --compress-program=./r; bash r {{.x}}",
        r#"cd "$TOOL_INPUT_X"; bash r {{.x}}"#,
        "dd of=r; python3 r {{.x}}",
        "cp /dev/stdin r; awk -f r {{.x}}",
        "cp /dev/stdin r; jq -f r {{.x}}",
        "cp /dev/stdin r; sed -f r -- {{.x}}",
        ". ./a; bash r {{.x}}",
        "timeout 5 tee r; . ./r <<< {{.x}}",
        "bash -c 'tee r'; bash r {{.x}}",
    ]);
    taken(&[
        "bash r {{.x}}",
        ". venv/bin/activate <<< {{.x}}",
        "set -eu; cd a && python3 tool.py {{.x}} 2>&1 | sort -rn | head -n 3",
        "if [ -f a.py ]; then echo a >&2; python3 a.py {{.x}} 2>/dev/null; fi",
        "command -v python3 >/dev/null || exit 1; python3 tool.py {{.x}}",
        "awk -f a.awk {{.x}}",
        "jq -f a.jq {{.x}}",
    ]);
}

#[test]
fn interpreters_are_taken_in_exact_shapes() {
    refused(&[
        "python3 --check-hash-based-pycs always <<< {{.x}}",
        "node --title foo <<< {{.x}}",
        "node --title foo {{.x}}",
        "node -r ./a -e 1 {{.x}}",
        "perl -Mfeature=say <<< {{.x}}",
        "perl -Mfeature=say -e 1 {{.x}}",
        "perl -en 1 {{.x}}",
        "perl -i.bake <<< {{.x}}",
        "ruby -ropen-uri <<< {{.x}}",
        "sed --file=- f <<< {{.x}}",
        "sed -f- f <<< {{.x}}",
        "sed -f - f <<< {{.x}}",
        "sed -es/a/b/ {{.x}}",
        "sed -i 's/a/b/' {{.x}}",
        "awk -f/dev/stdin <<< {{.x}}",
        "awk -f /dev/stdin <<< {{.x}}",
        "gawk -e 1 {{.x}}",
        "gawk --source 1 {{.x}}",
        "jq -nrf /dev/stdin <<< {{.x}}",
        "jq -nr -f /dev/stdin <<< {{.x}}",
        "jq -nr --from-file /dev/stdin <<< {{.x}}",
        "jq -nr --from-fil a {{.x}}",
        "python3 -m code <<< {{.x}}",
        "python3 -m timeit -n 1 -r 1 -- {{.x}}",
        "python3 -m cProfile {{.x}}",
        "python3 -mcode <<< {{.x}}",
        "python3 -ic 1 {{.x}}",
        "python3 -c1 {{.x}}",
        "python3 -Wx <<< {{.x}}",
        "php -B 1 -R {{.x}}",
        "lua -e 1 {{.x}}",
        "deno eval {{.x}}",
        "bun x {{.x}}",
        "yq e {{.x}} a.yaml",
        "perl -e 'print readline(ARGV)' -- {{.x}}",
        "perl -e 'print readline *ARGV' -- {{.x}}",
        "perl -e 'print while !eof()' -- {{.x}}",
        "bash -c 'sed -n p x$1' _ {{.x}}",
        "bash -c 'perl -e 1 \"$@\"' _ {{.x}}",
        "v={{.y}}; sed -n -e p {{.x}}\"$v\"",
    ]);
    taken(&[
        "jq -r '.a' -- {{.x}}",
        "jq -rn --arg v {{.x}} '$v'",
        "jq --slurp --raw-output '.[0]' {{.x}}",
        "yq -r '.a' {{.x}}",
        "yq e -o json '.a' {{.x}}",
        "sed -n 's/a/b/p' -- {{.x}}",
        "sed -E -e 's/a/b/' -e 's/c/d/' -- {{.x}}",
        "sed -i -e 's/a/b/' -- {{.x}}",
        "sed -i.bak 's/a/b/' -- {{.x}}",
        "awk '{print $1}' {{.x}}",
        "awk -F: -v a=1 '{print $1}' {{.x}}",
        "awk -F ',' '{print $1}' {{.x}}",
        "python3 -c 'code' {{.x}}",
        "python3 -Bu -c 'code' {{.x}}",
        "python3 -u tool.py {{.x}}",
        "python3 -m json.tool {{.x}}",
        "python3 --version; echo {{.x}}",
        "perl -lne 'print if /a/' < {{.x}}",
        "perl -0777 -ne 'print' < {{.x}}",
        "perl -e 'print scalar @ARGV, $#ARGV, $ARGV[0]' -- {{.x}}",
        "ruby -e 'puts ARGV[0]' {{.x}}",
        "node -e 'console.log(process.argv[1])' -- {{.x}}",
        "node --no-warnings tool.js {{.x}}",
        "php -r 'echo $argv[1];' -- {{.x}}",
        "deno run --allow-read tool.ts {{.x}}",
        "Rscript a.R {{.x}}",
    ]);
}

#[test]
fn git_takes_values_as_data_of_known_commands() {
    refused(&[
        "git -C . rebase --force-rebase -x {{.x}} HEAD~1",
        "git rebase {{.x}}",
        "git bisect run bash -c {{.x}}",
        r#"f={{.x}}; git grep "$f" e"#,
        r#"read -r f <<< {{.x}}; git grep "$f" e"#,
        r#"f={{.x}}; git grep -n "$f" e"#,
        "git grep -n{{.x}} e",
        "git grep --open-files-in-pager={{.x}} e",
        "git config alias.a {{.x}}",
        "git submodule foreach {{.x}}",
        "git submodule foreach 'eval \"$TOOL_INPUT_X\"'; echo {{.x}}",
        "git rebase -x 'eval \"$TOOL_INPUT_X\"' a; echo {{.x}}",
        "git difftool -x {{.x}}",
        "git {{.x}}",
        "git clone -c {{.x}} a",
        "git clone -u {{.x}} a",
        "git fetch --upload-pack={{.x}} a",
    ]);
    taken(&[
        "git log -- {{.x}}",
        "git -C {{.x}} log --oneline -n 5",
        "git show {{.x}}",
        "git diff {{.x}} {{.y}} -- a",
        "git status --short -- {{.x}}",
        "git add -- {{.x}}",
        "git commit -m {{.x}}",
        "git checkout -- {{.x}}",
        "git checkout {{.x}}",
        "git grep -n -e {{.x}} -- {{.y}}",
        "git log --grep={{.x}} --author {{.y}}",
        "f={{.x}}; git log -n 5 -- \"$f\"",
        "m={{.x}}; git commit -m \"$m\"",
        "git clone -- {{.x}} a",
        "git clone -q --depth=1 {{.x}} a",
        "git fetch origin; git rebase main; echo {{.x}}",
    ]);
    guarded("git log {{.x}} -- {{.y}}", &[true]);
    guarded("git commit -m {{.x}}", &[false]);
}

/// It is the word that is an option, and the program's own `--` that ends them.
#[test]
fn words_that_begin_with_a_value_are_guarded() {
    for (text, expected) in [
        ("sed -n -e p {{.y}}{{.x}}", [true].as_slice()),
        ("sed -n -e p {{.y}}e{{.x}}", &[true]),
        ("ls {{.x}}la", &[false]),
        ("env -- sed -n -e p {{.x}}", &[true]),
        ("nice -- perl -e 1 {{.x}}", &[true]),
        ("env -- ls {{.x}}", &[false]),
        ("env -- ls -- {{.x}}", &[]),
        ("perl -e 1 {{.x}}", &[true]),
        ("sed -n -e p {{.x}}", &[true]),
        ("sed -n -e p -- {{.x}}", &[]),
        ("awk '{ print }' {{.x}}", &[false]),
        ("python3 -c 'code' {{.x}}", &[false]),
        ("find {{.x}} -name {{.y}}", &[true, false]),
        ("find . -exec grep -- {{.x}} {} \\;", &[true]),
        ("kubectl exec pod -- sed -n -e p {{.x}}", &[true]),
        ("docker exec c grep -- {{.x}}", &[]),
        ("rsync {{.x}} b", &[true]),
        ("grep -- {{.x}} {{.y}}", &[]),
        ("for f in {{.x}}; do :; done", &[false]),
        ("a={{.x}}; cat <<< {{.y}}", &[]),
    ] {
        guarded(text, expected);
    }
}

#[test]
fn the_format_of_printf_is_written_and_sets_no_variable() {
    refused(&[
        "printf 'abc%n' {{.x}}; ls",
        "printf 'abc%-5n' {{.x}}; ls",
        "printf 'abc%5.*ln' {{.x}}; ls",
        "printf '%%%n' {{.x}}",
        "f={{.x}}; printf \"a$f\" {{.y}}; ls",
        "printf \"$TOOL_INPUT_X\" {{.y}}",
        "printf -v PATH %s {{.x}}; ls",
    ]);
    taken(&[
        "printf '%s\\n' {{.x}}",
        "printf '100%%n %-5s %d\\n' {{.x}} 1",
        "printf -- '%s' {{.x}}",
    ]);
}

#[test]
fn words_that_only_look_fixed_are_not() {
    refused(&[
        r#"n=c; find . -maxdepth 0 "-exe$n" {{.x}} \;"#,
        r#"n=-exec; find . "$n" {{.x}} \;"#,
        r#"n=-exec; find "$n" sh {{.x}} \;"#,
        r"find . -exec echo {{.x}} -exec {{.y}} \;",
        "docker exec c sh -o errexit -c {{.x}}",
        r#"n=c; docker exec c sh "-$n" {{.x}}"#,
        "docker exec -i c bash <<< {{.x}}",
        "docker exec -i c python3 <<< {{.x}}",
        "kubectl exec -i pod -- sh <<< {{.x}}",
        r#"n=-x; fd . "$n" {{.x}}"#,
        r#"make --eval 'x:;@bash -c "$$TOOL_INPUT_X"' x; echo {{.x}}"#,
        r#"make 'A=$(shell eval "$TOOL_INPUT_X")'; echo {{.x}}"#,
        r#"npx -c 'eval "$TOOL_INPUT_X"'; echo {{.x}}"#,
        r#"watch 'eval "$TOOL_INPUT_X"'; echo {{.x}}"#,
    ]);
    taken(&[
        "grep -- {{.x}} {{.y}}",
        "grep -x bash {{.x}}",
        "curl -- {{.x}}",
        "curl -x socks5://a -- {{.x}}",
        "find . -name {{.x}}",
        r#"d={{.x}}; find "$d" -type f -name {{.y}}"#,
        r#"p={{.x}}; find . -exec grep -e "$p" {} \;"#,
        "find . -name '*.c' -exec grep -l {{.x}} {} +",
        "make -C a -j4 CC=gcc all; echo {{.x}}",
        "npx --yes prettier --check .; echo {{.x}}",
        "docker exec c wc {{.x}}",
        "docker exec {{.x}} sh -c 'wc \"$1\"' _ {{.y}}",
        "docker run --rm python:3 python3 -c 'code' {{.x}}",
        "kubectl get node -o json; echo {{.x}}",
        "apt-get install -y bash python3; echo {{.x}}",
    ]);
}

#[test]
fn no_file_of_code_is_the_input_by_its_directory() {
    refused(&[
        "cd /dev && bash stdin <<< {{.x}}",
        "cd /dev && bash -e stdin <<< {{.x}}",
        "cd /dev; . ./stdin <<< {{.x}}",
        "cd /usr/../de\"\"v; bash stdin <<< {{.x}}",
        "CDPATH=/; cd dev; bash stdin <<< {{.x}}",
        "PATH=/dev:/usr/bin:/bin; . stdin <<< {{.x}}",
        "PATH=/dev . stdin <<< {{.x}}",
        "PATH=/dev:/usr/bin:/bin bash stdin <<< {{.x}}",
        "export PATH=/dev; bash stdin {{.x}}",
        "env PATH=/dev bash stdin <<< {{.x}}",
        "cd /dev; python3 stdin <<< {{.x}}",
        "env -C /dev python3 stdin <<< {{.x}}",
        "sudo -D /dev bash stdin <<< {{.x}}",
        "cd /dev; perl stdin <<< {{.x}}",
        "cd /dev; sed -f stdin /etc/hostname <<< {{.x}}",
        "cd /dev; awk -f stdin <<< {{.x}}",
        "cd /dev; jq -n -f stdin <<< {{.x}}",
        "cd /dev; bash stdin {{.x}}",
        "cd /proc/self/fd && bash 0 <<< {{.x}}",
        "d=/dev; cd \"$d\"; bash stdin {{.x}}",
        "pushd /opt; bash a {{.x}}",
    ]);
    taken(&[
        "cd a && python3 tool.py {{.x}}",
        "cd /opt/app; bash run.sh {{.x}}",
        "cd /dev; ls {{.x}}",
        "cd /dev; bash /opt/run.sh {{.x}}",
        "timeout -k 1 5 python3 tool.py {{.x}}",
        "PATH=/opt/bin:/usr/bin; wc {{.x}}",
    ]);
}

#[test]
fn what_looks_like_an_option_may_be_a_value() {
    refused(&[
        "python3 -v <<< {{.x}}",
        "echo {{.x}} | python3 -v",
        "perl -ae 'print' {{.x}}",
        "perl -a -e 'print' -- {{.x}}",
        "perl -0777 -a -e print {{.x}}",
        "perl -wlae print {{.x}}",
        "printf '%s\\0' {{.x}} | xargs -0 perl -a -e print --",
        r#"f={{.x}}; git grep -e -e "$f""#,
        r#"f={{.x}}; git clone -q --branch -b "$f" /repo d"#,
        r#"f={{.x}}; git log --grep -n "$f""#,
        r#"f={{.x}}; git log --author -S "$f""#,
        r#"read -r f <<< {{.x}}; find . -maxdepth 0 -fprint -name "$f" bash -c {{.y}} \;"#,
        r#"read -r f <<< {{.x}}; find . -fprintf a -name "$f" bash -c {{.y}} \;"#,
        r#"read -r f <<< {{.x}}; find . -unheard -name "$f" bash -c {{.y}} \;"#,
        "jq -n -f -r {{.x}}",
        "jq -n -f -- {{.x}}",
        "node inspect {{.x}}",
        "split --filter={{.x}} f",
        "split --filter {{.x}} f",
        "tar -xf t.tar --to-command={{.x}}",
        "tar -I {{.x}} -cf a.tar b",
        "sort --compress-program={{.x}} f",
    ]);
    guarded("git grep -e -e {{.x}}", &[true]);
    guarded("find . -maxdepth 0 -fprint -name {{.x}}", &[true]);
    taken(&[
        "python3 -V; echo {{.x}}",
        "git grep -e {{.x}}",
        "git log -n {{.x}} --grep {{.y}}",
        "find . -mtime -1 ! -newermt yesterday -size +1k -name {{.x}} -print0",
        "find . \\( -name {{.x}} -o -name {{.y}} \\) -prune -o -exec grep -l -i a {} + -print",
        "jq -n -f a.jq {{.x}}",
        "tar -czf {{.x}} a",
        "tar -xzf {{.x}} -C {{.y}}",
        "sort -u {{.x}}",
        "split -l 10 {{.x}}",
    ]);
}
