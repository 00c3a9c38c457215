//! Texts and the words that come of them.

use expect_test::{Expect, expect};
use flyto_plugin::ToolDef;
use serde_json::{Value, json};

use crate::Host;

/// The words for the input `x`: `X Y`, `y`: `-y`, `n`: 5, and no `z`.
fn shown(command: &str) -> String {
    let properties = json!({"x": {}, "y": {"x-flyto-dash": true}, "n": {}, "z": {}});
    let schema = json!({"type": "object", "properties": properties});
    match ToolDef::template("t", command, schema) {
        Ok(def) => Host::new().words(def, json!({"x": "X Y", "y": "-y", "n": 5})),
        Err(err) => format!("{err}\n"),
    }
}

#[track_caller]
fn check(commands: &[&str], expect: Expect) {
    let each = commands.iter().map(|it| {
        let shown = shown(it).lines().map(|it| format!("    {it}\n")).collect::<String>();
        format!("{}\n{shown}", it.replace('\r', "\\r"))
    });
    expect.assert_eq(&each.collect::<String>());
}

#[test]
fn without_a_shell() {
    check(
        &[
            r#"git -C {{x}} status"#,
            r#"p {{x}}{{y}} "{{x}}" '{{x}}' --t={{x}} "a{{x}}b"'c{{x}}d'e{{x}}f"#,
            r#"p {{n}} {{n}}"#,
            r#"p a\ b 'a|b;c' "a&&b" \; \| \& \$HOME '$HOME' "\$x \" \\ \a" a#b a~ 5$ "$" \*"#,
            r#"p '' "" {{z}}"""#,
            r#"p \
  {{x}}
"#,
            r#"p {{z}} a{{z}}b --q={{z}} end"#,
            r#"'p'q {{x}}"#,
            r#"p ]}!%^@:+, {{x}}"#,
            r#"p a\"#,
            r#"p '{"k": "{{x}}"}' '{{{x}}}' '{{.State}}' '{{ x }}'"#,
            "p \u{a0}{{x}}\r",
        ],
        expect![[r#"
            git -C {{x}} status
                "git"
                "-C"
                "X Y"
                "status"
            p {{x}}{{y}} "{{x}}" '{{x}}' --t={{x}} "a{{x}}b"'c{{x}}d'e{{x}}f
                "p"
                "X Y-y"
                "X Y"
                "X Y"
                "--t=X Y"
                "aX YbcX YdeX Yf"
            p {{n}} {{n}}
                "p"
                "5"
                "5"
            p a\ b 'a|b;c' "a&&b" \; \| \& \$HOME '$HOME' "\$x \" \\ \a" a#b a~ 5$ "$" \*
                "p"
                "a b"
                "a|b;c"
                "a&&b"
                ";"
                "|"
                "&"
                "$HOME"
                "$HOME"
                "$x \" \\ \\a"
                "a#b"
                "a~"
                "5$"
                "$"
                "*"
            p '' "" {{z}}""
                "p"
                ""
                ""
            p \
              {{x}}

                "p"
                "X Y"
            p {{z}} a{{z}}b --q={{z}} end
                "p"
                "end"
            'p'q {{x}}
                "pq"
                "X Y"
            p ]}!%^@:+, {{x}}
                "p"
                "]}!%^@:+,"
                "X Y"
            p a\
                "p"
                "a\\"
            p '{"k": "{{x}}"}' '{{{x}}}' '{{.State}}' '{{ x }}'
                "p"
                "{\"k\": \"X Y\"}"
                "{X Y}"
                "{{.State}}"
                "X Y"
            p  {{x}}\r
                "p"
                " X Y\r"
        "#]],
    );
}

#[test]
fn with_a_shell() {
    check(
        &[
            r#"p $HOME {{x}} "{{x}}" '{{x}}' --t={{x}} "a{{x}}b" 'c{{x}}d'"#,
            r#"p *.{{x}}"#,
            r#"p > {{x}}"#,
            r#"p 2>&1 {{z}} {{x}}"#,
            r#"p & q {{x}}"#,
            r#"p {a,b}"#,
            r#"p ~/x ~"#,
            r#"A={{x}} p"#,
            r#"cd {{x}}
p {{y}}"#,
            r#"if p {{x}}
then q {{y}}
fi"#,
            r#"for f in {{x}} {{z}}
do p "$f"
done"#,
            r#"p "$(q {{x}} {{z}})" $(q '{{x}}')"#,
            r#"p $((1 + 2)) ${HOME:-x} {{x}} # note"#,
            r#"( p {{x}} )"#,
            r#"p [ab]? {{x}}"#,
            r#"export A={{x}}
p"#,
            r#"set -eu -o noglob
p {{x}}"#,
            r#"p {{x}} {{y}} {{n}} {{x}} $HOME"#,
            r#"command -v {{x}}"#,
            r#"p {{.State}}"#,
            r#"-p $HOME"#,
        ],
        expect![[r#"
            p $HOME {{x}} "{{x}}" '{{x}}' --t={{x}} "a{{x}}b" 'c{{x}}d'
                "sh"
                "-c"
                "p $HOME \"${1}\" \"${1}\" ''\"${1}\"'' --t=\"${1}\" \"a${1}b\" 'c'\"${1}\"'d'"
                "sh"
                "X Y"
            p *.{{x}}
                "sh"
                "-c"
                "p *.\"${1}\""
                "sh"
                "X Y"
            p > {{x}}
                "sh"
                "-c"
                "p > \"${1}\""
                "sh"
                "X Y"
            p 2>&1 {{z}} {{x}}
                "sh"
                "-c"
                "p 2>&1  \"${1}\""
                "sh"
                "X Y"
            p & q {{x}}
                "sh"
                "-c"
                "p & q \"${1}\""
                "sh"
                "X Y"
            p {a,b}
                "sh"
                "-c"
                "p {a,b}"
                "sh"
            p ~/x ~
                "sh"
                "-c"
                "p ~/x ~"
                "sh"
            A={{x}} p
                "sh"
                "-c"
                "A=\"${1}\" p"
                "sh"
                "X Y"
            cd {{x}}
            p {{y}}
                "sh"
                "-c"
                "cd \"${1}\"\np \"${2}\""
                "sh"
                "X Y"
                "-y"
            if p {{x}}
            then q {{y}}
            fi
                "sh"
                "-c"
                "if p \"${1}\"\nthen q \"${2}\"\nfi"
                "sh"
                "X Y"
                "-y"
            for f in {{x}} {{z}}
            do p "$f"
            done
                "sh"
                "-c"
                "for f in \"${1}\" \ndo p \"$f\"\ndone"
                "sh"
                "X Y"
            p "$(q {{x}} {{z}})" $(q '{{x}}')
                "sh"
                "-c"
                "p \"$(q \"${1}\" )\" $(q ''\"${1}\"'')"
                "sh"
                "X Y"
            p $((1 + 2)) ${HOME:-x} {{x}} # note
                "sh"
                "-c"
                "p $((1 + 2)) ${HOME:-x} \"${1}\" # note"
                "sh"
                "X Y"
            ( p {{x}} )
                "sh"
                "-c"
                "( p \"${1}\" )"
                "sh"
                "X Y"
            p [ab]? {{x}}
                "sh"
                "-c"
                "p [ab]? \"${1}\""
                "sh"
                "X Y"
            export A={{x}}
            p
                "sh"
                "-c"
                "export A=\"${1}\"\np"
                "sh"
                "X Y"
            set -eu -o noglob
            p {{x}}
                "sh"
                "-c"
                "set -eu -o noglob\np \"${1}\""
                "sh"
                "X Y"
            p {{x}} {{y}} {{n}} {{x}} $HOME
                "sh"
                "-c"
                "p \"${1}\" \"${2}\" \"${3}\" \"${1}\" $HOME"
                "sh"
                "X Y"
                "-y"
                "5"
            command -v {{x}}
                "sh"
                "-c"
                "command -v \"${1}\""
                "sh"
                "X Y"
            p {{.State}}
                "sh"
                "-c"
                "p {{.State}}"
                "sh"
            -p $HOME
                "sh"
                "-c"
                " -p $HOME"
                "sh"
        "#]],
    );
}

#[test]
fn refused_as_more_than_one_command() {
    check(
        &[
            r#"p && q"#,
            r#"p || q"#,
            r#"p | q"#,
            r#"p; q"#,
            r#"p;"#,
            r#"p |& q"#,
            r#"p `q`"#,
            r#"p "`q`""#,
            r#"p $(q | r)"#,
            r#"p "$(q; r)""#,
            r#"p >| q"#,
            r#"p ;; q"#,
            r#"p ${a:-b;c}"#,
            r#"p # `"#,
            r#"p `"#,
        ],
        expect![[r#"
            p && q
                failed to read the command "p && q": `&&` outside of quotes joins commands, and a template is one command (byte 2); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p || q
                failed to read the command "p || q": `||` outside of quotes joins commands, and a template is one command (byte 2); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p | q
                failed to read the command "p | q": `|` outside of quotes joins commands, and a template is one command (byte 2); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p; q
                failed to read the command "p; q": `;` outside of quotes joins commands, and a template is one command (byte 1); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p;
                failed to read the command "p;": `;` outside of quotes joins commands, and a template is one command (byte 1); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p |& q
                failed to read the command "p |& q": `|` outside of quotes joins commands, and a template is one command (byte 2); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p `q`
                failed to read the command "p `q`": a backtick runs a command of its own, and a template is one command (byte 2); write `\`` or put it in single quotes if the program is to see it
            p "`q`"
                failed to read the command "p \"`q`\"": a backtick runs a command of its own, and a template is one command (byte 3); write `\`` or put it in single quotes if the program is to see it
            p $(q | r)
                failed to read the command "p $(q | r)": `|` outside of quotes joins commands, and a template is one command (byte 6); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p "$(q; r)"
                failed to read the command "p \"$(q; r)\"": `;` outside of quotes joins commands, and a template is one command (byte 6); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p >| q
                failed to read the command "p >| q": `|` outside of quotes joins commands, and a template is one command (byte 3); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p ;; q
                failed to read the command "p ;; q": `;` outside of quotes joins commands, and a template is one command (byte 2); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p ${a:-b;c}
                failed to read the command "p ${a:-b;c}": `;` outside of quotes joins commands, and a template is one command (byte 8); quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p # `
                failed to read the command "p # `": a backtick runs a command of its own, and a template is one command (byte 4); write `\`` or put it in single quotes if the program is to see it
            p `
                failed to read the command "p `": a backtick runs a command of its own, and a template is one command (byte 2); write `\`` or put it in single quotes if the program is to see it
        "#]],
    );
}

#[test]
fn refused_as_code() {
    check(
        &[
            r#"{{x}}"#,
            r#"/bin/{{x}}"#,
            r#"'{{x}}' a"#,
            r#"A=1 {{x}}"#,
            r#"$(q {{x}}) a"#,
            r#"p & {{x}}"#,
            r#"p
{{x}}"#,
            r#"p $({{x}})"#,
            r#"! {{x}}"#,
            r#"( {{x}} )"#,
            r#"sh -c {{x}}"#,
            r#"bash -ec 'p {{x}}'"#,
            r#"/bin/bash --norc -o pipefail -c "p {{x}}""#,
            r#"env A=1 -u B sh -c {{x}}"#,
            r#"sh '-c' {{x}}"#,
            r#"sh -c{{x}}"#,
            r#"sh -c "$(q {{x}})""#,
            r#"python -c {{x}}"#,
            r#"python3 -W ignore -uc {{x}}"#,
            r#"perl -ne 'p {{x}}' f"#,
            r#"perl -i -pe {{x}} f"#,
            r#"perl -MPOSIX -lane {{x}}"#,
            r#"node -e {{x}}"#,
            r#"node --eval={{x}}"#,
            r#"node -p {{x}}"#,
            r#"ruby -rjson -e {{x}}"#,
            r#"php -r {{x}}"#,
            r#"awk {{x}} f"#,
            r#"awk -F: -v a={{x}} '{print {{y}}}' f"#,
            r#"gawk -F , -- {{x}}"#,
            r#"gawk -e {{x}}"#,
            r#"eval {{x}}"#,
            r#"eval p '{{x}}'"#,
            r#"trap {{x}} EXIT"#,
            r#". {{x}}"#,
            r#"source {{x}}"#,
            r#"find . -exec {{x}} \;"#,
            r#"find . -exec sh -c '{{x}}' \; -execdir p \;"#,
            r#"find . -exec p \; -exec sh -c {{x}} \;"#,
            r#"xargs -n 1 sh -c {{x}}"#,
            r#"timeout 5 {{x}}"#,
            r#"timeout -k 1 5 sh -c {{x}}"#,
            r#"sudo -u ada {{x}}"#,
            r#"nice -n 5 nohup {{x}}"#,
            r#"exec {{x}}"#,
            r#"env -S {{x}}"#,
            r#"busybox sh -c {{x}}"#,
            r#"su ada -c {{x}}"#,
            r#"flock f -c {{x}}"#,
            r#"watch {{x}}"#,
            r#"[[ {{x}} -eq 1 ]]"#,
            r#"for {{x}} in a"#,
            r#"read {{x}}"#,
            r#"export {{x}}"#,
            r#"p $((1 + {{x}}))"#,
            r#"p ${HOME:-{{x}}}"#,
            r#"p >& {{x}}"#,
            r#"python3.12 -Ic {{x}}"#,
        ],
        expect![[r#"
            {{x}}
                failed to read the command "{{x}}": `{{x}}` stands in the place of the program (byte 0); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            /bin/{{x}}
                failed to read the command "/bin/{{x}}": `{{x}}` stands in the place of the program (byte 5); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            '{{x}}' a
                failed to read the command "'{{x}}' a": `{{x}}` stands in the place of the program (byte 1); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            A=1 {{x}}
                failed to read the command "A=1 {{x}}": `{{x}}` stands in the place of the program (byte 4); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            $(q {{x}}) a
                failed to read the command "$(q {{x}}) a": `{{x}}` stands in the place of the program (byte 4); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p & {{x}}
                failed to read the command "p & {{x}}": `{{x}}` stands in the place of the program (byte 4); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p
            {{x}}
                failed to read the command "p\n{{x}}": `{{x}}` stands in the place of the program (byte 2); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p $({{x}})
                failed to read the command "p $({{x}})": `{{x}}` stands in the place of the program (byte 4); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            ! {{x}}
                failed to read the command "! {{x}}": `{{x}}` stands in the place of the program (byte 2); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            ( {{x}} )
                failed to read the command "( {{x}} )": `{{x}}` stands in the place of the program (byte 2); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            sh -c {{x}}
                failed to read the command "sh -c {{x}}": `{{x}}` stands in the code that `sh` runs (byte 6); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            bash -ec 'p {{x}}'
                failed to read the command "bash -ec 'p {{x}}'": `{{x}}` stands in the code that `bash` runs (byte 12); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            /bin/bash --norc -o pipefail -c "p {{x}}"
                failed to read the command "/bin/bash --norc -o pipefail -c \"p {{x}}\"": `{{x}}` stands in the code that `bash` runs (byte 35); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            env A=1 -u B sh -c {{x}}
                failed to read the command "env A=1 -u B sh -c {{x}}": `{{x}}` stands in the code that `sh` runs (byte 19); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            sh '-c' {{x}}
                failed to read the command "sh '-c' {{x}}": `{{x}}` stands in the code that `sh` runs (byte 8); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            sh -c{{x}}
                failed to read the command "sh -c{{x}}": `{{x}}` stands in the code that `sh` runs (byte 5); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            sh -c "$(q {{x}})"
                failed to read the command "sh -c \"$(q {{x}})\"": `{{x}}` stands in the code that `sh` runs (byte 11); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            python -c {{x}}
                failed to read the command "python -c {{x}}": `{{x}}` stands in the code that `python` runs (byte 10); hand the value over as an argument, as in `python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            python3 -W ignore -uc {{x}}
                failed to read the command "python3 -W ignore -uc {{x}}": `{{x}}` stands in the code that `python3` runs (byte 22); hand the value over as an argument, as in `python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            perl -ne 'p {{x}}' f
                failed to read the command "perl -ne 'p {{x}}' f": `{{x}}` stands in the code that `perl` runs (byte 12); hand the value over as an argument, as in `perl -e '…' -- {{x}}`, where it is `$ARGV[0]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            perl -i -pe {{x}} f
                failed to read the command "perl -i -pe {{x}} f": `{{x}}` stands in the code that `perl` runs (byte 12); hand the value over as an argument, as in `perl -e '…' -- {{x}}`, where it is `$ARGV[0]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            perl -MPOSIX -lane {{x}}
                failed to read the command "perl -MPOSIX -lane {{x}}": `{{x}}` stands in the code that `perl` runs (byte 19); hand the value over as an argument, as in `perl -e '…' -- {{x}}`, where it is `$ARGV[0]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            node -e {{x}}
                failed to read the command "node -e {{x}}": `{{x}}` stands in the code that `node` runs (byte 8); hand the value over as an argument, as in `node -e '…' -- {{x}}`, where it is `process.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            node --eval={{x}}
                failed to read the command "node --eval={{x}}": `{{x}}` stands in the code that `node` runs (byte 12); hand the value over as an argument, as in `node -e '…' -- {{x}}`, where it is `process.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            node -p {{x}}
                failed to read the command "node -p {{x}}": `{{x}}` stands in the code that `node` runs (byte 8); hand the value over as an argument, as in `node -e '…' -- {{x}}`, where it is `process.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            ruby -rjson -e {{x}}
                failed to read the command "ruby -rjson -e {{x}}": `{{x}}` stands in the code that `ruby` runs (byte 15); hand the value over as an argument, as in `ruby -e '…' -- {{x}}`, where it is `ARGV[0]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            php -r {{x}}
                failed to read the command "php -r {{x}}": `{{x}}` stands in the code that `php` runs (byte 7); hand the value over as an argument, as in `php -r '…' -- {{x}}`, where it is `$argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            awk {{x}} f
                failed to read the command "awk {{x}} f": `{{x}}` stands in the code that `awk` runs (byte 4); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1] } …' {{x}}`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            awk -F: -v a={{x}} '{print {{y}}}' f
                failed to read the command "awk -F: -v a={{x}} '{print {{y}}}' f": `{{y}}` stands in the code that `awk` runs (byte 27); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1] } …' {{y}}`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{y}}`, where it is "$1"
            gawk -F , -- {{x}}
                failed to read the command "gawk -F , -- {{x}}": `{{x}}` stands in the code that `gawk` runs (byte 13); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1] } …' {{x}}`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            gawk -e {{x}}
                failed to read the command "gawk -e {{x}}": `{{x}}` stands in the code that `gawk` runs (byte 8); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1] } …' {{x}}`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            eval {{x}}
                failed to read the command "eval {{x}}": `{{x}}` stands behind `eval`, which runs it as code (byte 5); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            eval p '{{x}}'
                failed to read the command "eval p '{{x}}'": `{{x}}` stands behind `eval`, which runs it as code (byte 8); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            trap {{x}} EXIT
                failed to read the command "trap {{x}} EXIT": `{{x}}` stands behind `trap`, which runs it as code (byte 5); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            . {{x}}
                failed to read the command ". {{x}}": `{{x}}` stands behind `.`, which runs the file as code (byte 2); write the name of a script
            source {{x}}
                failed to read the command "source {{x}}": `{{x}}` stands behind `source`, which runs the file as code (byte 7); write the name of a script
            find . -exec {{x}} \;
                failed to read the command "find . -exec {{x}} \\;": `{{x}}` stands in the place of the program (byte 13); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            find . -exec sh -c '{{x}}' \; -execdir p \;
                failed to read the command "find . -exec sh -c '{{x}}' \\; -execdir p \\;": `{{x}}` stands in the code that `sh` runs (byte 20); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            find . -exec p \; -exec sh -c {{x}} \;
                failed to read the command "find . -exec p \\; -exec sh -c {{x}} \\;": `{{x}}` stands in the code that `sh` runs (byte 30); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            xargs -n 1 sh -c {{x}}
                failed to read the command "xargs -n 1 sh -c {{x}}": `{{x}}` stands in the code that `sh` runs (byte 17); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            timeout 5 {{x}}
                failed to read the command "timeout 5 {{x}}": `{{x}}` stands in the place of the program (byte 10); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            timeout -k 1 5 sh -c {{x}}
                failed to read the command "timeout -k 1 5 sh -c {{x}}": `{{x}}` stands in the code that `sh` runs (byte 21); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            sudo -u ada {{x}}
                failed to read the command "sudo -u ada {{x}}": `{{x}}` stands in the place of the program (byte 12); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            nice -n 5 nohup {{x}}
                failed to read the command "nice -n 5 nohup {{x}}": `{{x}}` stands in the place of the program (byte 16); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            exec {{x}}
                failed to read the command "exec {{x}}": `{{x}}` stands in the place of the program (byte 5); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            env -S {{x}}
                failed to read the command "env -S {{x}}": `{{x}}` stands where `env -S` takes it apart (byte 7); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            busybox sh -c {{x}}
                failed to read the command "busybox sh -c {{x}}": `{{x}}` stands in the code that `sh` runs (byte 14); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            su ada -c {{x}}
                failed to read the command "su ada -c {{x}}": `{{x}}` stands in the code that `su` runs (byte 10); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            flock f -c {{x}}
                failed to read the command "flock f -c {{x}}": `{{x}}` stands behind `-c`, which runs it as code (byte 11); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            watch {{x}}
                failed to read the command "watch {{x}}": `{{x}}` stands behind `watch`, which runs it as code (byte 6); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            [[ {{x}} -eq 1 ]]
                failed to read the command "[[ {{x}} -eq 1 ]]": `{{x}}` stands within `[[`, where some shells calculate (byte 3); use `[`
            for {{x}} in a
                failed to read the command "for {{x}} in a": `{{x}}` stands where a variable is named (byte 4); write a name of your own
            read {{x}}
                failed to read the command "read {{x}}": `{{x}}` stands behind `read`, where a variable is named (byte 5); write a name of your own
            export {{x}}
                failed to read the command "export {{x}}": `{{x}}` stands behind `export`, where a variable is named (byte 7); write a name of your own
            p $((1 + {{x}}))
                failed to read the command "p $((1 + {{x}}))": `{{x}}` stands within `$((…))` (byte 9); set a variable in `sh -c '…' _ {{name}}`, where the value is "$1"
            p ${HOME:-{{x}}}
                failed to read the command "p ${HOME:-{{x}}}": `{{x}}` stands within `${…}` (byte 10); set a variable in `sh -c '…' _ {{name}}`, where the value is "$1"
            p >& {{x}}
                failed to read the command "p >& {{x}}": `{{x}}` stands where a stream is named (byte 5); write the number of the stream, as in `2>&1`
            python3.12 -Ic {{x}}
                failed to read the command "python3.12 -Ic {{x}}": `{{x}}` stands in the code that `python3.12` runs (byte 15); hand the value over as an argument, as in `python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
        "#]],
    );
}

#[test]
fn allowed_beside_code() {
    check(
        &[
            r#"sh -c 'p "$1"' _ {{x}}"#,
            r#"sh -ec 'p "$1"' -- {{y}}"#,
            r#"python3 -c 'import sys' {{x}}"#,
            r#"python3 -m json.tool {{x}}"#,
            r#"perl -ne 'print' {{x}}"#,
            r#"awk -v a={{x}} '{print $1}' {{x}}"#,
            r#"awk -f prog.awk {{x}}"#,
            r#"find {{x}} -name {{x}} -exec grep -l {{x}} '{}' \;"#,
            r#"env A={{x}} p {{x}}"#,
            r#"timeout {{n}} p {{x}}"#,
            r#"grep -e {{x}} -c f"#,
            r#"node script.js -e {{x}}"#,
            r#"sh script.sh {{x}}"#,
            r#"xargs -I{} p {} {{x}}"#,
            r#"sudo -u {{x}} p"#,
        ],
        expect![[r#"
            sh -c 'p "$1"' _ {{x}}
                "sh"
                "-c"
                "p \"$1\""
                "_"
                "X Y"
            sh -ec 'p "$1"' -- {{y}}
                "sh"
                "-ec"
                "p \"$1\""
                "--"
                "-y"
            python3 -c 'import sys' {{x}}
                "python3"
                "-c"
                "import sys"
                "X Y"
            python3 -m json.tool {{x}}
                "python3"
                "-m"
                "json.tool"
                "X Y"
            perl -ne 'print' {{x}}
                "perl"
                "-ne"
                "print"
                "X Y"
            awk -v a={{x}} '{print $1}' {{x}}
                "awk"
                "-v"
                "a=X Y"
                "{print $1}"
                "X Y"
            awk -f prog.awk {{x}}
                "awk"
                "-f"
                "prog.awk"
                "X Y"
            find {{x}} -name {{x}} -exec grep -l {{x}} '{}' \;
                "find"
                "X Y"
                "-name"
                "X Y"
                "-exec"
                "grep"
                "-l"
                "X Y"
                "{}"
                ";"
            env A={{x}} p {{x}}
                "env"
                "A=X Y"
                "p"
                "X Y"
            timeout {{n}} p {{x}}
                "timeout"
                "5"
                "p"
                "X Y"
            grep -e {{x}} -c f
                "grep"
                "-e"
                "X Y"
                "-c"
                "f"
            node script.js -e {{x}}
                "node"
                "script.js"
                "-e"
                "X Y"
            sh script.sh {{x}}
                "sh"
                "script.sh"
                "X Y"
            xargs -I{} p {} {{x}}
                "sh"
                "-c"
                "xargs -I{} p {} \"${1}\""
                "sh"
                "X Y"
            sudo -u {{x}} p
                "sudo"
                "-u"
                "X Y"
                "p"
        "#]],
    );
}

#[test]
fn refused_as_unreadable() {
    check(
        &[
            r#"p 'a"#,
            r#"p "a"#,
            r#"p 'a""#,
            r#"p $(q"#,
            r#"p ${a"#,
            r#"p $((1"#,
            r#"p ("#,
            r#"p )"#,
            r#"p $'a'"#,
            r#"p $"a""#,
            r#"p ${{x}}"#,
            r#"p \{{x}}"#,
            r#"p "\{{x}}""#,
            r#"p <<E
{{x}}
E"#,
            r#"p <<<a"#,
            r#"case {{x}} in a) p
esac"#,
            r#"f() { p {{x}}
}"#,
            r#"function f { p {{x}}
}"#,
            r#"p $1 {{x}}"#,
            r#"p "$@" {{x}}"#,
            r#"p ${1:-a} {{x}}"#,
            r#"p ${#} {{x}}"#,
            r#"p ${HOME:-$2} {{x}}"#,
            r#"set -- a
p {{x}}"#,
            r#"shift
p {{x}}"#,
            r#"p # {{x}}"#,
            r#"p a\
b"#,
            r#"p &\
& q"#,
            r#"p $((q) {{x}})"#,
            r#"p "${a:-'b'}""#,
            r#"((1))"#,
            r#""#,
            r#"  
"#,
            r#"# note"#,
            r#"''"#,
        ],
        expect![[r##"
            p 'a
                failed to read the command "p 'a": `'` is not closed (byte 2)
            p "a
                failed to read the command "p \"a": `"` is not closed (byte 2)
            p 'a"
                failed to read the command "p 'a\"": `'` is not closed (byte 2)
            p $(q
                failed to read the command "p $(q": `$(` is not closed (byte 2)
            p ${a
                failed to read the command "p ${a": `${` is not closed (byte 2)
            p $((1
                failed to read the command "p $((1": `$((` is not closed (byte 2)
            p (
                failed to read the command "p (": `(` is not closed (byte 2)
            p )
                failed to read the command "p )": `)` closes nothing (byte 2); quote it if the program is to see it; the patterns of `case` belong in a script, as `;;` ends its branches
            p $'a'
                failed to read the command "p $'a'": `$` in front of a quote means something else in each shell (byte 2); write the characters themselves within the quotes; `\$` is a dollar
            p $"a"
                failed to read the command "p $\"a\"": `$` in front of a quote means something else in each shell (byte 2); write the characters themselves within the quotes; `\$` is a dollar
            p ${{x}}
                failed to read the command "p ${{x}}": `${{x}}` is no placeholder (byte 2); write `{{x}}`; for a dollar in front of it, `'$'{{x}}`
            p \{{x}}
                failed to read the command "p \\{{x}}": a backslash in front of `{{x}}` (byte 2); remove it; `\\` is a backslash, and `'{''{'` are two braces
            p "\{{x}}"
                failed to read the command "p \"\\{{x}}\"": a backslash in front of `{{x}}` (byte 3); remove it; `\\` is a backslash, and `'{''{'` are two braces
            p <<E
            {{x}}
            E
                failed to read the command "p <<E\n{{x}}\nE": a template has no here-documents (byte 2); keep the text in a file of the plugin, or print it with `printf`
            p <<<a
                failed to read the command "p <<<a": a template has no here-documents (byte 2); keep the text in a file of the plugin, or print it with `printf`
            case {{x}} in a) p
            esac
                failed to read the command "case {{x}} in a) p\nesac": `)` closes nothing (byte 15); quote it if the program is to see it; the patterns of `case` belong in a script, as `;;` ends its branches
            f() { p {{x}}
            }
                failed to read the command "f() { p {{x}}\n}": a function or a list in parentheses changes what `$1` means, which is where values travel (byte 1); write a script, or `sh -c '…' _ {{name}}`
            function f { p {{x}}
            }
                failed to read the command "function f { p {{x}}\n}": a function changes what `$1` means, which is where values travel (byte 0); write a script, or `sh -c '…' _ {{name}}`
            p $1 {{x}}
                failed to read the command "p $1 {{x}}": `$1` is where values travel to the shell (byte 2); write `{{name}}` where the value belongs
            p "$@" {{x}}
                failed to read the command "p \"$@\" {{x}}": `$@` is where values travel to the shell (byte 3); write `{{name}}` where the value belongs
            p ${1:-a} {{x}}
                failed to read the command "p ${1:-a} {{x}}": `${1:-a}` is where values travel to the shell (byte 2); write `{{name}}` where the value belongs
            p ${#} {{x}}
                failed to read the command "p ${#} {{x}}": `${#}` is where values travel to the shell (byte 2); write `{{name}}` where the value belongs
            p ${HOME:-$2} {{x}}
                failed to read the command "p ${HOME:-$2} {{x}}": `$2` is where values travel to the shell (byte 10); write `{{name}}` where the value belongs
            set -- a
            p {{x}}
                failed to read the command "set -- a\np {{x}}": `set` changes what `$1` means, which is where values travel (byte 0); write a script, or `sh -c '…' _ {{name}}`
            shift
            p {{x}}
                failed to read the command "shift\np {{x}}": `shift` changes what `$1` means, which is where values travel (byte 0); write a script, or `sh -c '…' _ {{name}}`
            p # {{x}}
                failed to read the command "p # {{x}}": `{{x}}` stands in a comment, which nobody reads (byte 4); quote the `#` if the program is to see it
            p a\
            b
                failed to read the command "p a\\\nb": the line is continued in the middle of a word (byte 3); put a blank in front of the backslash, or join the lines
            p &\
            & q
                failed to read the command "p &\\\n& q": the line is continued in the middle of a word (byte 3); put a blank in front of the backslash, or join the lines
            p $((q) {{x}})
                failed to read the command "p $((q) {{x}})": `$((` begins a calculation, and this one ends as a command does (byte 2); put a blank between the parentheses
            p "${a:-'b'}"
                failed to read the command "p \"${a:-'b'}\"": quotes or expansions within `${…}` are not read here (byte 8); write it in a script, or in `sh -c '…' _ {{name}}`, where the value is "$1"
            ((1))
                failed to read the command "((1))": `((` means something else in each shell (byte 0)

                failed to read the command "": the command names no program (byte 0); write the command line that runs, such as `git -C {{path}} status`
  

                failed to read the command "  \n": the command names no program (byte 0); write the command line that runs, such as `git -C {{path}} status`
            # note
                failed to read the command "# note": the command names no program (byte 0); write the command line that runs, such as `git -C {{path}} status`
            ''
                failed to read the command "''": the command names no program (byte 0); write the command line that runs, such as `git -C {{path}} status`
        "##]],
    );
}

#[test]
fn positional_parameters_of_a_template_without_placeholders_are_its_own() {
    check(
        &["set -- a\np \"$1\"", "f() { p\n}", "p $# $1"],
        expect![[r#"
        set -- a
        p "$1"
            "sh"
            "-c"
            "set -- a\np \"$1\""
            "sh"
        f() { p
        }
            "sh"
            "-c"
            "f() { p\n}"
            "sh"
        p $# $1
            "sh"
            "-c"
            "p $# $1"
            "sh"
    "#]],
    );
}

/// What a call gets for these values, of which the first is that of `x`.
#[track_caller]
fn check_values(command: &str, property: Value, values: &[Value], expect: Expect) {
    let schema = json!({"type": "object", "properties": {"x": property, "y": {}}});
    let def = ToolDef::template("t", command, schema).expect("a template");
    let each = values.iter().map(|input| {
        let shown = Host::new().words(def.clone(), input.clone());
        format!("{input}\n{}", shown.lines().map(|it| format!("    {it}\n")).collect::<String>())
    });
    expect.assert_eq(&each.collect::<String>());
}

#[test]
fn values_that_look_like_options() {
    let values = [
        json!({"x": "-rf"}),
        json!({"x": "-"}),
        json!({"x": "--"}),
        json!({"x": ""}),
        json!({"x": -5}),
        json!({"x": "-5"}),
        json!({"x": "", "y": "-y"}),
        json!({"x": "-", "y": "y"}),
        json!({"x": "a", "y": "-y"}),
        json!({"x": ["-a"]}),
        json!({"x": format!("-{}", "v".repeat(100))}),
    ];
    check_values(
        "p {{x}}{{y}}",
        json!({}),
        &values,
        expect![[r#"
        {"x":"-rf"}
            "p"
        {"x":"-"}
            "p"
        {"x":"--"}
            "p"
        {"x":""}
            "p"
        {"x":-5}
            "p"
        {"x":"-5"}
            "p"
        {"x":"","y":"-y"}
            ! invalid input: /y: begins with `-`, so the program could take it for an option: "-y"; for a file, write ./ in front
        {"x":"-","y":"y"}
            ! invalid input: /x: begins with `-`, so the program could take it for an option: "-"; for a file, write ./ in front
        {"x":"a","y":"-y"}
            "p"
            "a-y"
        {"x":["-a"]}
            "p"
        {"x":"-vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"}
            "p"
    "#]],
    );
    check_values(
        "p a{{x}} --b={{x}} -- {{x}}",
        json!({}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            "p"
            "a-rf"
            "--b=-rf"
            "--"
            "-rf"
    "#]],
    );
    check_values(
        "p \"{{x}}\" '{{y}}'",
        json!({}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
    "#]],
    );
    check_values(
        "p $HOME {{x}} > {{y}}",
        json!({}),
        &[json!({"x": "-x", "y": "-y"})],
        expect![[r#"
            {"x":"-x","y":"-y"}
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-x"; for a file, write ./ in front; /y: begins with `-`, so the program could take it for an option: "-y"; for a file, write ./ in front
        "#]],
    );
    check_values(
        "p $HOME{{x}}",
        json!({}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
    "#]],
    );
    check_values(
        "sudo -- p {{x}}",
        json!({}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"x-flyto-dash": true}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            "p"
            "-rf"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"x-flyto-dash": "yes"}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
    "#]],
    );
    let listed = [json!({"x": "-l"}), json!({"x": "-r"})];
    check_values(
        "p {{x}}",
        json!({"enum": ["-l", "-a"]}),
        &listed,
        expect![[r#"
        {"x":"-l"}
            "p"
            "-l"
        {"x":"-r"}
            ! invalid input: /x: begins with `-`, so the program could take it for an option: "-r"; for a file, write ./ in front
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"const": "-l"}),
        &listed,
        expect![[r#"
        {"x":"-l"}
            "p"
            "-l"
        {"x":"-r"}
            ! invalid input: /x: begins with `-`, so the program could take it for an option: "-r"; for a file, write ./ in front
    "#]],
    );
}

#[test]
fn values_that_are_no_texts() {
    check_values(
        "p {{x}}",
        json!({}),
        &[
            json!({"x": true}),
            json!({"x": null}),
            json!({"x": 1.5}),
            json!({"x": 18446744073709551615_u64}),
            json!({"x": {"b": [1, "a b"], "a": null}}),
            json!({"x": []}),
            json!({"x": "a\0b"}),
            json!({"x": ["a\0b"]}),
            json!([1]),
            json!("x"),
        ],
        expect![[r#"
            {"x":true}
                "p"
                "true"
            {"x":null}
                "p"
                "null"
            {"x":1.5}
                "p"
                "1.5"
            {"x":18446744073709551615}
                "p"
                "18446744073709551615"
            {"x":{"b":[1,"a b"],"a":null}}
                "p"
                "{\"b\":[1,\"a b\"],\"a\":null}"
            {"x":[]}
                "p"
                "[]"
            {"x":"a\u0000b"}
                ! invalid input: /x: holds a NUL character, which no argument can hold
            {"x":["a\u0000b"]}
                "p"
                "[\"a\\u0000b\"]"
            [1]
                ! invalid input: (root): expected an object
            "x"
                ! invalid input: (root): expected an object
        "#]],
    );
}

#[test]
fn values_that_are_missing() {
    let none = [json!({})];
    check_values(
        "p {{x}} a{{x}} $HOME",
        json!({}),
        &none,
        expect![[r#"
        {}
            "sh"
            "-c"
            "p   $HOME"
            "sh"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": "d e"}),
        &none,
        expect![[r#"
        {}
            "p"
            "d e"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": "-d"}),
        &none,
        expect![[r#"
        {}
            "p"
            "-d"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": {"a": 1}}),
        &none,
        expect![[r#"
        {}
            "p"
            "{\"a\":1}"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": null}),
        &none,
        expect![[r#"
        {}
            "p"
    "#]],
    );
    check_values(
        "p {{x}} {{other}}",
        json!({}),
        &[json!({"other": "o"})],
        expect![[r#"
        {"other":"o"}
            "p"
            "o"
    "#]],
    );
    // Without the word, the next one would be taken for the program, for code or for a file.
    check_values(
        "env -u {{x}} p {{y}}",
        json!({}),
        &[json!({"y": "y"})],
        expect![[r#"
        {"y":"y"}
            ! invalid input: /x: is missing, and the command needs a word in its place
    "#]],
    );
    check_values(
        "awk -F {{x}} '{print}' {{y}}",
        json!({}),
        &[json!({"y": "y"})],
        expect![[r#"
        {"y":"y"}
            ! invalid input: /x: is missing, and the command needs a word in its place
    "#]],
    );
    check_values(
        "p > {{x}}",
        json!({}),
        &none,
        expect![[r#"
        {}
            ! invalid input: /x: is missing, and the command needs a word in its place
    "#]],
    );

    let schema = json!({
        "type": "object",
        "properties": {"a/b": {"$ref": "#/$defs/d"}, "c": {"$ref": "#/$defs/c"}},
        "required": ["a/b"],
        "$defs": {"d": {"type": "string"}, "c": {"$ref": "#/$defs/e"}, "e": {"default": "from afar"}}
    });
    let def = ToolDef::template("t", "p {{a/b}} {{c}}", schema).expect("a template");
    expect![[r#"
        ! invalid input: /a~1b: is required
    "#]]
    .assert_eq(&Host::new().words(def.clone(), json!({})));
    expect![[r#"
        "p"
        "1"
        "from afar"
    "#]]
    .assert_eq(&Host::new().words(def, json!({"a/b": 1})));
}
