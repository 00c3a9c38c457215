//! Files that are edited while a host watches them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use expect_test::{Expect, expect};
use flyto_host::{Host, HostChanges, ToolSource, WatchOptions, Watching};
use flyto_tools::{DescribeContext, NativeTool, NoInput, Owner, Registry, Tool};

use crate::world::{World, call, manifest, manifest_of, shown};

/// Long enough for any machine; a test that comes to it fails.
const GUARD: Duration = Duration::from_secs(60);

/// A host that watches.
struct Watched {
    world: World,
    host: Arc<Host>,
    watching: Watching,
}

impl Watched {
    fn new(world: World) -> Self {
        Self::with(world, |_| {})
    }

    /// The same with a host that is changed before it watches.
    fn with(world: World, change: impl FnOnce(&Host)) -> Self {
        let host = Arc::new(world.host());
        change(&host);
        let watching = host.watch(WatchOptions::default()).expect("there are threads");
        Self { world, host, watching }
    }

    async fn next(&mut self) -> HostChanges {
        let changes = tokio::time::timeout(GUARD, self.watching.changed()).await;
        changes.expect("changes come").expect("the host is there")
    }

    /// Waits for the next changes.
    async fn check(&mut self, expect: Expect) {
        expect.assert_eq(&shown(&self.next().await));
    }

    /// Waits until the host has exactly these tools, however many steps that takes.
    async fn until(&mut self, tools: &[&str]) {
        loop {
            let snapshot = self.host.registry().snapshot();
            let there: Vec<_> = snapshot.iter().map(|it| it.id().as_str()).collect();
            if there == tools {
                return;
            }
            self.next().await;
        }
    }

    /// Waits until a tool has this description, however many steps that takes.
    async fn until_described(&mut self, name: &str, description: &str) {
        let ctx = DescribeContext::new();
        let is_it = |host: &Host| {
            host.find(name).is_ok_and(|it| it.tool().description(&ctx) == description)
        };
        while !is_it(&self.host) {
            self.next().await;
        }
    }
}

/// Makes `link` lead to `target` from now on, in one step.
fn link(target: &Path, link: &Path) {
    let new = link.with_extension("new");
    std::os::unix::fs::symlink(target, &new).expect("linked");
    fs::rename(&new, link).expect("renamed");
}

/// A store with a tool for each file of a directory, described by its text.
#[derive(Debug)]
struct Notes {
    dir: PathBuf,
    registry: Arc<Registry>,
    known: Mutex<BTreeMap<(String, String), Arc<dyn Tool>>>,
}

impl ToolSource for Notes {
    fn owner(&self) -> Owner {
        Owner::new("notes")
    }

    fn path(&self) -> &Path {
        &self.dir
    }

    fn watched_dir(&self) -> PathBuf {
        self.dir.clone()
    }

    fn reload(&self) {
        let mut known = self.known.lock().expect("no thread panicked");
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let now = files.filter_map(|it| {
            let name = it.file_name().into_string().ok()?;
            let text = fs::read_to_string(it.path()).ok().filter(|it| !it.is_empty())?;
            let make = || {
                let tool = NativeTool::builder(&name, &text).run(async |_, _: NoInput| "");
                Arc::new(tool.expect("a tool")) as Arc<dyn Tool>
            };
            let tool = known.get(&(name.clone(), text.clone())).cloned().unwrap_or_else(make);
            Some(((name, text), tool))
        });
        *known = now.collect();
        let replaced =
            self.registry.replace_owner_where_free(self.owner(), known.values().cloned());
        assert!(replaced.left_out.is_empty(), "{replaced:?}");
    }

    fn why_not(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.dir.join(name)).ok()?;
        text.is_empty().then(|| "the note is empty".to_owned())
    }
}

#[test]
fn a_store_says_why_it_holds_back_a_tool() {
    let world = World::new();
    world.write("notes/milk", "");
    let host = world.host();
    let registry = Arc::clone(host.registry());
    let dir = world.path("notes");
    host.add_source(Arc::new(Notes { dir, registry, known: Mutex::default() }));
    let why = |name| host.find(name).expect_err("no such tool").to_string();
    assert_eq!(why("milk"), r#"there is no tool "milk"; the note is empty"#);
    assert_eq!(why("bread"), r#"there is no tool "bread""#);
}

#[tokio::test]
async fn an_added_store_is_watched_also_before_it_is_there() {
    let world = World::new().plugin("p", "true");
    let dir = world.path("notes");
    let mut it = Watched::with(world, |host| {
        let registry = Arc::clone(host.registry());
        host.add_source(Arc::new(Notes { dir, registry, known: Mutex::default() }));
    });
    it.world.write("new/milk", "buy");
    fs::rename(it.world.path("new"), it.world.path("notes")).expect("renamed");
    it.check(expect![[r#"
        changed notes +milk
    "#]])
        .await;
    it.world.add_plugin("q", "true");
    it.check(expect![[r#"
        added q +q:run
    "#]])
        .await;
    fs::remove_file(it.world.path("notes/milk")).expect("removed");
    it.check(expect![[r#"
        changed notes -milk
    "#]])
        .await;
    // In place, where the file may be empty for a moment.
    for text in ["buy one", "buy two"] {
        it.world.write("notes/bread", text);
        it.until_described("bread", text).await;
    }
}

#[tokio::test]
async fn plugins_come_change_and_go() {
    let mut it = Watched::new(World::new().plugin("a", "true"));
    // Complete at once, as when a directory is moved here.
    it.world.write("elsewhere/b/plugin.json", &manifest("b", "true"));
    fs::rename(it.world.path("elsewhere/b"), it.world.path("plugins/b")).expect("renamed");
    it.check(expect![[r#"
        added b +b:run
    "#]])
        .await;
    it.world.write("plugins/b/plugin.json", &manifest_of("b", &["one"]));
    it.check(expect![[r#"
        changed b +b:one -b:run
    "#]])
        .await;
    fs::rename(it.world.path("plugins/b"), it.world.path("plugins/c")).expect("renamed");
    it.check(expect![[r#"
        changed b ~b:one
    "#]])
        .await;
    // The directory of that name is another one by now, and is watched as the first was.
    it.world.write("plugins/c/plugin.json", &manifest("c", "true"));
    it.check(expect![[r#"
        removed b -b:one
        added c +c:run
    "#]])
        .await;
    fs::remove_dir_all(it.world.path("plugins/a")).expect("removed");
    it.until(&["c:run"]).await;
}

#[tokio::test]
async fn a_directory_that_gets_its_manifest_later_is_a_plugin_then() {
    let mut it = Watched::new(World::new().plugin("a", "true"));
    fs::create_dir(it.world.path("plugins/b")).expect("created");
    it.world.add_plugin("c", "true");
    it.until(&["a:run", "c:run"]).await;
    it.world.add_plugin("b", "true");
    it.until(&["a:run", "b:run", "c:run"]).await;
}

#[tokio::test]
async fn a_broken_edit_is_told_and_mended() {
    let mut it = Watched::new(World::new().plugin("p", "true"));
    it.world.write("plugins/p/plugin.json", "{");
    it.check(expect![[r#"
        kept p F0012 F0138
    "#]])
        .await;
    it.world.add_plugin("p", "true");
    it.check(expect![[r#"
        changed p
    "#]])
        .await;
    assert_eq!(it.host.report().findings().count(), 0);
}

#[tokio::test]
async fn editors_replace_files_in_their_ways() {
    let mut it = Watched::new(World::new().plugin("p", "echo 0"));
    let path = it.world.path("plugins/p/plugin.json");
    // Beside it, and renamed over it.
    let new = it.world.write("plugins/p/.plugin.json.swp", &manifest("p", "echo 1"));
    fs::rename(new, &path).expect("renamed");
    it.check(expect![[r#"
        changed p ~p:run
    "#]])
        .await;
    assert_eq!(call(&it.host, "p:run", "{}").await.expect("a result").output, "1\n");
    // The old one put aside, the new one written in its place, the old one removed.
    for n in 2..5 {
        let backup = it.world.path("plugins/p/plugin.json~");
        fs::rename(&path, &backup).expect("renamed");
        fs::write(&path, manifest("p", &format!("echo {n}"))).expect("written");
        fs::remove_file(backup).expect("removed");
        it.check(expect![[r#"
            changed p ~p:run
        "#]])
            .await;
        let output = call(&it.host, "p:run", "{}").await.expect("a result").output;
        assert_eq!(output, format!("{n}\n"));
    }
}

#[tokio::test]
async fn a_thousand_plugins_at_once_take_few_looks() {
    let mut it = Watched::new(World::new().plugin("p", "true"));
    let names: BTreeSet<String> = (0..1000).map(|n| format!("n{n:03}")).collect();
    for name in &names {
        it.world.add_plugin(name, "true");
    }
    let mut added = BTreeSet::new();
    let mut n_looks = 0;
    while added.len() < names.len() {
        let changes = it.next().await;
        added.extend(changes.sources.iter().map(|it| it.name.clone()));
        n_looks += 1;
    }
    assert_eq!(added, names);
    // One a second at the most, and each of them finds many.
    assert!(n_looks < 100, "{n_looks}");
    assert_eq!(it.host.registry().snapshot().len(), 1001);
}

#[tokio::test]
async fn a_directory_may_come_later_and_be_replaced() {
    let mut world = World::new();
    world.config.plugins.plugin_dirs = vec![world.path("a/b/plugins")];
    let mut it = Watched::new(world);
    it.world.write("a/x", "");
    it.world.write("a/b/plugins/p/plugin.json", &manifest("p", "true"));
    it.until(&["p:run"]).await;

    it.world.write("new/q/plugin.json", &manifest("q", "true"));
    fs::rename(it.world.path("a/b/plugins"), it.world.path("old")).expect("renamed");
    fs::rename(it.world.path("new"), it.world.path("a/b/plugins")).expect("renamed");
    it.until(&["q:run"]).await;
    it.world.write("a/b/plugins/q/plugin.json", &manifest("r", "true"));
    it.until(&["r:run"]).await;

    fs::remove_dir_all(it.world.path("a")).expect("removed");
    it.until(&[]).await;
    it.world.write("a/b/plugins/p/plugin.json", &manifest("p", "true"));
    it.until(&["p:run"]).await;
}

#[tokio::test]
async fn links_are_followed() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        world.write(&format!("store/{name}/plugin.json"), &manifest(name, "true"));
    }
    world.write("real/file", "");
    world.write("versions/1/plugin.json", &manifest("v1", "true"));
    world.write("versions/2/plugin.json", &manifest("v2", "true"));
    link(Path::new("real"), &world.path("plugins"));
    link(&world.path("store/one"), &world.path("real/p"));
    link(Path::new("1"), &world.path("versions/now"));
    fs::create_dir(world.path("real/v")).expect("created");
    link(&world.path("versions/now/plugin.json"), &world.path("real/v/plugin.json"));
    let mut it = Watched::new(world);
    it.until(&["one:run", "v1:run"]).await;
    // What the link leads to is edited; the link leads elsewhere; its target is replaced.
    it.world.write("store/one/plugin.json", &manifest("uno", "true"));
    it.until(&["uno:run", "v1:run"]).await;
    link(&it.world.path("store/two"), &it.world.path("real/p"));
    it.until(&["two:run", "v1:run"]).await;
    fs::rename(it.world.path("store/two"), it.world.path("store/old")).expect("renamed");
    fs::rename(it.world.path("store/three"), it.world.path("store/two")).expect("renamed");
    it.until(&["three:run", "v1:run"]).await;
    link(Path::new("2"), &it.world.path("versions/now"));
    it.until(&["three:run", "v2:run"]).await;
}

#[tokio::test]
async fn the_program_of_a_session_belongs_to_it() {
    let world = World::new();
    let manifest = r#"{"name": "s", "execution": "binary",
        "binary": {"path": "bin/run", "protocol": "jsonrpc", "lifetime": "session"},
        "tools": [{"name": "t", "description": "d"}]}"#;
    world.write("plugins/s/plugin.json", manifest);
    let program = world.write("plugins/s/bin/run", "#!/bin/sh\n");
    let executable = || std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, executable()).expect("it is ours");
    let mut it = Watched::new(world);
    let new = it.world.write("plugins/s/bin/.new", "#!/bin/sh\n# newer\n");
    fs::set_permissions(&new, executable()).expect("it is ours");
    fs::rename(new, program).expect("renamed");
    it.check(expect![[r#"
        changed s ~s:t
    "#]])
        .await;
}

#[tokio::test]
async fn definition_files_are_watched() {
    let mut world = World::new();
    world.config.exec_tools = vec![world.path("x/tools.json")];
    let mut it = Watched::new(world);
    let text = r#"{"name": "one", "description": "d", "exec": ["true"]}"#;
    it.world.write("x/tools.json", text);
    it.until(&["one"]).await;
    it.world.write("x/tools.json", "[");
    it.check(expect![[r#"
        kept tools.json F0012 F0307
    "#]])
        .await;
    it.world.write("x/tools.json", &text.replace("one", "two"));
    it.until(&["two"]).await;
    fs::remove_file(it.world.path("x/tools.json")).expect("removed");
    it.until(&[]).await;
}
