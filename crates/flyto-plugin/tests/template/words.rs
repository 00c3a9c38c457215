//! Texts and the words that come of them.

use expect_test::expect;

use crate::check;

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
                "flyto_value_1=${1}; set --; p $HOME \"${flyto_value_1}\" \"${flyto_value_1}\" ''\"${flyto_value_1}\"'' --t=\"${flyto_value_1}\" \"a${flyto_value_1}b\" 'c'\"${flyto_value_1}\"'d'"
                "sh"
                "X Y"
            p *.{{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p *.\"${flyto_value_1}\""
                "sh"
                "X Y"
            p > {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p > \"${flyto_value_1}\""
                "sh"
                "X Y"
            p 2>&1 {{z}} {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p 2>&1  \"${flyto_value_1}\""
                "sh"
                "X Y"
            p & q {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p & q \"${flyto_value_1}\""
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
                failed to read the command "A={{x}} p": `{{x}}` stands in an assignment to a variable of the shell (byte 2); set the variable under "env" in the manifest, or hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            cd {{x}}
            p {{y}}
                "sh"
                "-c"
                "flyto_value_1=${1}; flyto_value_2=${2}; set --; cd \"${flyto_value_1}\"\np \"${flyto_value_2}\""
                "sh"
                "X Y"
                "-y"
            if p {{x}}
            then q {{y}}
            fi
                "sh"
                "-c"
                "flyto_value_1=${1}; flyto_value_2=${2}; set --; if p \"${flyto_value_1}\"\nthen q \"${flyto_value_2}\"\nfi"
                "sh"
                "X Y"
                "-y"
            for f in {{x}} {{z}}
            do p "$f"
            done
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; for f in \"${flyto_value_1}\" \ndo p \"$f\"\ndone"
                "sh"
                "X Y"
            p "$(q {{x}} {{z}})" $(q '{{x}}')
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p \"$(q \"${flyto_value_1}\" )\" $(q ''\"${flyto_value_1}\"'')"
                "sh"
                "X Y"
            p $((1 + 2)) ${HOME:-x} {{x}} # note
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p $((1 + 2)) ${HOME:-x} \"${flyto_value_1}\" # note"
                "sh"
                "X Y"
            ( p {{x}} )
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; ( p \"${flyto_value_1}\" )"
                "sh"
                "X Y"
            p [ab]? {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; p [ab]? \"${flyto_value_1}\""
                "sh"
                "X Y"
            export A={{x}}
            p
                failed to read the command "export A={{x}}\np": `{{x}}` stands in an assignment that `export` makes (byte 9); set the variable under "env" in the manifest, or hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            set -eu -o noglob
            p {{x}}
                "sh"
                "-c"
                "flyto_value_1=${1}; set --; set -eu -o noglob\np \"${flyto_value_1}\""
                "sh"
                "X Y"
            p {{x}} {{y}} {{n}} {{x}} $HOME
                "sh"
                "-c"
                "flyto_value_1=${1}; flyto_value_2=${2}; flyto_value_3=${3}; set --; p \"${flyto_value_1}\" \"${flyto_value_2}\" \"${flyto_value_3}\" \"${flyto_value_1}\" $HOME"
                "sh"
                "X Y"
                "-y"
                "5"
            command -v {{x}}
                failed to read the command "command -v {{x}}": `{{x}}` stands in the place of the program (byte 11); write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
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

#[test]
fn a_line_continued_within_quotes_behind_a_value() {
    assert_eq!(crate::shown("p \"{{x}} \\\ny\""), "\"p\"\n\"X Y y\"\n");
}
