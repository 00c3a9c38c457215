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
