//! Finding plugins in directories, and reading files that are not what they seem.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
};

use common::tree::Tree;
use expect_test::expect;
use flyto_execenv::Environment;
use flyto_plugin::{Catalogue, Depth, Filter, LoadOptions, PluginState, load};

#[test]
fn directories_in_order_and_names_sorted() {
    let tree = Tree::new();
    for name in ["b/two", "b/one", "b/10", "a/z"] {
        tree.plugin(name, &name.replace('/', "-"));
    }
    tree.plugin("b/one/below", "too-deep");
    tree.file("b/readme.txt", "");
    tree.file("b/no-plugin/other.json", "{}");
    tree.check(
        &["b", "missing", "a", "b/readme.txt"],
        &Filter::new(),
        expect![[r#"
        b: Searched
        missing: Missing
        a: Searched
        b/readme.txt: Unreadable
            b/readme.txt: error[F0134]: the directory cannot be read: Not a directory (os error 20)
        - b-10 in b/10: loaded
        - b-one in b/one: loaded
        - b-two in b/two: loaded
        - a-z in a/z: loaded
    "#]],
    );
    let catalogue = tree.discover(&["b"], &Filter::new());
    let plugin = catalogue.plugin("b-one").expect("there");
    assert_eq!(plugin.dir(), tree.path("b/one"));
    assert_eq!(catalogue.plugins().count(), 3);
    assert_eq!(catalogue, tree.discover(&["b"], &Filter::new()));
}

#[test]
fn a_directory_that_is_a_plugin_is_one() {
    let tree = Tree::new();
    tree.plugin("p", "p");
    tree.plugin("p/below", "below");
    tree.check(
        &["p"],
        &Filter::new(),
        expect![[r#"
        p: Plugin
        - p in p: loaded
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn one_directory_twice_is_searched_once() {
    let tree = Tree::new();
    tree.plugin("a/p", "p");
    std::os::unix::fs::symlink(tree.path("a"), tree.path("link")).expect("linked");
    tree.check(
        &["a", "a/../a", "link"],
        &Filter::new(),
        expect![[r#"
        a: Searched
        a/../a: Repeated
        link: Repeated
        - p in a/p: loaded
    "#]],
    );
}

#[test]
fn the_first_of_two_equal_names_stays() {
    let tree = Tree::new();
    tree.plugin("a/x", "same");
    tree.plugin("a/y", "same");
    tree.plugin("b/x", "same");
    tree.plugin("b/y", "other");
    tree.check(
        &["a", "b"],
        &Filter::new(),
        expect![[r#"
            a: Searched
            b: Searched
            - same in a/x: loaded
            - same in a/y: refused
                1:10: error[F0130]: there is another plugin "same" before this one
                    at /name
                    help: rename one of the two, or block the name that is not wanted
                    a/x/plugin.json:1:10: it is here first
            - same in b/x: refused
                1:10: error[F0130]: there is another plugin "same" before this one
                    at /name
                    help: rename one of the two, or block the name that is not wanted
                    a/x/plugin.json:1:10: it is here first
            - other in b/y: loaded
        "#]],
    );
}

#[test]
fn a_broken_plugin_costs_itself() {
    let tree = Tree::new();
    tree.file("a/broken/plugin.json", "{\"name\": \"broken\",}");
    tree.file("a/empty/plugin.json", "");
    tree.file("a/latin/plugin.json", b"{\"name\": \"\xe9\"}");
    tree.file(
        "a/partly/plugin.json",
        r#"{"name": "partly", "tools": [{"name": "t", "description": "d", "command": "a b"}, {"name": "u", "command": "ls"}]}"#,
    );
    // The name of a plugin that is refused is free.
    tree.file("a/same/plugin.json", r#"{"name": "p", "tools": []}"#);
    tree.plugin("b/p", "p");
    tree.check(
        &["a", "b"],
        &Filter::new(),
        expect![[r#"
            a: Searched
            b: Searched
            - ? in a/broken: refused
                1:18: error[F0007]: a comma behind the last member of an object
                    help: remove the comma
                    , -> 
            - ? in a/empty: refused
                1:1: error[F0004]: the file is empty
                    help: a JSON document is a value, such as `{}`
            - ? in a/latin: refused
                1:11: error[F0002]: byte 0xE9 is not UTF-8
                    help: save the file as UTF-8
            - partly in a/partly: loaded with errors
                1:75: error[F0112]: "a b" is a command line, and no program has that name
                    at /tools/0/command
                    because "command" is one program and "args" are its arguments; no shell is involved
                    help: write `"command": "a", "args": ["b"]`
                    "a b" -> "a", "args": ["b"]
                1:83: warning[F0121]: the tool "u" has no description
                    at /tools/1
                    because a model chooses a tool by its description
                    help: say in a sentence or two what the tool does and when to use it
            - p in a/same: refused
                1:24: error[F0105]: the plugin has neither a tool nor a server
                    at /tools
                    help: add a tool to "tools"
            - p in b/p: loaded
        "#]],
    );

    let catalogue = tree.discover(&["a"], &Filter::new());
    let partly = catalogue.found.iter().find(|it| it.name.as_deref() == Some("partly"));
    let about = |tool| partly.expect("found").findings_about(tool).count();
    assert_eq!((about("t"), about("u"), about("v")), (1, 1, 0));
    assert_eq!(catalogue.findings().count(), 6);
}

#[test]
fn the_filter_holds_plugins_back() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.plugin(&format!("d/{name}"), name);
    }
    tree.file("d/bad/plugin.json", r#"{"name": "bad", "tools": 5}"#);
    let filter = Filter::new().allow(["a", "b", "bad"]).block(["b", "bad"]);
    tree.check(
        &["d"],
        &filter,
        expect![[r#"
        d: Searched
        - a in d/a: loaded
        - b in d/b: blocked
        - bad in d/bad: blocked
        - c in d/c: not allowed
    "#]],
    );
    tree.check(
        &["d"],
        &Filter::disabled().block(["b"]),
        expect![[r#"
        d: Searched
        - a in d/a: disabled
        - b in d/b: blocked
        - bad in d/bad: disabled
        - c in d/c: disabled
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn what_is_called_plugin_json_and_is_no_file_is_not_waited_for() {
    use std::os::unix::fs::symlink;

    let tree = Tree::new();
    fs::create_dir_all(tree.path("a/dir/plugin.json")).expect("created");
    for name in ["device", "dangling", "loop", "linked", "fifo", "huge"] {
        fs::create_dir_all(tree.path(&format!("a/{name}"))).expect("created");
    }
    symlink("/dev/zero", tree.path("a/device/plugin.json")).expect("linked");
    symlink("nowhere", tree.path("a/dangling/plugin.json")).expect("linked");
    symlink("plugin.json", tree.path("a/loop/plugin.json")).expect("linked");
    let real = tree.plugin("elsewhere", "linked");
    symlink(real, tree.path("a/linked/plugin.json")).expect("linked");
    symlink(tree.path("elsewhere"), tree.path("a/linked-dir")).expect("linked");
    symlink("/etc/passwd", tree.path("a/file-link")).expect("linked");
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.path("a/fifo/plugin.json"), 0o644.into())
        .expect("made");
    let huge = fs::File::create(tree.path("a/huge/plugin.json")).expect("created");
    huge.set_len(flyto_diagnostics::files::MAX_FILE_BYTES + 1).expect("a sparse file");
    tree.check(&["a"], &Filter::new(), expect![[r#"
        a: Searched
        - ? in a/dangling: refused
            a/dangling/plugin.json: error[F0133]: the link leads nowhere
        - ? in a/device: refused
            a/device/plugin.json: error[F0001]: the file cannot be read: it is a device
        - ? in a/dir: refused
            a/dir/plugin.json: error[F0001]: the file cannot be read: it is a directory
        - ? in a/fifo: refused
            a/fifo/plugin.json: error[F0001]: the file cannot be read: it is a pipe
        - ? in a/huge: refused
            a/huge/plugin.json: error[F0001]: the file cannot be read: it is larger than 16 MiB
        - linked in a/linked: loaded
        - linked in a/linked-dir: refused
            1:10: error[F0130]: there is another plugin "linked" before this one
                at /name
                help: rename one of the two, or block the name that is not wanted
                a/linked/plugin.json:1:10: it is here first
        - ? in a/loop: refused
            a/loop/plugin.json: error[F0001]: the file cannot be read: Too many levels of symbolic links (os error 40)
    "#]]);
}

#[test]
fn one_plugin_by_directory_or_file() {
    let tree = Tree::new();
    let file = tree.plugin("p", "p");
    let named = tree.file("p/other.json", fs::read(&file).expect("read"));
    for path in [tree.path("p"), file, named] {
        let loaded = load(&path, &LoadOptions::new());
        assert!(loaded.findings.is_empty(), "{}", path.display());
        assert_eq!(loaded.plugin.expect("loaded").dir(), tree.path("p"));
    }
    let loaded = load(tree.path("q"), &LoadOptions::new());
    assert!(loaded.plugin.is_none());
    let text = common::show(&loaded.findings).replace(&format!("{}/", tree.root().display()), "");
    expect![[r#"
        q: error[F0133]: there is no manifest
            help: a plugin is a directory with a `plugin.json`
    "#]]
    .assert_eq(&text);
}

fn fixtures(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures")).join(path)
}

#[test]
fn every_fixture_loads_without_a_finding() {
    for collection in ["plugins", "hostile/plugins"] {
        // Without a PATH, so that it does not matter which interpreters this machine has.
        let options = LoadOptions::new().depth(Depth::Full);
        let catalogue = Catalogue::discover([fixtures(collection)], &Filter::new(), &options);
        assert!(!catalogue.found.is_empty());
        for found in &catalogue.found {
            // There, one file was changed after its digest was written down.
            if found.dir.ends_with("tampered") {
                let shown = common::show(&found.findings);
                assert!(
                    shown.contains("error[F0129]: the SHA-256 of \"changed.sh\" is "),
                    "{shown}"
                );
                assert_eq!(found.findings.iter().count(), 1, "{shown}");
                continue;
            }
            assert_eq!(common::show(&found.findings), "", "{}", found.dir.display());
            assert_eq!(found.state, PluginState::Loaded);
        }
    }
}

#[test]
fn every_bad_fixture_has_a_finding() {
    let mut n_cases = 0;
    for case in fs::read_dir(fixtures("bad/plugin")).expect("cases") {
        let dir = case.expect("an entry").path();
        // With a PATH, for without one it is not known that a program is not in it; and with a host
        // that has no variables, for the same reason.
        let options = LoadOptions::new().depth(Depth::Full).path("/no/such/directory");
        let options = options.env(Environment::new());
        let loaded = load(&dir, &options);
        assert!(!loaded.findings.is_empty(), "{}", dir.display());
        n_cases += 1;
    }
    assert!(n_cases > 40);
}
