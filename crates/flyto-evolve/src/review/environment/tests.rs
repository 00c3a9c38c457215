use super::*;

#[track_caller]
fn check(text: &str, names: &str) {
    let found: Vec<String> = names_read(text).into_iter().collect();
    assert_eq!(found.join(" "), names, "{text}");
}

#[test]
fn what_a_script_has_certainly_set_is_not_read() {
    check("A=1\necho \"$A\" \"${A}\"", "");
    check("#!/bin/bash\nset -eu\nA=$(date -u); B='x y'\nC=\"$A/${B:-z}\"\necho $A $B $C", "");
    check("echo hi | wc\nA=$(mktemp)\nif [[ -n $A && ( a < b ) ]]; then echo \"$A\"; fi", "");
    check("list=(a \"b c\")\nfor f in \"${list[@]}\"; do echo \"$f\"; done", "");
    check("while IFS= read -r line; do echo \"$line\"; done < f", "");
    check("f() {\n  echo \"$1\"\n}\nA=$(f x)\necho $A > \"$A\"", "");
}

#[test]
fn an_assignment_hides_no_read() {
    let uses = "curl -d \"$T\" x";
    for before in [
        "T=\"${T:-x}\"; ",
        "T=$T; ",
        "T+=x; ",
        "T=a T=\"$T\"; ",
        "export T; ",
        "export T\n",
        "readonly T\nT=\n",
        "declare -r T\nT=\n",
        "builtin readonly T\nT=\n",
        "R=readonly\n$R T\nT=\n",
        "{readonly,T}\nT=\n",
        "eval 'readonly T'\nT=\n",
        ". ./lib\nT=\n",
        "if false; then T=; fi; ",
        "if false\nthen\nT=\nfi\n",
        "[[ a == fi ]]\nif false; then\nT=\nfi\n",
        "false && T=\n",
        "false &&\nT=\n",
        "true || T=; ",
        "T= | cat\n",
        "T= &\n",
        "T=1 && true & ",
        "T=1 || true & ",
        "T=1 && true |\ncat && true &\n",
        "T=1 &&\n{ true; true & } &\n",
        "T=1 && if true; then true; fi &\n",
        "T=1 && true | cat || (true) & wait\n",
        "! T=1 && true &\n",
        ">f readonly T\nT=\n",
        "2>f readonly T\nT=\n",
        "{fd}>f readonly T\nT=\n",
        "&>f readonly T\nT=\n",
        "read\\\nonly T\nT=\n",
        "trap 'readonly T' DEBUG\nT=\n",
        "S=DEBUG\ntrap 'readonly T' \"$S\"\nT=\n",
        "echo | T=\n",
        "(T=)\n",
        "{ false && T=; }\n",
        "f() { T=; }\n",
        "f() (\nT=\n)\n",
        "function f {\nT=\n}\n",
        "case a in\nb) T= ;;\nesac\n",
        "cat <<E\nT=\nE\n",
        "cat <<E\n\"\nE\nT=\n",
        "echo '\nT=\n'\n",
        "echo \"\nT=\n\"\n",
        "echo \"$(echo '\nT=\n')\"\n",
        "echo \\\nT=\n",
        "T= true\n",
        "T=$((1/0))\n",
        "A=$((1/0)) T=\n",
        "T=${A:1/0}\n",
        "T=${!A}\n",
        "echo $((1/0)); T=\n",
        "set $((1/0)); T=\n",
        "[r]eadonly T\nT=\n",
        "T= < /nonexistent\n",
        "for T in; do :; done\n",
        "while read T; true; do break; done\n",
        "while read -t 0 T; do break; done\n",
        "while false; do\nT=\ndone\n",
        "until true; do T=; done\n",
        "local T\n",
        "read T\n",
        "# T=\n",
        "`echo`\nT=\n",
    ] {
        let names = if before.contains("{A:") || before.contains("{!A") { "A T" } else { "T" };
        check(&format!("{before}{uses}"), names);
    }
    check("curl \"$T\"; T=", "T");
    check("for T in $T; do :; done", "T");
    check("while read -r T; do echo $T; done; echo $T", "T");
}

#[test]
fn a_list_that_does_not_end_in_the_background_sets_its_names() {
    check("T=1 && true; echo $T", "");
    check("T=1 ||\ntrue | cat\necho $T", "");
    check("T=1 && { sleep 1 & }; echo $T", "");
    check("T=1 && true && echo $T", "");
    check("T=1 && true && echo $T & wait", "T");
    check("sleep 1 &\nT=1\necho $T", "");
    check("trap 'rm -f \"$T\"' EXIT INT\nU=1\necho $U", "T");
}

#[test]
fn a_name_is_one_across_the_end_of_a_line() {
    check("echo \"$T\\\nOK\" ${T\\\nUX}", "TOK TUX");
    check("cat <<E\n$T\\\nOK\nE", "TOK");
    check("echo `echo \\$T\\\\\nOK`", "T TOK");
    check("echo '\\\n' # \\\necho $A", "A");
    check("cat <<'E'\n\\\nE\necho $A", "A");
    // Where a quote stays open, both are told.
    check("echo ' $T\\\nOK", "T TOK");
}

#[test]
fn names_in_code_of_jq_are_read() {
    for code in [
        "env.TOK",
        "'env|.TOK'",
        "'env | .TOK'",
        "'$ENV.TOK'",
        "'$ENV|.TOK'",
        "'env[\"TOK\"]'",
        "\"env[\\\"TOK\\\"]\"",
        "'env.\"TOK\"'",
        "'$ENV[\"TOK\"]'",
        "'env|.[\"TOK\"]'",
        "'[env.TOK]'",
        "'1-env.TOK'",
    ] {
        check(&format!("jq -nr {code}"), if code.contains("ENV") { "ENV TOK" } else { "TOK" });
    }
    check("jq '.env.TOK, .environment, .a | $env.X'", "env");
    check("cat my.env.local", "");
}

#[test]
fn any_text_is_looked_at() {
    for text in [
        "$",
        "${",
        "'",
        "\"",
        "$(",
        "a=(",
        "for",
        "for é in",
        "[[",
        "é=$é",
        "while",
        "do",
        "}",
        ")",
        "&",
        "a <",
        "$'\\",
        "a \r",
        "while \r",
    ] {
        names_read(text);
    }
}
