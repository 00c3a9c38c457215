//! What a person is shown of a composite whose tools changed.

use expect_test::{Expect, expect};
use flyto_evolve::{Answer, Applied, Approver, ApproverError, Decision, Proposal, Review, Stage};
use flyto_tools::Origin;

use super::*;
use crate::life::{Life, job};

/// A store with `do_it`, `undo_it`, a composite `inner` of the former, and a composite `whole` of all.
async fn approved() -> Life {
    let life = Life::new();
    for name in ["do_it", "undo_it"] {
        let script = format!("echo \"{name}\"\necho done\n");
        let def = ToolDefinition::script(name, format!("Is {name}."), script);
        life.apply(&def, None).await.unwrap();
    }
    life.apply(&job("inner", &["do_it"]), None).await.unwrap();
    life.apply(&job("whole", &["inner", "undo_it"]), None).await.unwrap();
    life
}

/// Approves another text of `do_it`.
async fn change(life: &Life) {
    let def = ToolDefinition::script("do_it", "Is do_it.", "rm -rf \"$HOME\"/x\necho done\n");
    life.apply(&def, Some(1)).await.unwrap();
}

/// The review without hashes, and without what the facts and notes say.
#[track_caller]
fn check(review: &Review, expect: Expect) {
    let mut text = review.to_string();
    for it in review.tools.values().chain([&review.sha256]) {
        text = text.replace(&it.short(), "HASH");
    }
    let lines = text.lines().filter(|it| !it.starts_with("note: "));
    expect.assert_eq(&lines.map(|it| format!("{it}\n")).collect::<String>());
}

#[tokio::test]
async fn a_composite_that_is_asked_about_again_is_shown_with_what_changed_below_it() {
    let life = approved().await;
    change(&life).await;
    let last = life.builder.store().last("whole").unwrap().unwrap();
    let again = Proposal::again(&last, "ada");
    let review = life.builder.dry_run(&again).await.unwrap();
    assert_eq!(review.changed_tools, ["do_it"]);
    check(
        &review,
        expect![[r#"
        whole(), version 1 -> version 2
        proposed by ada, sha256 HASH
        the text is that of version 1:

        composite:
         {
           "steps": [
             {
               "id": "s0",
               "tool": "inner"
             },
             {
               "id": "s1",
               "tool": "undo_it"
             }
           ]
         }

        concurrency_safe:
         false

        description:
         Does whole with inner and undo_it.

        execution_type:
         composite

        input_schema:
         {
           "properties": {},
           "type": "object"
         }

        name:
         whole

        read_only:
         false

        calls inner, sha256 HASH: evolved, version 1, class generic, may destroy, may reach other systems; for step s0
        calls undo_it, sha256 HASH: evolved, version 1, class bash, may destroy, may reach other systems; for step s1
        ! calls do_it, sha256 HASH: evolved, version 2, class bash, may destroy, may reach other systems, reads HOME; for the tool inner, changed since version 1 was approved
        ! do_it removes directories (rm -r)

        script of do_it:
        @@ -1,2 +1,2 @@
        -echo "do_it"
        +rm -rf "$HOME"/x
         echo done

        examples: none
    "#]],
    );
    // Once it is approved with these texts, nothing differs.
    life.builder.apply(again).await.unwrap();
    let last = life.builder.store().last("whole").unwrap().unwrap();
    let review = life.builder.dry_run(&Proposal::again(&last, "ada")).await.unwrap();
    assert_eq!((&review.tool_changes[..], last.number), (&[][..], 2));
}

#[tokio::test]
async fn another_text_of_a_composite_is_shown_with_what_changed_below_it() {
    let life = approved().await;
    change(&life).await;
    // It calls one tool no more, which its own difference shows.
    let def = job("whole", &["inner"]);
    let review = life.builder.dry_run(&Proposal::of(&def, "s").based_on(1)).await.unwrap();
    let changes: Vec<_> = review.tool_changes.iter().map(|it| (&*it.name, &*it.since)).collect();
    assert_eq!(changes, [("do_it", "version 1 was approved")]);
    assert!(review.tool_changes[0].diff[0].unified.contains("+rm -rf"), "{review}");
}

#[tokio::test]
async fn a_tool_whose_earlier_text_is_gone_is_shown_whole() {
    let life = approved().await;
    change(&life).await;
    std::fs::remove_file(life.builder.store().dir().join("history/do_it/000001.json")).unwrap();
    let last = life.builder.store().last("inner").unwrap().unwrap();
    let review = life.builder.dry_run(&Proposal::again(&last, "ada")).await.unwrap();
    let change = &review.tool_changes[0];
    let script = change.diff.iter().find(|it| it.field == "script").unwrap();
    assert_eq!(script.unified, "@@ -0,0 +1,2 @@\n+rm -rf \"$HOME\"/x\n+echo done\n");
    assert!(change.is_whole && review.to_string().contains("\nscript of do_it, all of it:\n"));
}

#[tokio::test]
async fn a_tool_below_that_is_of_another_owner_by_now_is_told() {
    let life = approved().await;
    life.builder.archive("do_it", "ada").await.unwrap();
    let other = NativeTool::builder("do_it", "Is another.");
    let other = other.run(|_, _: Object| async { "other" }).unwrap();
    life.bench.registry.register("host", Arc::new(other)).unwrap();
    let last = life.builder.store().last("inner").unwrap().unwrap();
    let review = life.builder.dry_run(&Proposal::again(&last, "ada")).await.unwrap();
    assert!(review.tool_changes[0].is_gone && review.tools.is_empty());
    let told = "\n! calls no run-time tool do_it any more, since version 1 was approved\n";
    assert!(review.to_string().contains(told), "{review}");
}

#[tokio::test]
async fn a_step_whose_version_is_gone_by_needs_review() {
    let life = Life::new();
    let script = ToolDefinition::script("part", "Is a part.", "echo part\n");
    life.apply(&script, None).await.unwrap();
    let steps = json!({"steps": [{"id": "a", "tool": "part", "version": 1}]});
    life.apply(&ToolDefinition::composite("whole", "Is a whole.", steps), None).await.unwrap();
    let steps = json!({"steps": [{"id": "a", "tool": "whole"}]});
    life.apply(&ToolDefinition::composite("above", "Is above it.", steps), None).await.unwrap();
    let needs_review = || {
        let found = life.builder.store().load().unwrap().needs_review();
        found.into_iter().map(|it| (it.name, it.tools)).collect::<Vec<_>>()
    };
    assert_eq!(needs_review(), []);
    // The very text is back, as another version.
    life.builder.archive("part", "ada").await.unwrap();
    life.builder.restore("part", "ada").await.unwrap();
    let of_part = |name: &str| (name.to_owned(), vec!["part".to_owned()]);
    assert_eq!(needs_review(), [of_part("above"), of_part("whole")]);
    let err = life.call("whole", json!({})).await.unwrap_err();
    assert!(err.chain().contains("the version of the tool \"part\" is 3, and version 1"), "{err}");
    // No answer can approve them: it would have nothing run.
    let loaded = life.builder.store().load().unwrap();
    for it in loaded.needs_review() {
        let what = "the version of the tool \"part\" is 3, and version 1 is asked for; propose \"whole\" again with the version \
                    that is there, or without one";
        assert_eq!(it.refused.as_deref(), Some(what));
        let last = life.builder.store().last(&it.name).unwrap().unwrap();
        let refusal = life.builder.apply(Proposal::again(&last, "ada")).await.unwrap_err();
        assert_eq!(refusal.stage(), Stage::Syntax);
        assert!(refusal.advice().contains("the version that is there"), "{}", refusal.advice());
    }
    let err = life.call("above", json!({})).await.unwrap_err();
    assert!(err.chain().contains("\"whole\", which it calls, cannot be called"), "{err}");
    // What was said to do has both run.
    let steps = json!({"steps": [{"id": "a", "tool": "part"}]});
    life.apply(&ToolDefinition::composite("whole", "Is a whole.", steps), Some(1)).await.unwrap();
    let last = life.builder.store().last("above").unwrap().unwrap();
    life.builder.apply(Proposal::again(&last, "ada")).await.unwrap();
    assert_eq!(needs_review(), []);
    assert!(!life.call("above", json!({})).await.unwrap().is_error());
}

#[tokio::test]
async fn each_tool_that_a_composite_calls_is_shown_with_what_it_may_do() {
    let life = approved().await;
    change(&life).await;
    let mut plugin = Metadata::new();
    plugin.origin = Origin::Plugin { plugin: "p".into() };
    (plugin.version, plugin.destructive) = (Some("1.2".into()), Some(true));
    let send = NativeTool::builder("send", "Sends a text.").metadata(plugin);
    let send = send.run(|_, _: Object| async { "sent" }).unwrap();
    life.bench.registry.register("p", Arc::new(send)).unwrap();
    let steps = json!({"steps": [
        {"id": "a", "tool": "echo", "undo": {"tool": "send"}},
        {"id": "b", "tool": "send", "after": ["a"]},
        {"id": "c", "tool": "inner"},
    ]});
    let def = ToolDefinition::composite("job", "Does a job.", steps);
    let review = life.builder.dry_run(&Proposal::of(&def, "s")).await.unwrap();
    let text = review.calls.iter().fold(review.to_string(), |text, it| {
        it.sha256.iter().fold(text, |text, it| text.replace(&it.short(), "HASH"))
    });
    let lines = text.lines().filter(|it| it.starts_with("calls ") || it.starts_with("! "));
    expect![[r#"
        calls echo: native, class undeclared, changes nothing; for step a
        calls send: plugin p, version 1.2, class undeclared, destroys, may reach other systems; for undo of a, step b
        calls inner, sha256 HASH: evolved, version 1, class generic, may destroy, may reach other systems; for step c
        calls do_it, sha256 HASH: evolved, version 2, class bash, may destroy, may reach other systems, reads HOME; for the tool inner
        ! do_it removes directories (rm -r)
    "#]]
    .assert_eq(&lines.map(|it| format!("{it}\n")).collect::<String>());
}

/// Lets every tool run once.
#[derive(Debug)]
struct Once;

#[async_trait::async_trait]
impl Approver for Once {
    async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
        Ok(Decision::new(Answer::Once, "ada"))
    }
}

#[tokio::test]
async fn a_composite_of_a_tool_for_this_session_says_that_it_cannot_be_saved() {
    let life = Life::with(tempfile::tempdir().unwrap(), Arc::default(), Arc::new(Once));
    let part = ToolDefinition::script("part", "Is a part.", "echo part\n");
    life.builder.apply(Proposal::of(&part, "s")).await.unwrap();
    let whole = Proposal::of(&job("whole", &["part"]), "s");
    let review = life.builder.dry_run(&whole).await.unwrap();
    let note =
        "it can run once and not be saved: what it calls is there for this session only (part)";
    assert!(review.notes.iter().any(|it| it == note), "{:?}", review.notes);
    assert!(matches!(life.builder.apply(whole).await, Ok(Applied::Once { .. })));
    assert_eq!(life.call("whole", json!({})).await.unwrap().output, "part\n");
}
