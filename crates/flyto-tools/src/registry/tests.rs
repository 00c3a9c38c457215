use std::borrow::Cow;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{CallContext, DescribeContext, Input, Metadata, ToolError, ToolResult};

/// A tool that has names and words, and nothing to do.
#[derive(Debug, Default)]
struct Named {
    name: String,
    description: String,
    metadata: Metadata,
}

#[async_trait]
impl Tool for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        Cow::Borrowed(&self.description)
    }

    fn input_schema(&self) -> &Value {
        &Value::Null
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    async fn execute(&self, _: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(input.as_str()))
    }
}

/// `name`, or `name = alias, alias`.
fn tool(text: &str) -> Arc<dyn Tool> {
    let (name, aliases) = text.split_once(" = ").unwrap_or((text, ""));
    let mut metadata = Metadata::new();
    metadata.aliases = aliases.split(", ").filter(|it| !it.is_empty()).map(Into::into).collect();
    Arc::new(Named { name: name.into(), metadata, ..Named::default() })
}

/// Every entry with its names, and every name leads to its entry.
fn render(snapshot: &Snapshot) -> String {
    let mut res = String::new();
    for it in snapshot.iter() {
        let mut names = vec![it.id().as_str(), it.wire_name()];
        names.extend(it.aliases().iter().map(ToolId::as_str));
        for name in &names {
            assert_eq!(snapshot.get(name).map(Entry::id), Some(it.id()), "{name}");
        }
        res.push_str(&format!("{} of {}: {}\n", it.id(), it.owner(), names[1..].join(", ")));
    }
    res
}

/// Registers tools one by one, each written as `owner / tool`, and shows what came of it.
#[track_caller]
fn check(tools: &[&str], expect: Expect) {
    let registry = Registry::new();
    let mut shown = String::new();
    for line in tools {
        let (owner, text) = line.split_once(" / ").unwrap();
        let before = render(&registry.snapshot());
        if let Err(err) = registry.register(owner, tool(text)) {
            shown.push_str(&format!("{}\n", crate::error::Chain(&err)));
            assert_eq!(render(&registry.snapshot()), before, "a refusal left a trace");
        }
    }
    shown.push_str(&render(&registry.snapshot()));
    expect.assert_eq(&shown);
}

#[test]
fn a_taken_name_is_refused_and_names_both_owners() {
    check(
        &["host / Read = Cat", "plugin a / Read", "plugin b / Cat", "plugin c / c:show = Read"],
        expect![[r#"
            failed to register Read of plugin a: Read is the id of Read, which belongs to host
            failed to register Cat of plugin b: Cat is an alias of Read, which belongs to host
            failed to register c:show of plugin c: Read is the id of Read, which belongs to host
            Read of host: Read, Cat
        "#]],
    );
    check(
        &["plugin a / a:x = old", "plugin b / b:x = old"],
        expect![[r#"
        failed to register b:x of plugin b: old is an alias of a:x, which belongs to plugin a
        a:x of plugin a: a__x, old
    "#]],
    );
    check(
        &["plugin a / a:x", "plugin b / b:y = a__x", "plugin b / b:y = a:x"],
        expect![[r#"
        failed to register a tool of plugin b: failed to use "a__x" as the name of a tool: `__` stands between owner and tool, so only a name with an owner can hold it
        failed to register b:y of plugin b: a:x is the id of a:x, which belongs to plugin a
        a:x of plugin a: a__x
    "#]],
    );
    check(
        &["plugin a / a b", "plugin a / a:x = b__y"],
        expect![[r#"
            failed to register a tool of plugin a: failed to use "a b" as the name of a tool: white space, control and invisible characters cannot be part of a name
            failed to register a tool of plugin a: failed to use "b__y" as the name of a tool: `__` stands between owner and tool, so only a name with an owner can hold it
        "#]],
    );
}

#[test]
fn own_names_may_repeat() {
    check(
        &["plugin a / a:x = a:x, old, old"],
        expect![[r#"
        a:x of plugin a: a__x, old
    "#]],
    );
}

/// A list that is searched once for each alias would take minutes here.
#[test]
fn a_hundred_thousand_aliases_are_names_of_one_tool() {
    let names: Vec<_> = (0..100_000).map(|it| format!("a:n{it}")).collect();
    let registry = Registry::new();
    let entry =
        registry.register("plugin a", tool(&format!("a:x = {}", names.join(", ")))).unwrap();
    assert_eq!(entry.aliases().len(), names.len());
    assert_eq!(registry.get("a:n99999").unwrap().id(), entry.id());
}

#[test]
fn wire_names_give_way_to_names_that_authors_chose() {
    // The id of the second tool is the wire name that the third one would have.
    let hashed = ToolId::parse("fs.read").unwrap().wire_name();
    check(
        &["host / Read", &format!("evil / {hashed}"), "exec / fs.read"],
        expect![[r#"
        Read of host: Read
        fs.read of exec: fsread-4482cc
        fsread-4074bc of evil: fsread-4074bc
    "#]],
    );
    // The other way round, the id is taken.
    check(
        &["exec / fs.read", &format!("evil / {hashed}")],
        expect![[r#"
        failed to register fsread-4074bc of evil: fsread-4074bc is the wire name of fs.read, which belongs to exec
        fs.read of exec: fsread-4074bc
    "#]],
    );
    // A name that holds the separator belongs to the owner before the first one.
    check(
        &["mcp / a__b:c", "plugin a / a:b__c"],
        expect![[r#"
        a:b__c of plugin a: a__b__c
        a__b:c of mcp: a__b__c-ce06b8
    "#]],
    );
}

#[test]
fn ids_whose_digits_clash_get_others() {
    // The SHA-256 of both begins with 33563c; a search of a second finds such pairs.
    check(
        &["one / clash!~!=", "two / clash@%!$"],
        expect![[r#"
        clash!~!= of one: clash-33563c
        clash@%!$ of two: clash-23968a
    "#]],
    );
}

#[test]
fn an_owner_exchanges_its_tools_in_one_step() {
    let registry = Registry::new();
    registry.register("host", tool("Read")).unwrap();
    let stays = tool("a:stays");
    let changes = registry
        .replace_owner("plugin a", [Arc::clone(&stays), tool("a:edited"), tool("a:gone = old")])
        .unwrap();
    expect![[r#"Changes { added: ["a:edited", "a:gone", "a:stays"], removed: [], changed: [] }"#]]
        .assert_eq(&format!("{changes:?}"));
    let before = registry.snapshot();

    let changes =
        registry.replace_owner("plugin a", [stays, tool("a:edited"), tool("a:new = old")]).unwrap();
    expect![[r#"Changes { added: ["a:new"], removed: ["a:gone"], changed: ["a:edited"] }"#]]
        .assert_eq(&format!("{changes:?}"));
    assert_eq!(registry.snapshot().changes_since(&before), changes);
    expect![[r#"
        Read of host: Read
        a:edited of plugin a: a__edited
        a:new of plugin a: a__new, old
        a:stays of plugin a: a__stays
    "#]]
    .assert_eq(&render(&registry.snapshot()));
    // A caller that holds the former set still has it.
    assert!(before.get("a:gone").is_some() && before.get("a:new").is_none());
}

#[test]
fn an_exchange_leaves_out_what_clashes() {
    let registry = Registry::new();
    registry.register("host", tool("Read = Cat")).unwrap();
    let tools = [
        "a:x = Cat, free",
        "a:y = free, a:x",
        "Read",
        "a:z",
        "a:z = late",
        "bad name",
        "a:v = bad name",
    ];
    let replaced = registry.replace_owner_where_free("plugin a", tools.map(tool));
    let left_out = replaced.left_out.iter().map(|it| format!("{}: {}\n", it.index, it.error));
    expect![[r#"
        0: failed to register a:x of plugin a: Cat is an alias of Read, which belongs to host
        2: failed to register Read of plugin a: Read is the id of Read, which belongs to host
        4: failed to register a:z of plugin a: a:z is the id of a:z, which belongs to plugin a
        5: failed to register a tool of plugin a
        6: failed to register a tool of plugin a
        Read of host: Read, Cat
        a:y of plugin a: a__y, free, a:x
        a:z of plugin a: a__z
    "#]]
    .assert_eq(&(left_out.collect::<String>() + &render(&registry.snapshot())));
    // The names of those that were left out are free.
    registry.register("host", tool("late")).unwrap();
}

/// One clash at a time would take minutes here.
#[test]
fn many_clashes_are_found_in_one_pass() {
    let tools = || (0..20_000).map(|it| tool(&format!("t{it}")));
    let registry = Registry::new();
    registry.replace_owner("file a", tools()).unwrap();
    let replaced = registry.replace_owner_where_free("file b", tools().chain([tool("own")]));
    assert_eq!((replaced.left_out.len(), replaced.changes.added.len()), (20_000, 1));
}

#[test]
fn an_exchange_that_fails_changes_nothing() {
    let registry = Registry::new();
    registry.register("host", tool("Read")).unwrap();
    registry.replace_owner("plugin a", [tool("a:x"), tool("a:y")]).unwrap();
    let (before, generation) = (render(&registry.snapshot()), registry.generation());
    for set in [["a:z", "Read"], ["a:z", "a:z"], ["a:z", "a:y = Read"], ["a:z", "b__y"]] {
        registry.replace_owner("plugin a", set.map(tool)).unwrap_err();
        assert_eq!(
            (render(&registry.snapshot()), registry.generation()),
            (before.clone(), generation)
        );
    }
}

#[test]
fn the_same_set_again_is_no_change() {
    let registry = Registry::new();
    let set = [tool("a:x"), tool("a:y")];
    registry.replace_owner("plugin a", set.clone()).unwrap();
    let generation = registry.generation();
    assert!(registry.replace_owner("plugin a", set).unwrap().is_empty());
    assert_eq!(registry.generation(), generation);
}

#[test]
fn a_tool_that_stays_keeps_its_wire_name() {
    let registry = Registry::new();
    // `fs.read` has to take its second choice, for the first is the id of another tool.
    let first_choice = ToolId::parse("fs.read").unwrap().wire_name();
    registry.register("host", tool(&first_choice)).unwrap();
    let second_choice = registry.register("exec", tool("fs.read")).unwrap().wire_name().to_owned();
    assert_ne!(second_choice, first_choice);

    registry.remove(&first_choice).unwrap();
    registry.replace_owner("exec", [tool("fs.read")]).unwrap();
    assert_eq!(registry.get("fs.read").unwrap().wire_name(), second_choice);
}

#[test]
fn removal_frees_every_name() {
    let registry = Registry::new();
    registry.register("plugin a", tool("a:x = old")).unwrap();
    registry.register("plugin a", tool("a:y")).unwrap();
    assert_eq!(registry.remove("old").unwrap().id().as_str(), "a:x");
    assert!(registry.remove("old").is_none());
    let gone = registry.remove_owner("plugin a");
    assert_eq!(gone.iter().map(|it| it.id().as_str()).collect::<Vec<_>>(), ["a:y"]);
    assert!(registry.snapshot().is_empty());
    registry.register("plugin b", tool("old = a__x")).unwrap_err();
    registry.register("plugin b", tool("old = a:x")).unwrap();
}

#[test]
fn changes_can_be_waited_for_without_a_runtime() {
    let registry = Registry::new();
    registry.register("host", tool("before")).unwrap();
    let mut watch = registry.watch();
    let poll = |watch: &mut Watch| {
        let waiting = pin!(watch.changed());
        waiting.poll(&mut Context::from_waker(Waker::noop()))
    };
    assert!(poll(&mut watch).is_pending());
    registry.register("host", tool("one")).unwrap();
    registry.register("host", tool("two")).unwrap();
    registry.register("host", tool("two")).unwrap_err();
    let Poll::Ready(Some(snapshot)) = poll(&mut watch) else { panic!("nothing seen") };
    assert_eq!(snapshot.len(), 3);
    assert!(poll(&mut watch).is_pending());
    drop(registry);
    assert!(matches!(poll(&mut watch), Poll::Ready(None)));
}

#[test]
fn a_tool_may_use_the_registry_while_it_is_dropped() {
    #[derive(Debug)]
    struct Nosy(Arc<Registry>, Arc<Mutex<Option<usize>>>);

    impl Drop for Nosy {
        fn drop(&mut self) {
            *self.1.lock().unwrap() = Some(self.0.snapshot().len());
        }
    }

    #[async_trait]
    impl Tool for Nosy {
        fn name(&self) -> &str {
            "nosy"
        }

        fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
            "Looks around.".into()
        }

        fn input_schema(&self) -> &Value {
            &Value::Null
        }

        async fn execute(&self, _: &CallContext, _: Input) -> Result<ToolResult, ToolError> {
            Ok(ToolResult::text(self.0.snapshot().len().to_string()))
        }
    }

    let registry = Arc::new(Registry::new());
    let seen = Arc::new(Mutex::new(None));
    registry.register("host", Arc::new(Nosy(Arc::clone(&registry), Arc::clone(&seen)))).unwrap();
    registry.replace_owner("host", []).unwrap();
    assert_eq!(*seen.lock().unwrap(), Some(0));
}

#[track_caller]
fn check_search(query: &str, expected: &[&str]) {
    let about = |name: &str, hint: &str, description: &str| -> Arc<dyn Tool> {
        let mut metadata = Metadata::new();
        metadata.search_hint = Some(hint.into());
        Arc::new(Named { name: name.into(), description: description.into(), metadata })
    };
    let registry = Registry::new();
    let tools = [
        about("csv:summary", "table columns statistics", "Summarises a CSV file."),
        about("git:log", "history commits", "Shows the latest commits of a repository."),
        about("readFile", "open file", "Reads a file."),
        about("stats", "numbers", "Computes statistics of numbers. 统计数字"),
        about("git:status", "changes", "Shows what is not committed."),
    ];
    registry.replace_owner("host", tools).unwrap();
    let hits = registry.snapshot().search(query, 3);
    let ids: Vec<&str> = hits.iter().map(|hit| hit.entry.id().as_str()).collect();
    assert_eq!(ids, expected, "{query}");
}

#[test]
fn search_finds_by_name_then_hint_then_description() {
    check_search("statistics", &["csv:summary", "stats"]);
    check_search("git", &["git:log", "git:status"]);
    check_search("GIT status", &["git:status", "git:log"]);
    check_search("commit", &["git:log", "git:status"]);
    check_search("file", &["readFile", "csv:summary"]);
    check_search("统计", &["stats"]);
    check_search("git__log", &["git:log", "git:status"]);
    check_search("csv:summary", &["csv:summary"]);
    check_search("nothing like it", &[]);
    check_search("zebra", &[]);
    check_search("", &["csv:summary", "git:log", "git:status"]);
}

/// Describes itself by what it is told.
#[derive(Debug)]
struct Described(Arc<Mutex<String>>);

#[async_trait]
impl Tool for Described {
    fn name(&self) -> &str {
        "told"
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        self.0.lock().unwrap().clone().into()
    }

    fn input_schema(&self) -> &Value {
        &Value::Null
    }

    async fn execute(&self, _: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(input.as_str()))
    }
}

#[test]
fn a_tool_is_found_by_what_it_says_now() {
    let says = Arc::new(Mutex::new(String::new()));
    let registry = Registry::new();
    registry.register("host", Arc::new(Described(Arc::clone(&says)))).unwrap();
    let long = format!("{} Zebras.", "Horses and ".repeat(10_000));
    // The first one is kept, and others have no room or another text.
    for (text, word, others) in [
        ("Counts Apples.", "apples", ["pears", "zebras"]),
        ("Counts pears.", "pears", ["apples", "zebras"]),
        (&long, "zebras", ["apples", "pears"]),
        ("Counts Apples.", "apples", ["pears", "zebras"]),
    ] {
        *says.lock().unwrap() = text.to_owned();
        for _ in 0..2 {
            let found = |word| registry.snapshot().search(word, 9).len();
            assert_eq!((found(word), others.map(found)), (1, [0, 0]), "{word}");
        }
    }
}

#[test]
fn the_best_place_of_a_word_counts() {
    let scores = |query: &str| {
        let registry = Registry::new();
        let mut metadata = Metadata::new();
        metadata.title = Some("Logs of a\nrepository".into());
        metadata.search_hint = Some("commitments".into());
        metadata.aliases = vec!["history".into()];
        let description = "Lists catalogs: each Commit\nof a log. It is LOUD.".into();
        let tool = Named { name: "git:show_log".into(), description, metadata };
        registry.register("host", Arc::new(tool)).unwrap();
        registry.snapshot().search(query, 1).first().map_or(0, |it| it.score)
    };
    for (query, expected) in [
        ("log", 64),    // the name, whole
        ("lo", 48),     // it begins a word of the name
        ("istory", 32), // within the alias
        ("sto", 0),     // too short for that
        ("logs", 32),   // the title
        ("commit", 24), // it begins the hint, and stands whole in the description
        ("loud", 8),    // the description
        ("catalo", 6),  // it begins a word of it
        ("atalogs", 4), // within one
        ("log commit", 88),
        ("show history each", 136),
    ] {
        assert_eq!(scores(query), expected, "{query}");
    }
}

proptest! {
    /// Over any set of ids, crafted ones included: wire names are legal, unique, and lead back.
    #[test]
    fn wire_names_decode_to_their_ids(
        mut names in proptest::collection::vec(
            prop_oneof![
                "([a-b_7é.-]{1,4}:)?[a-b_:é.-]{1,5}",
                "[A-Za-z0-9][A-Za-z0-9-]{0,63}:[A-Za-z][A-Za-z0-9_-]{0,63}",
                r"\PC{1,12}",
            ],
            1..24,
        ),
        exchange in any::<bool>(),
    ) {
        // An owner that knows the rule can register what another tool's wire name would be.
        let ids = names.iter().filter_map(|it| ToolId::parse(it).ok());
        let crafted: Vec<String> = ids.map(|it| it.wire_name()).collect();
        names.extend(crafted);
        let registry = Registry::new();
        let mut registered = 0;
        for name in &names {
            registered += usize::from(registry.register("all", tool(name)).is_ok());
        }
        if exchange {
            let all: Vec<_> =
                registry.snapshot().iter().map(|it| tool(it.id().as_str())).collect();
            registry.replace_owner("all", all).unwrap();
        }
        let snapshot = registry.snapshot();
        prop_assert_eq!(snapshot.len(), registered);
        let mut seen = std::collections::HashSet::new();
        for entry in snapshot.iter() {
            prop_assert!(crate::name::is_wire_name(entry.wire_name()));
            prop_assert!(seen.insert(entry.wire_name().to_owned()));
            prop_assert_eq!(snapshot.get(entry.wire_name()).map(Entry::id), Some(entry.id()));
        }
    }

    /// No name that a plugin may have is ever refused, whatever the wire names come to.
    #[test]
    fn plugins_are_never_refused_for_their_wire_names(
        names in proptest::collection::btree_set(
            "[a-b7][a-b7-]{0,3}:[a-b][a-b_-]{0,4}",
            1..40,
        ),
    ) {
        let registry = Registry::new();
        for name in &names {
            registry.register("all", tool(name)).unwrap();
        }
        prop_assert_eq!(registry.snapshot().len(), names.len());
    }
}
