//! Texts that are no rules: what the error says, and what to write.

use expect_test::{Expect, expect};
use flyto_permission::{Layer, Place, Rules, Verdict};

#[track_caller]
fn check_error(texts: &[&str], expected: Expect) {
    let shown: Vec<String> = texts
        .iter()
        .map(|text| {
            match Rules::builder().add(Layer::Operator, Verdict::Allow, text, Place::default()) {
                Ok(()) => format!("{text}: a rule"),
                Err(err) => format!("{err} [{:?}]", err.span),
            }
        })
        .collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn errors_say_what_to_write() {
    check_error(
        &[
            "",
            " Bash",
            "Bash(git diff *)",
            "Bash(git*)",
            "Bash(git * diff)",
            "Bash(git; ls)",
            "Bash(git diff",
            "BASH",
            "bash",
            "bash(ls)",
            "Grep(x)",
            "git diff",
            "*",
            "*:x",
            "p:a*b",
            "p:",
            "class:",
            "class:Bash",
            "class:read\u{200b}only",
            "p:a\u{200b}",
            "Read(../x)",
            "Read({a,b})",
            "Read(~bob/x)",
            "Read(/)",
            "WebFetch(example.org)",
            "WebFetch(https://example.org/x)",
            "WebFetch(domain:https://a.org)",
            "WebFetch(domain:*.1.2.3.4)",
            "WebFetch(domain:a.*.org)",
            "mcp__db__get(x)",
            "Bash(:*)",
            "Bash('a)",
            "Bash(r?:*)",
            "Bash(ls [ab])",
            "Bash({rm,ls} x)",
            "Bash(rm\u{a0}-rf:*)",
            "Bash(rm\u{200b}:*)",
            "Bash([ -f x ])",
            "Bash([[ -f x ]])",
            "Bash(ls 'a?b' {})",
            "Read( a/** )",
            "Read(a/**:*)",
            "Read(!src/**)",
            "Read(file:///etc/**)",
            "Read(https://a.org/**)",
            "Read($HOME/x)",
            "Read(routes/$id.tsx)",
            "WebFetch(domain:.example.org)",
            "WebFetch(domain:a..org)",
        ],
        expect![[r#"
            failed to read the rule "": it is empty; write Bash(git diff:*) [0..0]
            failed to read the rule " Bash": there is a blank at an end; write Bash [0..5]
            failed to read the rule "Bash(git diff *)": words that follow are written as `:*`; write Bash(git diff:*) [14..15]
            failed to read the rule "Bash(git*)": words that follow are written as `:*`; write Bash(git:*) [8..9]
            failed to read the rule "Bash(git * diff)": a star stands only at the end, as `:*`; quote one that is meant [9..10]
            failed to read the rule "Bash(git; ls)": a rule names the words of one command, without operators of the shell [8..9]
            failed to read the rule "Bash(git diff": a bracket is not closed; write Bash(git diff) [4..13]
            failed to read the rule "BASH": a form of this name is written in another case; write Bash [0..4]
            bash: a rule
            failed to read the rule "bash(ls)": only Bash, Read, Edit, Write and WebFetch take brackets; write Bash(ls) [0..4]
            failed to read the rule "Grep(x)": only Bash, Read, Edit, Write and WebFetch take brackets [0..4]
            failed to read the rule "git diff": a name of a tool holds no blank; commands stand in Bash(…); write Bash(git diff:*) [0..8]
            failed to read the rule "*": a star cannot stand for an owner: name the plugin, the server or a class [0..1]
            failed to read the rule "*:x": a star cannot stand for an owner: name the plugin, the server or a class [0..3]
            failed to read the rule "p:a*b": a star stands only at the end of a name [0..5]
            failed to read the rule "p:": a name is missing beside the colon [0..2]
            failed to read the rule "class:": a class is one name; write class:generic [6..6]
            failed to read the rule "class:Bash": a class of this name is written in small letters; write class:bash [6..10]
            failed to read the rule "class:read\u{200b}only": a class is one name, without characters that are not seen [6..17]
            failed to read the rule "p:a\u{200b}": no tool can have this name: it is too long, or holds a character that is not seen [0..6]
            failed to read the rule "Read(../x)": `..` cannot be part of a pattern [5..7]
            failed to read the rule "Read({a,b})": braces are not read: write one rule for each case [5..6]
            failed to read the rule "Read(~bob/x)": `~` stands for your own home directory only [5..6]
            failed to read the rule "Read(/)": the pattern names nothing below the root: write `/**` [5..6]
            failed to read the rule "WebFetch(example.org)": hosts are named as `domain:`; write WebFetch(domain:example.org) [9..20]
            failed to read the rule "WebFetch(https://example.org/x)": hosts are named as `domain:`; write WebFetch(domain:example.org) [9..30]
            failed to read the rule "WebFetch(domain:https://a.org)": this is no name of a host; write WebFetch(domain:a.org) [9..29]
            failed to read the rule "WebFetch(domain:*.1.2.3.4)": an IP address has no hosts below it [9..25]
            failed to read the rule "WebFetch(domain:a.*.org)": this is no name of a host [9..23]
            failed to read the rule "mcp__db__get(x)": only Bash, Read, Edit, Write and WebFetch take brackets; write mcp__db__get [0..12]
            failed to read the rule "Bash(:*)": a command is missing; write Bash [5..7]
            failed to read the rule "Bash('a)": a quote is not closed [5..6]
            failed to read the rule "Bash(r?:*)": a rule holds no wildcard; quote one that is meant [6..7]
            failed to read the rule "Bash(ls [ab])": a rule holds no wildcard; quote one that is meant [8..9]
            failed to read the rule "Bash({rm,ls} x)": braces are not read: write one rule for each case [5..6]
            failed to read the rule "Bash(rm\u{a0}-rf:*)": a character that is not seen, or a blank of another kind [7..8]
            failed to read the rule "Bash(rm\u{200b}:*)": a character that is not seen, or a blank of another kind [7..8]
            Bash([ -f x ]): a rule
            Bash([[ -f x ]]): a rule
            Bash(ls 'a?b' {}): a rule
            failed to read the rule "Read( a/** )": there is a blank at an end of the pattern; write Read(a/**) [5..11]
            failed to read the rule "Read(a/**:*)": `:*` stands behind words of commands; write Read(a/**) [9..11]
            failed to read the rule "Read(!src/**)": a pattern excludes nothing; a name that begins so is written as `./!…` [5..6]
            failed to read the rule "Read(file:///etc/**)": a pattern is a path and no address; write Read(/etc/**) [5..11]
            failed to read the rule "Read(https://a.org/**)": a pattern is a path and no address [5..12]
            failed to read the rule "Read($HOME/x)": a pattern holds no variable; write Read(~/x) [5..10]
            Read(routes/$id.tsx): a rule
            failed to read the rule "WebFetch(domain:.example.org)": this is no name of a host; write WebFetch(domain:*.example.org) [9..28]
            failed to read the rule "WebFetch(domain:a..org)": this is no name of a host [9..22]"#]],
    );
}
