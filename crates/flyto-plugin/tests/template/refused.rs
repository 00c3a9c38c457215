//! Texts that are more than one command, or that cannot be read.

use expect_test::expect;

use crate::check;

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
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; f() { p \"${flyto_value_1}\"\n}"
                "sh"
                "X Y"
            function f { p {{x}}
            }
                failed to read the command "function f { p {{x}}\n}": `function` means something to some shells only, and a value stands in the text (byte 0); write `name() {`
            p $1 {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p $1 \"${flyto_value_1}\""
                "sh"
                "X Y"
            p "$@" {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p \"$@\" \"${flyto_value_1}\""
                "sh"
                "X Y"
            p ${1:-a} {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p ${1:-a} \"${flyto_value_1}\""
                "sh"
                "X Y"
            p ${#} {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p ${#} \"${flyto_value_1}\""
                "sh"
                "X Y"
            p ${HOME:-$2} {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p ${HOME:-$2} \"${flyto_value_1}\""
                "sh"
                "X Y"
            set -- a
            p {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; set -- a\np \"${flyto_value_1}\""
                "sh"
                "X Y"
            shift
            p {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; shift\np \"${flyto_value_1}\""
                "sh"
                "X Y"
            p # {{x}}
                failed to read the command "p # {{x}}": `{{x}}` stands in a comment, which is not run (byte 4); quote the `#` if the program is to see it
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
            # note
                failed to read the command "# note": the command names no program (byte 0); write the command line that runs, such as `git -C {{path}} status`
            ''
                failed to read the command "''": the command names no program (byte 0); write the command line that runs, such as `git -C {{path}} status`
        "##]],
    );
}
