//! What must hold for every command line, rule and path.

#![cfg(feature = "bash")]

use flyto_permission::{ClassTrust, Layer, Place, Request, Rules, Verdict};
use flyto_tools::{Access, PermissionClass, Preview, ToolId};
use proptest::prelude::*;

fn rules(texts: &[(Verdict, &str)]) -> Rules {
    let mut res = Rules::builder();
    for (effect, text) in texts {
        res.add(Layer::Operator, *effect, text, Place::default()).expect("these are rules");
    }
    res.build()
}

fn verdict(rules: &Rules, line: &str) -> Verdict {
    let id = ToolId::parse("shell:run").expect("this is a name");
    let preview = Preview::new().with_command_line(["bash", "-c", line]);
    let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
    rules.decide(&request).verdict
}

/// Rules of every form.
const RULES: &[&str] = &[
    "Bash",
    "Bash(good:*)",
    "Bash(good)",
    "Bash(other:*)",
    "Bash(git push:*)",
    "Bash(cat:*)",
    "Read",
    "Read(s/**)",
    "Read(/r/**)",
    "Read(.env)",
    "Read(*.pem)",
    "Edit(s/**)",
    "Edit",
    "WebFetch",
    "WebFetch(domain:evil.org)",
    "WebFetch(domain:*.org)",
    "shell:*",
    "shell:run",
    "class:bash",
];

/// Places in which a command runs, as the hole of a text around an allowed command.
const POSITIONS: &[&str] = &[
    "good; {}",
    "{}; good",
    "good && {}",
    "{} || good",
    "good | {}",
    "{} | good",
    "good & {}",
    "good\n{}",
    "good $({})",
    "good \"$({})\"",
    "good `{}`",
    "good <({})",
    "good >({})",
    "good 2> >({})",
    "(good; {})",
    "{ {}; }",
    "! {}",
    "time {}",
    "if {}; then good; fi",
    "if good; then {}; fi",
    "if good; then good; else {}; fi",
    "while {}; do good; done",
    "until good; do {}; done",
    "for i in a; do {}; done",
    "for i in $({}); do good; done",
    "case a in a) {};; esac",
    "case $({}) in a) good;; esac",
    "f() { {}; }",
    "function f { {}; }",
    "good <<E\n$({})\nE",
    "good <<E\nx\nE\n{}",
    "good <<< $({})",
    "good ${v:-$({})}",
    "good \"${v:-`{}`}\"",
    "v=$({})",
    "v=$({}) good",
    "v=(a $({}))",
    "[[ -n $({}) ]]",
    "good > $({})",
    "env {}",
    "nice -n 3 {}",
    "timeout 5 {}",
    "nohup {}",
    "command {}",
    "exec {}",
    "xargs {}",
    "find . -exec {} \\;",
    "sh -c '{}'",
    "bash -lc \"{}\"",
    "eval '{}'",
    "eval {}",
    "watch '{}'",
    "ssh host '{}'",
    "sudo {}",
    "good # \n{}",
    "good \\\n; {}",
];

/// Constructs of bash that are not read exactly, beside or around a command. Those that start with `=` take one simple
/// command, which they put into quotes or a word.
const CONSTRUCTS: &[&str] = &[
    "((x++))\n{}",
    "((x[1] += 2, y = x)); {}",
    "for ((i=0;i<2;i++)); do {}; done",
    "for ((;;)) { {}; }",
    "declare -A m=([a]=1 [b c]=$(good)); {}",
    "declare -A m=([a]=$({}))",
    "m[x]=$({})",
    "m[$({})]=1",
    "m[2]=3; {}",
    "coproc {}",
    "coproc N { {}; }",
    ": $(( $({}) ))",
    ": $(( x + 1 )); {}",
    ": $[ x + 1 ]; {}",
    ": ${!x}; {}",
    ": ${!x@}; {}",
    ": ${x:i:2}; {}",
    ": ${x[$({})]}",
    ": ${PATH:=x}; {}",
    ": $\"x\"; {}",
    "[[ $x -gt 2 ]] && {}",
    "[[ $x =~ ^a ]] || {}",
    "let x=1; {}",
    "exec {fd}>/dev/null; {}",
    "for PATH in a; do {}; done",
    "local x=(1); {}",
    "printf -v x 1; {}",
    "shopt -s nullglob; {}",
    "set -k; {}",
    "alias a=b; {}",
    "read -a PATH; {}",
    "cd \"$x\" && {}",
    "eval \"$x\"; {}",
    "$x; {}",
    "=trap '{}' EXIT",
    "=echo '{}' | sh",
    "=sh <<E\n{}\nE\n",
    "=sh <<< '{}'",
    "=x='{}'; $x",
    "=GIT_PAGER='{}' git log",
    "=PS4='$({})'; set -x",
    "=find . -exec {} {} +",
    "=xargs -I% {} %",
    "=python3 -c '{}'",
];

/// Whether bash takes the text for a script. Without `/bin/bash` it does.
#[expect(clippy::disallowed_methods, reason = "bash is the measure here, and runs nothing with -n")]
fn is_bash(line: &str) -> bool {
    let bash = std::process::Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-n", "-c", line])
        .env_clear()
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    bash.is_ok_and(|it| it.success()) || !std::path::Path::new("/bin/bash").exists()
}

/// Ways to write one word.
fn spelled(word: &str, way: u8) -> String {
    let (first, rest) = word.split_at(1);
    match way {
        0 => word.to_owned(),
        1 => format!("'{first}'{rest}"),
        2 => format!("\\{word}"),
        3 => format!("{first}\"{rest}\""),
        4 => format!("$'\\x{:02x}'{rest}", first.as_bytes()[0]),
        _ => format!("{first}''{rest}"),
    }
}

/// Whether a quote ends early, so that the inner command is a word of the outer one and bash does
/// not run it: within quotes of its kind, but for `"$(…)"`, where they start anew, and behind
/// `eval`, which takes one layer off.
fn loses_quotes(positions: &[usize]) -> bool {
    let n_with = |text: &str| positions.iter().filter(|it| POSITIONS[**it].contains(text)).count();
    let n_quoted = n_with("\"") + n_with("'") + n_with("`");
    n_with("`") > 1
        || n_with("'") > 1
        || (n_with("\"{}\"") > 0 && n_with("\"") > 1)
        || (n_with("eval {}") > 0 && n_quoted > 0)
}

proptest! {
    /// A rule for the first words allows no line with any further command, in any position, however
    /// deep, and however its name is written.
    #[test]
    fn a_prefix_allows_no_further_command(
        positions in prop::collection::vec(0..POSITIONS.len(), 1..4),
        way in 0_u8..6,
        args in "( [a-z./-]{1,6}){0,3}",
    ) {
        prop_assume!(!loses_quotes(&positions));
        // Quotes in the name would end the quotes of a position around it.
        let is_quoted = positions.iter().any(|it| POSITIONS[*it].contains(['\'', '"']));
        let way = if is_quoted || positions.len() > 1 { 0 } else { way };
        let mut line = format!("{}{args}", spelled("other", way));
        for at in &positions {
            line = POSITIONS[*at].replace("{}", &line);
        }
        let allowed = rules(&[
            (Verdict::Allow, "Bash(good:*)"),
            (Verdict::Allow, "Bash(find:*)"),
            (Verdict::Allow, "Bash(ssh:*)"),
            (Verdict::Allow, "Bash(sudo:*)"),
            (Verdict::Allow, "Bash(eval:*)"),
            (Verdict::Allow, "Bash(sh:*)"),
            (Verdict::Allow, "Bash(bash:*)"),
            (Verdict::Allow, "Bash(xargs:*)"),
            (Verdict::Allow, "Bash(env:*)"),
            (Verdict::Allow, "Edit(/**)"),
        ]);
        prop_assert_ne!(verdict(&allowed, &line), Verdict::Allow, "{}", line);
        // The same line with an allowed name is not asked for its shape, where it is read at all.
        if positions.len() == 1 {
            let denied = rules(&[(Verdict::Allow, "Bash"), (Verdict::Deny, "Bash(other:*)")]);
            prop_assert_eq!(verdict(&denied, &line), Verdict::Deny, "{}", line);
        }
    }

    /// Any text is judged, without a panic, and nothing is allowed without a rule.
    #[test]
    fn no_text_is_allowed_without_a_rule(line in "\\PC{0,200}") {
        prop_assert_eq!(verdict(&Rules::default(), &line), Verdict::Ask);
    }

    /// Whatever a program that no list knows does with its words, a denied command in them is asked.
    #[test]
    fn a_denied_command_in_arguments_is_asked(
        before in "zz[a-z]{0,4}( (-{1,2}[a-z]{1,4}=?|[a-z0-9]{1,4})){0,3}",
        after in "( [a-z./-]{1,4}){0,3}",
        way in 0_u8..6,
        is_text in any::<bool>(),
    ) {
        let rules = rules(&[(Verdict::Allow, "Bash"), (Verdict::Deny, "Bash(other:*)")]);
        let line = match is_text {
            true => format!("{before} 'other{after} x'"),
            false => format!("{before} {}{after}", spelled("other", way)),
        };
        prop_assert_eq!(verdict(&rules, &line), Verdict::Ask, "{}", line);
    }

    /// Whatever stands around a denied command, a rule that allows the tool by its name does not allow its script, and
    /// neither does one that allows every command.
    #[test]
    fn no_construct_hides_a_denied_command(
        constructs in prop::collection::vec(0..CONSTRUCTS.len(), 1..4),
        positions in prop::collection::vec(0..POSITIONS.len(), 0..2),
        args in "( [a-z./-]{1,6}){0,2}",
    ) {
        prop_assume!(!loses_quotes(&positions));
        let mut line = format!("other{args}");
        for at in &positions {
            line = POSITIONS[*at].replace("{}", &line);
        }
        for at in &constructs {
            let is_one = !line.contains(['\n', '\'', '"', '`', '\\', '#', ';']);
            let frame = CONSTRUCTS[*at];
            prop_assume!(is_one || !frame.starts_with('='));
            // The text of another language is searched for commands, and not read as a script.
            prop_assume!(line.starts_with("other") || !frame.contains("python3"));
            line = frame.trim_start_matches('=').replace("{}", &line);
        }
        prop_assume!(is_bash(&line));
        let denied = rules(&[
            (Verdict::Allow, "t:s"),
            (Verdict::Allow, "Bash"),
            (Verdict::Deny, "Bash(other:*)"),
        ]);
        let id = ToolId::parse("t:s").expect("this is a name");
        let preview = Preview::new().with_command_line(["bash", "-c", &line, "t"]);
        for is_fixed in [false, true] {
            let request = Request::new(&id)
                .class(&PermissionClass::BASH)
                .class_trust(ClassTrust::Named)
                .preview(Some(&preview))
                .fixed(is_fixed);
            prop_assert_ne!(denied.decide(&request).verdict, Verdict::Allow, "{}", line);
        }
        let input = serde_json::json!({ "command": line });
        let request = Request::new(&id).class(&PermissionClass::GENERIC).input(&input);
        prop_assert_ne!(denied.decide(&request).verdict, Verdict::Allow, "{}", line);
    }

    #[test]
    fn bytes_of_a_shell_never_panic(
        line in prop::collection::vec(prop::sample::select(
            b"ab $(){}[]<>|&;`'\"\\\n\t#!=*?~-_/:+@%^,.019\r\x01".to_vec(),
        ), 0..300),
    ) {
        let line = String::from_utf8(line).expect("these are ASCII");
        let deny = rules(&[(Verdict::Allow, "Bash"), (Verdict::Deny, "Bash(a:*)")]);
        let decision = verdict(&deny, &line);
        prop_assert!(decision >= Verdict::Allow);
        let json = {
            let id = ToolId::parse("t").expect("this is a name");
            let preview = Preview::new().with_command_line(["sh", "-c", &line]);
            let request = Request::new(&id).class(&PermissionClass::BASH).preview(Some(&preview));
            serde_json::to_string(&deny.decide(&request))
        };
        prop_assert!(json.is_ok());
    }

    /// Rules of a plugin and of an untrusted project never turn an ask into an allow.
    #[test]
    fn lower_layers_only_narrow(
        line in "(good|other)( [a-z]{1,3}){0,2}(; (good|other))?",
        texts in prop::collection::vec(
            prop::sample::select(vec!["Bash", "Bash(good:*)", "Bash(other:*)", "shell:*", "class:bash"]), 0..4),
        effects in prop::collection::vec(0..3_u8, 4),
        project in any::<bool>(),
    ) {
        let top = rules(&[(Verdict::Allow, "Bash(good:*)")]);
        let mut both = Rules::builder();
        both.add(Layer::Operator, Verdict::Allow, "Bash(good:*)", Place::default())?;
        for (text, effect) in texts.iter().zip(effects) {
            let effect = [Verdict::Allow, Verdict::Ask, Verdict::Deny][usize::from(effect)];
            let layer = if project { Layer::Project } else { Layer::Plugin("p".to_owned()) };
            both.add(layer, effect, text, Place::default())?;
        }
        prop_assert!(verdict(&both.build(), &line) >= verdict(&top, &line));
    }

    /// Rules that stand beside those of a host decide as if they stood among them, and what they allow counts for
    /// nothing.
    #[test]
    fn rules_beside_those_of_a_host_only_narrow(
        line in prop::sample::select(vec![
            "good", "good x", "other -y x", "sudo good", "env -u $x good", "git -C d push", "foo -c 'other x'", "cat s/a",
            "cat s/*", "cat $x", "good > s/b", "good > out", "curl evil.org", "curl 'http://{a,b}.org'", "$x", "good; other",
            "for i in s; do cat $i; done", "cd s && cat key", "awk 'BEGIN{system(\"other x\")}'", "cat .env", "good `",
        ]),
        of_host in prop::collection::vec((prop::sample::select(RULES.to_vec()), 0..3_usize), 0..5),
        of_plugin in prop::collection::vec((prop::sample::select(RULES.to_vec()), 0..3_usize), 0..5),
    ) {
        let effects = [Verdict::Allow, Verdict::Ask, Verdict::Deny];
        let (mut host, mut plugin, mut union) = (Rules::builder(), Rules::builder(), Rules::builder());
        for (text, effect) in of_host {
            host.add(Layer::Operator, effects[effect], text, Place::default())?;
            union.add(Layer::Operator, effects[effect], text, Place::default())?;
        }
        for (text, effect) in of_plugin {
            // Also what says that it is the operator's.
            plugin.add(Layer::Operator, effects[effect], text, Place::default())?;
            if effects[effect] > Verdict::Allow {
                union.add(Layer::Plugin("shell".to_owned()), effects[effect], text, Place::default())?;
            }
        }
        let host = host.roots(["/r"]).build();
        let (both, union) = (host.narrowed_by(&plugin.build()), union.roots(["/r"]).build());
        prop_assert!(verdict(&both, line) >= verdict(&host, line));
        prop_assert_eq!(verdict(&both, line), verdict(&union, line));
    }

    #[test]
    fn texts_of_rules_never_panic(text in "\\PC{0,60}", head in "(Bash|Read|Edit|WebFetch|x)?") {
        for text in [text.clone(), format!("{head}({text})"), format!("{head}(domain:{text})")] {
            if let Err(err) = Rules::builder().add(Layer::Operator, Verdict::Deny, &text, Place::default()) {
                prop_assert!(err.span.start <= err.span.end && err.span.end <= text.len().max(err.span.end));
                if let Some(better) = err.suggestion {
                    let mut again = Rules::builder();
                    let read = again.add(Layer::Operator, Verdict::Deny, &better, Place::default());
                    prop_assert!(read.is_ok() || better.len() > 4096 || !text.is_empty());
                }
            }
        }
    }

    #[test]
    fn paths_and_addresses_never_panic(path in "\\PC{1,60}", url in "(https?://)?\\PC{0,60}") {
        let all = rules(&[(Verdict::Deny, "Read(**/x*)"), (Verdict::Allow, "Read(/**)")]);
        let id = ToolId::parse("t").expect("this is a name");
        let preview = Preview::new().with_path(path, Access::Unknown).with_url(url);
        for class in [PermissionClass::FILE, PermissionClass::WEBFETCH, PermissionClass::BASH] {
            let request =
                Request::new(&id).class(&class).class_trust(ClassTrust::Named).preview(Some(&preview));
            prop_assert!(!all.decide(&request).to_string().is_empty());
        }
    }
}

/// Texts that make parsers slow or deep. The counts of the parser bound each; the test guards
/// against a stack that is too small for the deepest.
#[test]
fn texts_built_to_cost_are_asked() {
    let any = rules(&[(Verdict::Allow, "Bash")]);
    for piece in [
        "(",
        "$(",
        "`",
        "\"$(",
        "{ ",
        "if ",
        "case a in a) ",
        "<<a ",
        "${a:-",
        "$((",
        "[[ (",
        "f() { ",
        "a=(",
        "! ",
        "env ",
        "sudo ",
        "eval ",
        "<(",
        "'",
        "\\\n",
        "while ",
        "$'",
        "time ",
        "a;",
        "a|",
        "a&&",
        "a\n",
    ] {
        let text = piece.repeat(59_999 / piece.len());
        let short = piece.repeat(200);
        // Whatever it is, it is answered; what is open at the end is never allowed.
        verdict(&any, &short);
        let is_whole = ["a;", "a\n", "\\\n"].contains(&piece);
        if !is_whole {
            assert_eq!(verdict(&any, &text), Verdict::Ask, "{piece:?}");
        }
    }
    let mut nested = "ls".to_owned();
    for _ in 0..60 {
        nested = format!("eval {nested}");
    }
    verdict(&any, &nested);
    assert_eq!(verdict(&any, &"a".repeat(64 * 1024 + 1)), Verdict::Ask);
    assert_eq!(verdict(&any, &"a ".repeat(20_000)), Verdict::Ask);
}

/// A search for options of rules ends at a bound, and what it did not look at is asked.
#[test]
fn many_rules_with_options_are_asked() {
    let mut many = Rules::builder();
    many.add(Layer::Operator, Verdict::Allow, "Bash", Place::default()).expect("this is a rule");
    let options: Vec<String> = (0..2_000).map(|i| format!("--o{i}")).collect();
    for option in &options {
        let text = format!("Bash(git {option} push:*)");
        many.add(Layer::Operator, Verdict::Deny, &text, Place::default()).expect("these are rules");
    }
    let many = many.build();
    assert_eq!(verdict(&many, &format!("git {} x", options.join(" "))), Verdict::Ask);
    assert_eq!(verdict(&many, &format!("git {} log", options[..20].join(" "))), Verdict::Allow);
    assert_eq!(verdict(&many, &format!("git {} push", options[..20].join(" "))), Verdict::Deny);
}

/// Each argument may start a command, and what follows is looked at only so often.
#[test]
fn many_arguments_are_answered() {
    let rules = rules(&[(Verdict::Allow, "Bash"), (Verdict::Deny, "Bash(git push:*)")]);
    assert_eq!(verdict(&rules, &format!("foo {}", "git -a ".repeat(8_000))), Verdict::Ask);
    assert_eq!(verdict(&rules, &format!("foo {}x", "git add ".repeat(8_000))), Verdict::Allow);
    let text = format!("foo {}", "'git add; x' ".repeat(5_000));
    assert_eq!(verdict(&rules, &text), Verdict::Allow);
    let text = format!("foo {}", "a=".repeat(30_000));
    assert_eq!(verdict(&rules, &text), Verdict::Allow);
    // More than is looked at.
    let text = format!("foo '{}'", "b a=".repeat(15_000));
    assert_eq!(verdict(&rules, &text), Verdict::Ask);
}

/// A word of many parts is looked up in bounded time, and asked.
#[test]
fn many_parts_of_a_word_are_asked() {
    let rules = rules(&[
        (Verdict::Allow, "Bash"),
        (Verdict::Deny, "Read(/srv/secret)"),
        (Verdict::Deny, "WebFetch(domain:evil.org)"),
    ]);
    for (text, expected) in [
        (format!("foo {}", "a=".repeat(30_000)), Verdict::Ask),
        (format!("foo {}", "/a:".repeat(20_000)), Verdict::Ask),
        (format!("foo {}/srv/secret", "a=".repeat(100)), Verdict::Deny),
        (format!("foo {}", "{a,".repeat(20_000)), Verdict::Ask),
        (format!("foo {}", "{a,b}".repeat(12_000)), Verdict::Ask),
        (format!("foo {}", "{1..2}*".repeat(9_000)), Verdict::Ask),
        (format!("for x in {}; do foo $x$x; done", "a ".repeat(9_000)), Verdict::Ask),
        (format!("cd a; {}", "foo b; ".repeat(4_000)), Verdict::Ask),
        (format!("cd a; cd b; cd c; foo {}", "d ".repeat(9_000)), Verdict::Ask),
    ] {
        assert_eq!(verdict(&rules, &text), expected, "{}", &text[..40]);
    }
}
