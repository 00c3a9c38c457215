//! Values that would be run, and values beside code.

use expect_test::expect;

use flyto_plugin::ToolDef;
use serde_json::json;

use crate::{Host, check};

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
            r#"for {{x}} in a"#,
            r#"read {{x}}"#,
            r#"export {{x}}"#,
            r#"p $((1 + {{x}}))"#,
            r#"p ${HOME:-{{x}}}"#,
            r#"p >& {{x}}"#,
            r#"python3.12 -Ic {{x}}"#,
            r#"$SHELL -c {{x}}"#,
            r#""$HOME/bin/python3" -c {{x}}"#,
            r#"docker exec c sh -ec {{x}}"#,
            r#"uv run python -c {{x}}"#,
            r#"node --require mod -e {{x}}"#,
            r#"A=1 > f eval {{x}}"#,
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
                failed to read the command "awk {{x}} f": `{{x}}` stands in the code that `awk` runs (byte 4); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1]; ARGV[1] = "" } …' {{x}} FILE`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            awk -F: -v a={{x}} '{print {{y}}}' f
                failed to read the command "awk -F: -v a={{x}} '{print {{y}}}' f": `{{y}}` stands in the code that `awk` runs (byte 27); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1]; ARGV[1] = "" } …' {{y}} FILE`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{y}}`, where it is "$1"
            gawk -F , -- {{x}}
                failed to read the command "gawk -F , -- {{x}}": `{{x}}` stands in the code that `gawk` runs (byte 13); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1]; ARGV[1] = "" } …' {{x}} FILE`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            gawk -e {{x}}
                failed to read the command "gawk -e {{x}}": `{{x}}` stands in the code that `gawk` runs (byte 8); hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1]; ARGV[1] = "" } …' {{x}} FILE`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            eval {{x}}
                failed to read the command "eval {{x}}": `{{x}}` stands in the code that `eval` runs (byte 5); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            eval p '{{x}}'
                failed to read the command "eval p '{{x}}'": `{{x}}` stands in the code that `eval` runs (byte 8); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            trap {{x}} EXIT
                failed to read the command "trap {{x}} EXIT": `{{x}}` stands in the code that `trap` runs (byte 5); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            . {{x}}
                failed to read the command ". {{x}}": `{{x}}` stands in the place of the program (byte 2); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            source {{x}}
                failed to read the command "source {{x}}": `{{x}}` stands in the place of the program (byte 7); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            find . -exec {{x}} \;
                failed to read the command "find . -exec {{x}} \\;": `{{x}}` stands in the code that `find` runs (byte 13); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
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
                failed to read the command "env -S {{x}}": `{{x}}` stands in the code that `env` runs (byte 7); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            busybox sh -c {{x}}
                failed to read the command "busybox sh -c {{x}}": `{{x}}` stands in the code that `sh` runs (byte 14); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            su ada -c {{x}}
                failed to read the command "su ada -c {{x}}": `{{x}}` stands in the code that `su` runs (byte 10); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            flock f -c {{x}}
                failed to read the command "flock f -c {{x}}": `{{x}}` stands in the code that `flock` runs (byte 11); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            watch {{x}}
                failed to read the command "watch {{x}}": `{{x}}` stands in the code that `watch` runs (byte 6); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            for {{x}} in a
                failed to read the command "for {{x}} in a": `{{x}}` stands where a variable is named (byte 4); write a name of your own
            read {{x}}
                failed to read the command "read {{x}}": `{{x}}` stands where `read` takes the name of a variable (byte 5); write a name of your own
            export {{x}}
                failed to read the command "export {{x}}": `{{x}}` stands in an assignment that `export` makes (byte 7); set the variable under "env" in the manifest, or hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p $((1 + {{x}}))
                failed to read the command "p $((1 + {{x}}))": `{{x}}` stands within `$((…))` (byte 9); set a variable in `sh -c '…' _ {{name}}`, where the value is "$1"
            p ${HOME:-{{x}}}
                failed to read the command "p ${HOME:-{{x}}}": `{{x}}` stands within `${…}` (byte 10); set a variable in `sh -c '…' _ {{name}}`, where the value is "$1"
            p >& {{x}}
                failed to read the command "p >& {{x}}": `{{x}}` stands where a stream is named (byte 5); write the number of the stream, as in `2>&1`
            python3.12 -Ic {{x}}
                failed to read the command "python3.12 -Ic {{x}}": `{{x}}` stands in the code that `python3.12` runs (byte 15); hand the value over as an argument, as in `python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            $SHELL -c {{x}}
                failed to read the command "$SHELL -c {{x}}": `{{x}}` stands behind a word that may be empty, so that its value would be the program (byte 10); write the name of the program, or a part of its path, as in `"$DIR/p"`
            "$HOME/bin/python3" -c {{x}}
                failed to read the command "\"$HOME/bin/python3\" -c {{x}}": `{{x}}` stands in the code that `python3` runs (byte 23); hand the value over as an argument, as in `python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            docker exec c sh -ec {{x}}
                failed to read the command "docker exec c sh -ec {{x}}": `{{x}}` stands in the code that `sh` runs (byte 21); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            uv run python -c {{x}}
                failed to read the command "uv run python -c {{x}}": `{{x}}` stands in the code that `python` runs (byte 17); hand the value over as an argument, as in `python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            node --require mod -e {{x}}
                failed to read the command "node --require mod -e {{x}}": `{{x}}` stands in the code that `node` runs (byte 22); hand the value over as an argument, as in `node -e '…' -- {{x}}`, where it is `process.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            A=1 > f eval {{x}}
                failed to read the command "A=1 > f eval {{x}}": `{{x}}` stands in the code that `eval` runs (byte 13); hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
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
            r#"timeout {{n}} p {{x}}"#,
            r#"grep -e {{x}} -c f"#,
            r#"node script.js -e {{x}}"#,
            r#"sh script.sh {{x}}"#,
            r#"xargs -I{} p {} {{x}}"#,
            r#"sudo -u {{x}} p"#,
            r#"docker exec c sh -c 'p "$1"' _ {{x}}"#,
            r#""$PLUGIN_ROOT/p" -c {{x}}"#,
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
                "flyto_value_1=${1}; set --; xargs -I{} p {} \"${flyto_value_1}\""
                "sh"
                "X Y"
            sudo -u {{x}} p
                "sudo"
                "-u"
                "X Y"
                "p"
            docker exec c sh -c 'p "$1"' _ {{x}}
                "docker"
                "exec"
                "c"
                "sh"
                "-c"
                "p \"$1\""
                "_"
                "X Y"
            "$PLUGIN_ROOT/p" -c {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; \"$PLUGIN_ROOT/p\" -c \"${flyto_value_1}\""
                "sh"
                "X Y"
        "#]],
    );
}

#[test]
fn refused_as_scripts_options_and_programs() {
    check_refused(&[
        "sed -n -e {{x}} f",
        "sed 's/{{x}}/b/' f",
        "sed {{x}} f",
        "sed -ne{{x}} f",
        "sed f -e {{x}}",
        "sed --expr={{x}} f",
        "sed -{{x}} f",
        "sed -n -- {{x}} f",
        "env sed -i {{x}} f",
        "sh -{{x}} {{y}}",
        "sh +{{x}} {{y}}",
        "python3 -{{x}}",
        "node --{{x}}={{y}}",
        "node --{{x}} {{y}}",
        "node -p -e {{x}}",
        "perl -M{{x}} f",
        "awk -{{x}} f",
        "$0 -c {{x}}",
        "\"$@\" {{x}}",
        "\"${@}\" {{x}}",
        "\"$@\" \"{{x}}\"",
        "\"$@\" A={{x}} env",
        "\"$@\" $(p {{x}})",
        "exec \"$@\" {{x}}",
        "env \"$@\" {{x}}",
        "A=1 \"$@\" {{x}}",
        "! \"$@\" {{x}}",
        "\"${a[@]}\" {{x}}",
        "\"${@:1}\" {{x}}",
        "\"$@$*\" {{x}}",
        "\"$@\"'' {{x}}",
        "HOME=\n~ {{x}}",
        "$@env {{x}}",
        "\"$@\"sh -c {{x}}",
        "sh \"$@\" -c {{x}}",
        "sh $A -c {{x}}",
        "sh -c $A {{x}}",
        "sh -c \"$@\" {{x}}",
        "sh $(q {{y}}) -c {{x}}",
        "awk $A {{x}}",
        "eval $(q {{x}})",
        "timeout $A 5 {{x}}",
        "env -u $A B {{x}}",
        "env -u \"$@\" B sh -c {{x}}",
        "$NOTHING sh -c {{x}}",
        "$(which sh) -c {{x}}",
        "env $0 {{x}}",
        "pwsh -NoProfile -c {{x}}",
        "expect -c {{x}}",
        "git -c {{x}} status",
        "git -C d -c core.pager={{x}} log",
        "git --{{x}} log",
        "ssh host {{x}}",
        "ssh -p 22 host ls {{x}}",
        "ssh -o {{x}} host",
        "ssh -oProxyCommand={{x}} host",
        "su -c {{x}}",
        "su --comm={{x}}",
        "script -c {{x}}",
        "parallel {{x}}",
        "node -pe {{x}}",
        "env - {{x}}",
        "env -- A=1 {{x}}",
        "env - awk {{x}}",
        "timeout --sig KILL 5 {{x}}",
        "env --chd /tmp {{x}}",
        "env --split={{x}}",
        "xargs --delim x {{x}}",
        "flock --timeout 5 f {{x}}",
        "flock f --command {{x}}",
        "nice --adj 5 {{x}}",
        "unbuffer -p {{x}}",
        "choom -n 5 -- {{x}}",
        "choom --adjust 5 {{x}}",
        "numactl -N 0 {{x}}",
        "dbus-run-session -- {{x}}",
        "systemd-inhibit --why x {{x}}",
        "fakeroot -l x {{x}}",
        "linux32 {{x}}",
        "bwrap --ro-bind / / sh -c {{x}}",
        "entr -s {{x}}",
        "sg group -c {{x}}",
        "c+=d {{x}}",
    ]);
}

/// Bash calculates the index of `a[$(p)]` where it asks whether that is set.
#[test]
fn refused_where_test_takes_a_name() {
    check_refused(&[
        "[ -v {{x}} ]",
        "[ ! -v {{x}} ]",
        "[ a = a -a -v {{x}} ]",
        "[ {{y}} = a -o ! -v {{x}} ]",
        "test ! -R {{x}}",
        "test ! -v a[{{x}}]",
        "[ ! -{{x}} {{y}} ]",
    ]);
    let schema = json!({"type": "object", "properties": {"x": {}, "y": {}}});
    for command in ["[ ! -f {{x}} ]", "[ {{x}} = {{y}} ]", "test 1 -lt {{x}} -a -n {{y}}"] {
        ToolDef::template("t", command, schema.clone()).expect(command);
    }
}

#[test]
fn what_is_refused_has_words_of_its_own() {
    let schema = json!({"type": "object", "properties": {"x": {}}});
    let mut shown = String::new();
    for command in [
        "export V={{x}}",
        "unset {{x}}",
        "printf -v {{x}} a",
        "[ ! -v {{x}} ]",
        "sed -e {{x}} f",
        "git -c {{x}} log",
    ] {
        let err = ToolDef::template("t", command, schema.clone()).expect_err(command);
        shown += &format!("{err}\n");
    }
    expect![[r#"
        failed to read the command "export V={{x}}": `{{x}}` stands in an assignment that `export` makes (byte 9); set the variable under "env" in the manifest, or hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
        failed to read the command "unset {{x}}": `{{x}}` stands where `unset` takes the name of a variable (byte 6); write a name of your own
        failed to read the command "printf -v {{x}} a": `{{x}}` stands where `printf` takes the name of a variable (byte 10); write a name of your own
        failed to read the command "[ ! -v {{x}} ]": `{{x}}` stands where `[` takes the name of a variable (byte 7); write a name of your own
        failed to read the command "sed -e {{x}} f": `{{x}}` stands in the code that `sed` runs (byte 7); write the script itself; a value can be the file, as in `sed 's/a/b/' {{x}}`
        failed to read the command "git -c {{x}} log": `{{x}}` stands in a setting of `git`, and some of them run programs (byte 7); write the setting itself, as in `git -c core.pager=cat`
    "#]].assert_eq(&shown);
}

#[test]
fn refused_in_assignments() {
    check_refused(&[
        "PATH={{x}} p",
        "LD_PRELOAD={{x}} p",
        "DYLD_INSERT_LIBRARIES={{x}} p",
        "BASH_ENV={{x}} p",
        "ENV={{x}} p",
        "IFS={{x}} p",
        "SHELLOPTS={{x}} p",
        "PS4={{x}} p",
        "PYTHONPATH={{x}} p",
        "PERL5OPT={{x}} p",
        "NODE_OPTIONS={{x}} p",
        "RUBYOPT={{x}} p",
        "GIT_SSH_COMMAND={{x}} p",
        "PROMPT_COMMAND={{x}} p",
        "EDITOR={{x}} p",
        "env PATH=/bin:{{x}} p",
        "env 'PATH={{x}}' p",
        "sudo LD_PRELOAD={{x}} p",
        "export PATH={{x}}",
        "export 'PATH={{x}}'",
    ]);
}

/// Each is refused, and says that a value would be run.
#[track_caller]
pub(crate) fn check_refused(commands: &[&str]) {
    let schema = json!({"type": "object", "properties": {"x": {}, "y": {}}});
    for command in commands {
        let err = ToolDef::template("t", command, schema.clone()).expect_err(command);
        assert!(err.code().as_str() == "F0151" && err.help().is_some(), "{command}: {err}");
    }
}

#[test]
fn scripts_and_variables_of_the_author() {
    let commands = [
        "sed -n -f {{x}} {{y}}",
        "sed -n 1p {{x}}",
        "sed -e p -- {{x}}",
        "sed -i.bak p {{x}}",
        "sed --file={{x}} f",
        "git -C {{x}} log --grep={{y}} -- {{x}}",
        "git commit -c {{x}}",
        "git log -n{{x}}",
        "git rev-parse {{x}}",
        "ssh -p {{x}} host ls",
        "ssh {{x}} ls",
        "make -C {{x}}",
        "python3 {{x}} {{y}}",
        "python3 -W{{x}} f.py",
        "node --max-old-space-size={{x}} f.js",
        "\"$HOME/bin/p\" {{x}}",
        "~/bin/p {{x}}",
        "/opt/*/bin/p {{x}}",
        "'/opt/p?' {{x}}",
        "timeout \"$T\" p {{x}}",
        "awk \"$PROGRAM\" {{x}}",
        "python3 $A f.py {{x}}",
    ];
    let schema = json!({"type": "object", "properties": {"x": {}, "y": {}}});
    for command in commands {
        if let Err(err) = ToolDef::template("t", command, schema.clone()) {
            panic!("{err}");
        }
    }
}

/// Where an option of an interpreter may stand, no value moves up into the place of another.
#[test]
fn words_of_interpreters_are_not_left_out() {
    let schema = json!({"type": "object", "properties": {
        "x": {"enum": ["-c", "+c", "f"]},
        "y": {"x-flyto-dash": true},
    }});
    let def = ToolDef::template("t", "sh {{x}} -c {{y}}", schema).expect("a template");
    let shown = Host::new().words(def, json!({"y": "code"}));
    assert!(shown.contains("the command needs a word in its place"), "{shown}");
}

/// A `--` that is a value lets nothing pass.
#[test]
fn dashes_that_end_no_options() {
    let schema = json!({"type": "object", "properties": {"x": {}}});
    for (command, refused) in [
        ("sh -c 'p \"$1\"' -- {{x}}", true),
        ("grep -e -- {{x}} f", true),
        ("grep -r -- {{x}} f", false),
        ("git log -- {{x}}", false),
    ] {
        let def = ToolDef::template("t", command, schema.clone()).expect("a template");
        let shown = Host::new().words(def, json!({"x": "-rf"}));
        assert_eq!(shown.contains("begins with `-`"), refused, "{command}: {shown}");
    }
}
