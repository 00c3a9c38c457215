//! Looking again at plugins that were edited meanwhile.

mod common;

use std::{fs, sync::Arc};

use common::tree::Tree;
use expect_test::{Expect, expect};
use flyto_plugin::{Catalogue, ChangeKind, Filter, Plugin, PluginState};

const TOOL: &str = r#"{"name": "t", "description": "d", "command": "ls"}"#;
const OTHER_TOOL: &str = r#"{"name": "u", "description": "d", "command": "ls"}"#;
const BAD_TOOL: &str = r#"{"name": "t", "description": "d", "command": "ls -l"}"#;

/// Plugins that are edited and looked at again, and again.
struct Edited {
    tree: Tree,
    catalogue: Catalogue,
}

impl Edited {
    /// Begins with what is there.
    fn new(tree: Tree, dirs: &[&str]) -> Self {
        let catalogue = tree.discover(dirs, &Filter::new());
        Self { tree, catalogue }
    }

    /// A plugin `p` in a directory of its own.
    fn one_plugin() -> Self {
        let tree = Tree::new();
        tree.plugin("d/p", "p");
        Self::new(tree, &["d"])
    }

    fn manifest(&self, dir: &str, name: &str, tools: &[&str]) {
        let text = format!("{{\"name\": {name:?}, \"tools\": [{}]}}", tools.join(", "));
        self.tree.file(&format!("{dir}/plugin.json"), text);
    }

    /// Looks again and shows what has changed, and what is there.
    #[track_caller]
    fn check(&mut self, expect: Expect) {
        let reload = self.catalogue.reload();
        let mut res = String::new();
        for change in &reload.changes {
            res += &format!("{} {} in {}\n", change.kind, change.plugin, change.dir.display());
        }
        let shown = self.tree.show(&reload.catalogue);
        let found = shown.split_once("- ").map_or("", |it| it.1);
        res = res.replace(&format!("{}/", self.tree.root().display()), "");
        res += &if found.is_empty() { "nothing\n".to_owned() } else { format!("- {found}") };
        expect.assert_eq(&res);
        self.catalogue = reload.catalogue;
    }

    fn plugin(&self, name: &str) -> Arc<Plugin> {
        Arc::clone(self.catalogue.plugin(name).expect("in use"))
    }
}

#[test]
fn what_is_not_touched_stays_the_same() {
    let mut edited = Edited::one_plugin();
    // With a finding, too.
    edited.manifest("d/q", "q", &[r#"{"name": "t", "command": "ls"}"#]);
    edited.check(expect![[r#"
        added q in d/q
        - p in d/p: loaded
        - q in d/q: loaded
            1:25: warning[F0121]: the tool "t" has no description
                at /tools/0
                because a model chooses a tool by its description
                help: say in a sentence or two what the tool does and when to use it
    "#]]);
    let (p, q) = (edited.plugin("p"), edited.plugin("q"));
    // Written anew with the same text.
    edited.manifest("d/p", "p", &[TOOL]);
    edited.check(expect![[r#"
        - p in d/p: loaded
        - q in d/q: loaded
            1:25: warning[F0121]: the tool "t" has no description
                at /tools/0
                because a model chooses a tool by its description
                help: say in a sentence or two what the tool does and when to use it
    "#]]);
    assert!(Arc::ptr_eq(&p, &edited.plugin("p")) && Arc::ptr_eq(&q, &edited.plugin("q")));
}

#[test]
fn a_program_that_goes_is_told_and_changes_nothing() {
    let mut edited = Edited::one_plugin();
    edited.tree.file("d/p/run", "");
    edited.manifest("d/p", "p", &[r#"{"name": "t", "description": "d", "command": "./run"}"#]);
    fs::remove_file(edited.tree.path("d/p/run")).expect("removed");
    edited.catalogue = edited.tree.discover(&["d"], &Filter::new());
    let plugin = edited.plugin("p");
    assert_eq!(edited.catalogue.findings().count(), 1);
    edited.tree.file("d/p/run", "");
    let reload = edited.catalogue.reload();
    // It is there, and may not be executed.
    let finding = reload.catalogue.findings().next().expect("a finding");
    assert_eq!(finding.message, "the program \"./run\" is not executable");
    assert_eq!(reload.changes, []);
    assert!(Arc::ptr_eq(&plugin, reload.catalogue.plugin("p").expect("in use")));
}

#[test]
fn added_changed_removed() {
    let mut edited = Edited::one_plugin();
    edited.tree.plugin("d/a", "a");
    edited.manifest("d/p", "p", &[TOOL, OTHER_TOOL]);
    edited.check(expect![[r#"
        added a in d/a
        changed p in d/p
        - a in d/a: loaded
        - p in d/p: loaded
    "#]]);
    assert_eq!(edited.plugin("p").tools().len(), 2);
    // A tool that was taken out goes.
    edited.manifest("d/p", "p", &[OTHER_TOOL]);
    fs::remove_dir_all(edited.tree.path("d/a")).expect("removed");
    edited.check(expect![[r#"
        removed a in d/a
        changed p in d/p
        - p in d/p: loaded
    "#]]);
    assert_eq!(edited.plugin("p").tools()[0].name, "u");
    fs::remove_dir_all(edited.tree.path("d")).expect("removed");
    edited.check(expect![[r#"
        removed p in d/p
        nothing
    "#]]);
    edited.tree.plugin("d/p", "p");
    edited.check(expect![[r#"
        added p in d/p
        - p in d/p: loaded
    "#]]);
}

#[test]
fn a_plugin_is_known_by_its_name() {
    let mut edited = Edited::one_plugin();
    fs::rename(edited.tree.path("d/p"), edited.tree.path("d/moved")).expect("renamed");
    edited.check(expect![[r#"
        changed p in d/moved
        - p in d/moved: loaded
    "#]]);
    assert_eq!(edited.plugin("p").dir(), edited.tree.path("d/moved"));
    edited.tree.plugin("d/moved", "q");
    edited.check(expect![[r#"
        removed p in d/moved
        added q in d/moved
        - q in d/moved: loaded
    "#]]);
}

#[test]
fn a_broken_edit_keeps_the_last_good_version() {
    let mut edited = Edited::one_plugin();
    let good = edited.plugin("p");
    edited.tree.file("d/p/plugin.json", "{\"name\": \"p\",}");
    edited.check(expect![[r#"
        kept p in d/p
        - p in d/p: kept
            d/p/plugin.json: note[F0138]: the last good version of "p" is in use
            1:13: error[F0007]: a comma behind the last member of an object
                help: remove the comma
                , -> 
    "#]]);
    assert!(Arc::ptr_eq(&good, &edited.plugin("p")));
    // A change is reported once.
    edited.check(expect![[r#"
        - p in d/p: kept
            d/p/plugin.json: note[F0138]: the last good version of "p" is in use
            1:13: error[F0007]: a comma behind the last member of an object
                help: remove the comma
                , -> 
    "#]]);
    // Broken in another way: the head is refused, and a name that cannot be used is no new one.
    edited.tree.file("d/p/plugin.json", format!("{{\"name\": \"p p\", \"tools\": [{TOOL}]}}"));
    edited.check(expect![[r#"
        kept p in d/p
        - p in d/p: kept
            d/p/plugin.json: note[F0138]: the last good version of "p" is in use
            1:10: error[F0101]: the name "p p" of a plugin holds ' '
                at /name
                help: a name is made of letters, digits and `-`, a letter or digit first
                "p p" -> "p-p"
    "#]]);
    edited.tree.file("d/p/plugin.json", b"\xff");
    edited.check(expect![[r#"
        kept p in d/p
        - p in d/p: kept
            d/p/plugin.json: note[F0138]: the last good version of "p" is in use
            1:1: error[F0002]: byte 0xFF is not UTF-8
                help: save the file as UTF-8
    "#]]);
    // Taken back.
    edited.tree.plugin("d/p", "p");
    edited.check(expect![[r#"
        changed p in d/p
        - p in d/p: loaded
    "#]]);
    assert!(Arc::ptr_eq(&good, &edited.plugin("p")));
    // Broken, and mended into another version.
    edited.tree.file("d/p/plugin.json", "");
    edited.check(expect![[r#"
        kept p in d/p
        - p in d/p: kept
            d/p/plugin.json: note[F0138]: the last good version of "p" is in use
            1:1: error[F0004]: the file is empty
                help: a JSON document is a value, such as `{}`
    "#]]);
    edited.manifest("d/p", "p", &[TOOL, OTHER_TOOL]);
    edited.check(expect![[r#"
        changed p in d/p
        - p in d/p: loaded
    "#]]);
    assert_eq!(edited.plugin("p").tools().len(), 2);
}

#[test]
fn an_error_takes_no_tool_away() {
    let mut edited = Edited::one_plugin();
    edited.manifest("d/p", "p", &[BAD_TOOL, OTHER_TOOL]);
    edited.check(expect![[r#"
        kept p in d/p
        - p in d/p: kept
            d/p/plugin.json: note[F0138]: the last good version of "p" is in use
            1:70: error[F0112]: "ls -l" is a command line, and no program has that name
                at /tools/0/command
                because "command" is one program and "args" are its arguments; no shell is involved
                help: write `"command": "ls", "args": ["-l"]`
                "ls -l" -> "ls", "args": ["-l"]
    "#]]);
    assert_eq!(edited.plugin("p").tools()[0].name, "t");
    let found = &edited.catalogue.found[0];
    // The finding stands in another text than the tool that is in use.
    assert_eq!(found.findings_about("t").count(), 0);
    // As a new entry beside the tool it takes nothing away.
    let new = BAD_TOOL.replace("\"t\"", "\"v\"");
    edited.manifest("d/p", "p", &[TOOL, &new]);
    edited.check(expect![[r#"
        changed p in d/p
        - p in d/p: loaded with errors
            1:122: error[F0112]: "ls -l" is a command line, and no program has that name
                at /tools/1/command
                because "command" is one program and "args" are its arguments; no shell is involved
                help: write `"command": "ls", "args": ["-l"]`
                "ls -l" -> "ls", "args": ["-l"]
    "#]]);
    // The error is an old one, so the tool was meant to go.
    edited.manifest("d/p", "p", &[OTHER_TOOL, &new]);
    let kinds: Vec<_> = edited.catalogue.reload().changes.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [ChangeKind::Changed]);
}

#[test]
fn what_never_was_good_is_refused() {
    let mut edited = Edited::one_plugin();
    edited.tree.file("d/new/plugin.json", "{");
    edited.check(expect![[r#"
        refused new in d/new
        - ? in d/new: refused
            1:2: error[F0012]: the text ends inside an object
                help: close the object with `}`
                1:1: the object begins here
        - p in d/p: loaded
    "#]]);
    assert_eq!(edited.catalogue.reload().changes, []);
    edited.tree.plugin("d/new", "new");
    edited.check(expect![[r#"
        added new in d/new
        - new in d/new: loaded
        - p in d/p: loaded
    "#]]);
}

#[test]
fn a_name_is_free_when_its_owner_goes() {
    let tree = Tree::new();
    tree.plugin("d/a", "same");
    tree.plugin("d/b", "same");
    let mut edited = Edited::new(tree, &["d"]);
    // An owner that is kept keeps the name.
    edited.tree.file("d/a/plugin.json", "");
    edited.check(expect![[r#"
        kept same in d/a
        - same in d/a: kept
            d/a/plugin.json: note[F0138]: the last good version of "same" is in use
            1:1: error[F0004]: the file is empty
                help: a JSON document is a value, such as `{}`
        - same in d/b: refused
            1:10: error[F0130]: there is another plugin "same" before this one
                at /name
                help: rename one of the two, or block the name that is not wanted
                d/a/plugin.json:1:10: it is here first
    "#]]);
    fs::remove_dir_all(edited.tree.path("d/a")).expect("removed");
    edited.check(expect![[r#"
        changed same in d/b
        - same in d/b: loaded
    "#]]);
    // One that comes before takes it.
    edited.tree.plugin("d/0", "same");
    edited.check(expect![[r#"
        changed same in d/0
        refused same in d/b
        - same in d/0: loaded
        - same in d/b: refused
            1:10: error[F0130]: there is another plugin "same" before this one
                at /name
                help: rename one of the two, or block the name that is not wanted
                d/0/plugin.json:1:10: it is here first
    "#]]);
    // What is kept has no right to a name that another one took first.
    let tree = Tree::new();
    tree.plugin("d/b", "same");
    let mut edited = Edited::new(tree, &["d"]);
    edited.tree.plugin("d/a", "same");
    edited.tree.file("d/b/plugin.json", "");
    edited.check(expect![[r#"
        changed same in d/a
        refused same in d/b
        - same in d/a: loaded
        - same in d/b: refused
            d/b/plugin.json: note[F0138]: the last good version of "same" is in use
            1:1: error[F0004]: the file is empty
                help: a JSON document is a value, such as `{}`
            1:10: error[F0130]: there is another plugin "same" before this one
                at /name
                help: rename one of the two, or block the name that is not wanted
                d/a/plugin.json:1:10: it is here first
    "#]]);
}

#[test]
fn a_plugin_that_becomes_blocked_goes() {
    let tree = Tree::new();
    tree.plugin("d/p", "p");
    let filter = Filter::new().block(["bad"]);
    let catalogue = tree.discover(&["d"], &filter);
    let mut edited = Edited { tree, catalogue };
    edited.tree.plugin("d/p", "bad");
    edited.check(expect![[r#"
        removed p in d/p
        - bad in d/p: blocked
    "#]]);
    edited.tree.plugin("d/p", "p");
    edited.check(expect![[r#"
        added p in d/p
        - p in d/p: loaded
    "#]]);

    // Also while a broken edit hides the name.
    edited.tree.file("d/p/plugin.json", "{");
    let reload = edited.catalogue.reload_with(&Filter::new().block(["p"]));
    let kinds: Vec<_> = reload.changes.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [ChangeKind::Removed, ChangeKind::Refused]);
    // The filter is remembered.
    edited.tree.plugin("d/p", "p");
    let reload = reload.catalogue.reload();
    assert_eq!(reload.catalogue.found[0].state, PluginState::Blocked);
    assert_eq!(reload.changes, []);
    let reload = reload.catalogue.reload_with(&Filter::new());
    assert_eq!(reload.changes[0].kind, ChangeKind::Added);
}

#[test]
fn a_directory_that_is_a_plugin_is_looked_at_again() {
    let tree = Tree::new();
    tree.plugin("p", "p");
    let mut edited = Edited::new(tree, &["p"]);
    edited.manifest("p", "p", &[OTHER_TOOL]);
    edited.check(expect![[r#"
        changed p in p
        - p in p: loaded
    "#]]);
    // Now it is a collection.
    fs::remove_file(edited.tree.path("p/plugin.json")).expect("removed");
    edited.tree.plugin("p/below", "below");
    edited.check(expect![[r#"
        removed p in p
        added below in p/below
        - below in p/below: loaded
    "#]]);
}

#[cfg(unix)]
#[test]
fn a_session_with_another_program_is_another_version() {
    use std::os::unix::fs::PermissionsExt;

    let program = |tree: &Tree, dir: &str, text: &str| {
        let file = tree.file(&format!("{dir}/new"), text);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("executable");
        fs::rename(file, tree.path(&format!("{dir}/run"))).expect("renamed");
    };
    let tree = Tree::new();
    for (name, lifetime) in [("calls", "call"), ("session", "session")] {
        let dir = format!("d/{name}");
        program(&tree, &dir, "#!/bin/sh\n");
        let binary = format!(r#"{{"path": "run", "lifetime": "{lifetime}"}}"#);
        let tool = r#"{"name": "t", "description": "d", "input_schema": {"type": "object"}}"#;
        let text = format!(
            r#"{{"name": "{name}", "execution": "binary", "binary": {binary}, "tools": [{tool}]}}"#
        );
        tree.file(&format!("{dir}/plugin.json"), text);
    }
    let mut edited = Edited::new(tree, &["d"]);
    let (calls, session) = (edited.plugin("calls"), edited.plugin("session"));
    edited.check(expect![[r#"
        - calls in d/calls: loaded
        - session in d/session: loaded
    "#]]);
    program(&edited.tree, "d/calls", "#!/bin/sh\n# other\n");
    program(&edited.tree, "d/session", "#!/bin/sh\n# other\n");
    edited.check(expect![[r#"
        changed session in d/session
        - calls in d/calls: loaded
        - session in d/session: loaded
    "#]]);
    assert!(Arc::ptr_eq(&calls, &edited.plugin("calls")));
    assert!(!Arc::ptr_eq(&session, &edited.plugin("session")));
    // While it is built anew it is not there, and the last good version stays.
    fs::remove_file(edited.tree.path("d/session/run")).expect("removed");
    edited.check(expect![[r#"
        - calls in d/calls: loaded
        - session in d/session: loaded
            1:63: warning[F0114]: the program "run" is not there
                at /binary/path
                because it is looked for at "d/session/run"
                help: build it before the first call
    "#]]);
    program(&edited.tree, "d/session", "#!/bin/sh\n# a third\n");
    edited.check(expect![[r#"
        changed session in d/session
        - calls in d/calls: loaded
        - session in d/session: loaded
    "#]]);
}

#[test]
fn a_thousand_plugins_at_once() {
    let tree = Tree::new();
    tree.plugin("d/p", "p");
    let edited = Edited::new(tree, &["d"]);
    for i in 0..1000 {
        edited.tree.plugin(&format!("d/{i:04}"), &format!("n{i}"));
    }
    let reload = edited.catalogue.reload();
    assert_eq!(reload.changes.len(), 1000);
    assert!(reload.changes.iter().all(|it| it.kind == ChangeKind::Added));
    assert_eq!(reload.changes[7].plugin, "n7");
    let again = reload.catalogue.reload();
    assert_eq!(again.changes, []);
    assert!(
        reload.catalogue.plugins().zip(again.catalogue.plugins()).all(|(a, b)| Arc::ptr_eq(a, b))
    );
}

#[test]
fn looks_that_were_missed_come_to_what_is_left_of_them() {
    let edited = Edited::one_plugin();
    let first = &edited.catalogue;
    edited.tree.plugin("d/a", "a");
    let second = first.reload().catalogue;
    fs::remove_dir_all(edited.tree.path("d/a")).expect("removed");
    edited.tree.plugin("d/b", "b");
    let third = second.reload().catalogue;
    let kinds = |since: &Catalogue| {
        let changes = third.changes_since(since);
        changes.iter().map(|it| format!("{} {}", it.kind, it.plugin)).collect::<Vec<_>>()
    };
    assert_eq!(kinds(first), ["added b"]);
    assert_eq!(kinds(&second), ["removed a", "added b"]);
    assert!(kinds(&third).is_empty());
}
