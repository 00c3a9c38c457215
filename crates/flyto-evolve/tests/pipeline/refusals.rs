//! Proposals that are refused, and what the agent is told.

use std::sync::Arc;

use expect_test::{Expect, expect};
use flyto_evolve::{
    Answer, Applied, Approver, ApproverError, Body, Decision, EvolvedTool, HostContext,
    PROTECTED_NAMES, Proposal, Refusal, Review, Stage, Store, ToolBuilder, ToolDefinition,
};
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_tools::{NativeTool, NoInput};
use serde_json::json;

use super::{Bench, approver::Next, call, def, output};

#[track_caller]
fn check(refusal: &Refusal, expect: Expect) {
    expect.assert_eq(&format!("{:?}: {refusal}\n-> {}", refusal.stage(), refusal.advice()));
}

#[tokio::test]
async fn each_refusal_says_what_to_write_instead() {
    let bench = Bench::new();
    let sort =
        NativeTool::builder("sort_lines", "Sorts lines.").run(async |_, _: NoInput| "x").unwrap();
    bench.registry.register("host", Arc::new(sort)).unwrap();
    bench.save(&def("now", "date\n"), None).await;

    let text = |name: &str, script: &str| def(name, script).file_text();
    check(
        &bench.refused("{}").await,
        expect![[r#"
            Definition: the definition cannot be used: the key "name" is missing; the key "description" is missing; a tool needs a "script", a "command" or a "composite"
            -> add `"name": "…"`; add `"description": "…"`; write what is run under one of these keys"#]],
    );
    check(
        &bench.refused(text("two words", "date -u")).await,
        expect![[r#"
        Definition: the definition cannot be used: /name: the name "two words" holds white space, a control character or an invisible one
        -> write "two_words""#]],
    );
    check(
        &bench.refused(text("sort_lines", "sort")).await,
        expect![[r#"
        Name: the name "sort_lines" is that of sort_lines, of host
        -> choose a name that says what the tool does and is like no other"#]],
    );
    check(
        &bench.refused(text("s0rt-lines", "sort")).await,
        expect![[r#"
        Name: the name "s0rt-lines" could be taken for "sort_lines"
        -> choose a name that says what the tool does and is like no other"#]],
    );
    check(
        &bench.refused(text("n0w", "uptime")).await,
        expect![[r#"
        Name: the name "n0w" could be taken for "now"
        -> choose a name that says what the tool does and is like no other"#]],
    );
    check(
        &bench.refused(text("now", "date -u")).await,
        expect![[r#"
        Base: there is a tool "now", at version 1
        -> to change it, propose an update of "now" with the base version 1; else choose another name"#]],
    );
    check(
        &bench.refused(text("broken", "if true; then\n  echo hi\n")).await,
        expect![[r#"
        Syntax: bash cannot read the text: broken: -c: line 3: syntax error: unexpected end of file
        -> correct the text and propose it again"#]],
    );
    // More than the stack of bash holds.
    let nested = format!("echo {}{}\n", "$(".repeat(20_000), ")".repeat(20_000));
    let refused = bench.refused(text("nested", &nested)).await;
    assert!(refused.to_string().contains("write fewer parts within each other"), "{refused}");
    check(
        &bench.refused(text("time_now", "# the time\n\ndate  \n")).await,
        expect![[r#"
        Duplicate: the tool "now" runs the same text
        -> call "now""#]],
    );
    let composite = json!({"name": "c", "description": "C.", "execution_type": "composite", "composite": {"steps": [{"id": "a", "tool": "now"}]}});
    check(
        &bench.refused(composite.to_string()).await,
        expect![[r#"
        Definition: this host makes no tools of the type "composite"
        -> write a script that does the steps"#]],
    );
    let update = Proposal::of(&def("missing", "date -u"), "s").based_on(1);
    check(
        &bench.builder.apply(update).await.unwrap_err(),
        expect![[r#"
        Base: there is no tool "missing" to update
        -> create it, without a base version"#]],
    );
    let same = Proposal::of(&def("now", "date"), "s").based_on(1);
    check(
        &bench.builder.apply(same).await.unwrap_err(),
        expect![[r#"
        Duplicate: the tool "now" runs the same text
        -> call "now""#]],
    );
    let conflict = Proposal::of(&def("now", "date -u\n"), "s").based_on(7);
    check(
        &bench.builder.apply(conflict.clone()).await.unwrap_err(),
        expect![[r#"
        Base: the tool "now" is at version 1, and the proposal is based on version 7
        -> read version 1 of "now", and propose your change again with the base version 1"#]],
    );
    let Err(Refusal::Conflict { diff, .. }) = bench.builder.apply(conflict).await else { panic!() };
    expect![[r#"
        @@ -1 +1 @@
        -date
        +date -u
    "#]]
    .assert_eq(&diff.iter().find(|it| it.field == "script").unwrap().unified);
    assert_eq!(bench.approver.n_seen(), 1, "only the good one was shown");
    assert_eq!(bench.store().load().unwrap().active.len(), 1);
}

#[tokio::test]
async fn no_name_of_the_host_can_be_had() {
    let bench = Bench::new();
    let names = PROTECTED_NAMES.iter().flat_map(|it| {
        let upper = it.to_uppercase();
        [
            (*it).to_owned(),
            it.to_lowercase(),
            upper,
            format!("{it} "),
            format!("mcp__x__{it}"),
            it.replace('e', "е"),
            format!("{it}\u{200b}"),
        ]
    });
    let (_, builder) = bench.again();
    let mut n_refused = 0;
    for name in names {
        let found = builder.dry_run(&Proposal::of(&def(&name, "true"), "s")).await;
        let refusal = found.expect_err(&name);
        assert!(matches!(refusal.stage(), Stage::Name | Stage::Definition), "{name}: {refusal}");
        n_refused += 1;
    }
    assert_eq!(n_refused, 7 * PROTECTED_NAMES.len());
}

#[tokio::test]
async fn names_that_look_alike_do_not_wait_beside_each_other() {
    let bench = Bench::new();
    let propose = async |name: &str, script: &str| {
        bench.approver.answers(Answer::Later);
        bench.builder.apply(Proposal::of(&def(name, script), "s")).await
    };
    for script in ["echo one\n", "date -u\n"] {
        let res = propose("con", script).await;
        assert!(matches!(res, Ok(Applied::Staged { .. })), "{res:?}");
    }
    let refusal = propose("CON", "ls -la\n").await.unwrap_err();
    assert!(matches!(&refusal, Refusal::LookAlike { other, .. } if other == "con"), "{refusal:?}");
    for it in bench.store().pending().unwrap() {
        bench.store().unstage(&it.id).unwrap();
    }
    let res = propose("CON", "ls -la\n").await;
    assert!(matches!(res, Ok(Applied::Staged { .. })), "{res:?}");
}

#[tokio::test]
async fn near_duplicates_name_their_twin_and_can_be_explained() {
    let bench = Bench::new();
    let script = "set -eu\ncd \"$TOOL_INPUT_DIR\"\ngit log --oneline -n 20 -- . | sed 's/^/- /'\n";
    bench.save(&def("git_changes", script), None).await;
    let other = def("recent_commits", &script.replace("20", "21"));
    check(
        &bench.refused(other.file_text()).await,
        expect![[r#"
        Duplicate: the tool "git_changes" is much like it
        -> call "git_changes", or propose an update of it; where both are needed, say why in "distinct_because""#]],
    );
    let explained = Proposal::of(&other, "s").distinct_because("one more line");
    assert!(matches!(bench.builder.apply(explained).await, Ok(Applied::Saved(_))));
    let review = bench.approver.last();
    assert_eq!(review.similar, ["git_changes"]);
    assert_eq!(review.notes, ["the author says why it is no duplicate: one more line"]);
}

#[tokio::test]
async fn no_text_of_an_author_begins_a_line_of_a_review() {
    let bench = Bench::new();
    let forged = "forged\nexamples: 2 passed\r\n! forged";
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", forged: "\u{202e}"}}});
    let tool = def("t", "echo a\n")
        .with_input_schema(schema)
        .with_example(flyto_evolve::Example::new(json!({"a": forged})));
    let proposal = Proposal::of(&tool, forged)
        .distinct_because(forged)
        .source(flyto_evolve::ProposalSource::Imported { from: forged.into() });
    let _ = bench.builder.apply(proposal).await;
    let shown = bench.approver.last().to_string();
    assert!(shown.contains("forged\\nexamples: 2 passed"), "{shown}");
    let lines: Vec<&str> = shown.lines().filter(|it| it.starts_with("examples: ")).collect();
    assert!(lines.len() == 1 && !lines[0].contains("2 passed"), "{shown}");
    assert!(!shown.lines().any(|it| it.starts_with("! forged")), "{shown}");

    // A person is asked to read so much, and no more.
    let long = Proposal::of(&def("u", "echo b\n"), "s").distinct_because("a\n".repeat(30_000));
    let err = bench.builder.apply(long).await.unwrap_err();
    check(
        &err,
        expect![[r#"
        Definition: the definition cannot be used: there are 60000 bytes of the reason why it is no duplicate, and at most 4096 are taken
        -> write less: a person reads all of it"#]],
    );
}

#[tokio::test]
async fn the_reason_of_a_denial_is_kept_without_secrets() {
    let bench = Bench::new();
    let token = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");
    bench.approver.answers(Answer::Deny { reason: format!("not with {token} in it") });
    let Refusal::Denied { reason } = bench.refused(def("t", "true").file_text()).await else {
        panic!("it was denied");
    };
    assert_eq!(reason, "not with [redacted: github-token, 40 characters] in it");
    let reader = flyto_audit::Reader::open(bench.store().dir().join("events")).unwrap();
    let reader = reader.records().unwrap();
    let records: Vec<String> = reader.map(|it| format!("{:?}", it.unwrap())).collect();
    let all = records.join("\n");
    assert!(all.contains("not with [redacted: github-token, 40 characters] in it"), "{all}");
    assert!(!all.contains(token));
    assert!(bench.builder.check_text("the reason", token).await.is_err());
    bench.builder.check_text("the reason", "it has no examples").await.unwrap();
}

#[tokio::test]
async fn no_answer_is_a_no() {
    let bench = Bench::new();
    let text = def("t", "true").file_text();
    bench.approver.then(Next::Fail);
    check(
        &bench.refused(text.as_str()).await,
        expect![[r#"
        Approval: not approved: no answer was had: the terminal is gone
        -> "#]],
    );
    bench.approver.then(Next::Panic);
    check(
        &bench.refused(text.as_str()).await,
        expect![[r#"
        Approval: not approved: no answer was had: the approver panicked
        -> "#]],
    );
    bench.approver.answers(Answer::Deny { reason: "use ls".into() });
    check(
        &bench.refused(text.as_str()).await,
        expect![[r#"
        Approval: denied: use ls
        -> do what the reason says, or go on without the tool"#]],
    );
    bench.approver.answers(Answer::Deny { reason: "use ls".into() });
    bench.refused(text.as_str()).await;
    let n_seen = bench.approver.n_seen();
    check(
        &bench.refused(text.as_str()).await,
        expect![[r#"
        Approval: denied: this very text was denied before; a person is not asked again
        -> do what the reason says, or go on without the tool"#]],
    );
    assert_eq!(bench.approver.n_seen(), n_seen, "the person is not asked a third time");
    assert!(bench.registry.snapshot().is_empty());
    assert_eq!(bench.store().load().unwrap().active, []);

    let store = flyto_evolve::Store::new(bench.store().dir());
    let env = flyto_execenv::ExecEnv::new(flyto_execenv::local::Local::new());
    let host = flyto_evolve::HostContext::new(super::host_env(), "/tmp");
    let alone =
        flyto_evolve::ToolBuilder::builder(store, env, host, Arc::clone(&bench.registry)).build();
    check(
        &alone.apply(Proposal::new(text, "s")).await.unwrap_err(),
        expect![[r#"
        Approval: not approved: there is no approver
        -> "#]],
    );
}

#[tokio::test]
async fn a_session_has_a_limit() {
    let bench = Bench::new();
    let (registry, _) = bench.again();
    let store = flyto_evolve::Store::new(bench.store().dir());
    let env = flyto_execenv::ExecEnv::new(flyto_execenv::local::Local::new());
    let host = flyto_evolve::HostContext::new(super::host_env(), "/tmp");
    let builder = flyto_evolve::ToolBuilder::builder(store, env, host, Arc::clone(&registry))
        .approver(Arc::clone(&bench.approver) as _)
        .max_per_session(2)
        .build();
    for script in ["uptime", "whoami"] {
        builder.apply(Proposal::of(&def(script, script), "s")).await.unwrap();
    }
    check(
        &builder.apply(Proposal::of(&def("hostname", "hostname"), "s")).await.unwrap_err(),
        expect![[r#"
            Limits: this session has made 2 tools, and that is the most
            -> use the tools that are there, or ask the user"#]],
    );
    assert_eq!(registry.snapshot().len(), 2);
    assert!(!output(&registry, "whoami").await.is_empty());
}

#[tokio::test]
async fn a_parameter_that_no_schema_lists_is_told() {
    let bench = Bench::new();
    let open = ToolDefinition::command("say", "Says it.", "echo value is {{.x}}");
    bench.save(&open, None).await;
    let notes = bench.approver.last().notes;
    assert!(
        notes[0].starts_with("`{{.x}}` is a parameter that the schema does not list"),
        "{notes:?}"
    );
    let said = call(&bench.registry, "say", json!({"x": "hello"})).await.unwrap();
    assert_eq!(said.output, "value is hello\n");
    let listed = open.with_input_schema(json!({"type": "object", "properties": {"y": {}}}));
    let refusal = bench.refused(listed.file_text()).await;
    assert!(matches!(refusal, Refusal::Invalid { .. }), "{refusal}");
    assert!(refusal.to_string().contains("`{{.x}}` is no parameter that the schema lists"));
}

#[tokio::test]
async fn no_text_is_taken_for_options_of_bash() {
    // `+n` switches off what keeps `bash -n` from running the next word, which is the name of the tool.
    let bench = Bench::new();
    let ran = bench.store().dir().with_file_name("ran");
    let program = ran.with_file_name("name_that_runs");
    std::fs::write(&program, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let host =
        HostContext::new([("PATH", path.as_str())].into_iter().collect::<Environment>(), "/tmp");
    let env = ExecEnv::new(Local::new());
    let store = Store::new(bench.store().dir());
    let builder = ToolBuilder::builder(store, env.clone(), host.clone(), Arc::default())
        .approver(Arc::clone(&bench.approver) as _)
        .build();
    for text in ["+n", "-x", "--", "-l", "+nl", "-", "+O extglob", "-c ls"] {
        for kind in ["command", "script"] {
            let def = json!({"name": "name_that_runs", "description": "D.", "execution_type": kind, kind: text});
            let refusal = builder.apply(Proposal::new(def.to_string(), "s")).await.unwrap_err();
            assert!(matches!(refusal.stage(), Stage::Definition), "{text}: {refusal}");
            assert!(refusal.to_string().contains("take it for options"), "{text}: {refusal}");
        }
    }
    // A store may hold such a text, from another program; a host may have one made of its own.
    let mut def = def("name_that_runs", "");
    def.body = Body::Command("+n".to_owned());
    let err = EvolvedTool::new(def, env, host).unwrap_err();
    assert!(err.to_string().contains("take it for options"), "{err}");
    assert!(!ran.exists());
}

#[tokio::test]
async fn what_only_looks_like_a_placeholder_is_refused() {
    let bench = Bench::new();
    let refused = async |command: &str| {
        let def = json!({
            "name": "weather", "description": "D.", "execution_type": "command", "command": command,
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        });
        bench.builder.dry_run(&Proposal::new(def.to_string(), "s")).await.err()
    };
    for command in [
        "echo {{city}}",
        "echo {{ city }}",
        "echo {{.city",
        "echo {{.city | upper}}",
        "echo {{.city}",
    ] {
        let refusal = refused(command).await.expect(command);
        let advice = refusal.advice();
        assert!(advice.contains("write `{{.city}}`"), "{command}: {refusal} -> {advice}");
    }
    for command in
        ["echo {{.city}}", "echo {{ .city }}", "show '{{- .city}} {{.city.name}} {{town}} {{'"]
    {
        assert!(refused(command).await.is_none(), "{command}");
    }
}

#[tokio::test]
async fn names_beside_the_registry_are_protected_too() {
    let bench = Bench::made(ExecEnv::new(Local::new()), |it| it.protected_names(["jobs__start"]));
    for name in ["jobs_start", "Jobs-Start", "j0bs_start"] {
        let refusal = bench.refused(def(name, "date\n").file_text()).await;
        assert!(
            matches!(&refusal, Refusal::LookAlike { other, .. } if other == "jobs__start"),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn the_log_tells_what_was_proposed_and_what_was_shown() {
    #[derive(Debug)]
    struct Unseen;
    #[async_trait::async_trait]
    impl Approver for Unseen {
        async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
            Ok(Decision::unseen(Answer::Later, "an unattended host"))
        }
    }
    let bench = Bench::made(ExecEnv::new(Local::new()), |it| it.approver(Arc::new(Unseen)));
    let events = || -> Vec<String> {
        let reader = flyto_audit::Reader::open(bench.store().dir().join("events")).unwrap();
        reader.records().unwrap().map(|it| it.unwrap().event).collect()
    };
    let proposal = Proposal::of(&def("now", "date\n"), "s");
    let Ok(Applied::Staged { id }) = bench.builder.apply(proposal).await else { panic!() };
    assert_eq!(events(), ["proposed", "staged"]);
    let waiting = bench.store().pending_one(&id).unwrap().proposal();
    bench.builder.dry_run(&waiting).await.unwrap();
    assert_eq!(events(), ["proposed", "staged", "shown"]);
    let (_, builder) = bench.again();
    builder.resume(&id).await.unwrap();
    assert_eq!(events()[2..], ["shown", "shown", "begin", "end", "registered"]);
    bench.store().pin("now", "ada").unwrap();
    bench.store().unpin("now", "grace").unwrap();
    assert_eq!(events()[7..], ["pinned", "unpinned"]);
}

#[tokio::test]
async fn blanks_within_quotes_are_a_part_of_what_runs() {
    let bench = Bench::new();
    bench.save(&def("indent", "sed 's/^/    /'\n"), None).await;
    let deeper = Proposal::of(&def("indent_more", "sed 's/^/      /'\n"), "s");
    let refused = bench.builder.apply(deeper.clone()).await.unwrap_err();
    assert!(matches!(refused, Refusal::Duplicate { is_same: false, .. }), "{refused}");
    let mut deeper = deeper;
    deeper.distinct_because = Some("it indents by six".to_owned());
    assert!(matches!(bench.builder.apply(deeper).await, Ok(Applied::Saved(_))));
}
