use std::{collections::HashSet, ffi::OsStr, fs, path::Path, sync::Mutex, time::Instant};

use flyto_execenv::{ExecEnv, local::Local};
use notify::{Event, EventKind, event::Flag};
use tempfile::TempDir;

use super::{
    follow::{DirWatcher, Followed},
    interest::Interests,
    *,
};
use crate::{Config, Surroundings};

/// Long enough for any machine; a test that comes to it fails.
const GUARD: Duration = Duration::from_secs(60);

fn host(dir: &TempDir) -> Arc<Host> {
    let mut config = Config::default();
    config.plugins.enabled = true;
    config.plugins.plugin_dirs = vec![dir.path().join("plugins")];
    let surroundings = Surroundings::new(Default::default(), dir.path());
    Arc::new(Host::new(ExecEnv::new(Local::new()), surroundings, config))
}

fn add_plugin(dir: &TempDir, name: &str) {
    let plugin = dir.path().join("plugins").join(name);
    fs::create_dir_all(&plugin).expect("created");
    let tool = r#"{"name": "t", "description": "d", "command": "true"}"#;
    let text = format!(r#"{{"name": "{name}", "tools": [{tool}]}}"#);
    fs::write(plugin.join("plugin.json"), text).expect("written");
}

fn next(watching: &mut Watching) -> Option<HostChanges> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        tokio::time::timeout(GUARD, watching.changed()).await.expect("changes come")
    })
}

/// Watches with a watcher of the test's own.
fn watch_with(
    host: &Arc<Host>,
    open: fn(Arc<Pause>) -> notify::Result<Box<dyn DirWatcher>>,
) -> Watching {
    let options = WatchOptions { fallback: Duration::from_millis(1), ..WatchOptions::default() };
    let pause = Arc::new(Pause::new(options.quiet, options.latest));
    let mut worker = Worker::new(Arc::downgrade(host), Arc::clone(&pause), &options);
    worker.open = open;
    let moments = host.moment.subscribe();
    let seen = moments.borrow().clone();
    thread::spawn(move || worker.run());
    Watching { pause, moments, seen }
}

/// Sees so many directories at most.
#[derive(Debug)]
struct Few(usize);

impl DirWatcher for Few {
    fn watch(&mut self, _: &Path) -> notify::Result<()> {
        let rest = self.0.checked_sub(1);
        self.0 = rest.ok_or_else(|| notify::Error::new(notify::ErrorKind::MaxFilesWatch))?;
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) {
        self.0 += 1;
    }
}

#[test]
fn without_watches_the_host_looks_by_itself_and_says_so() {
    type Open = fn(Arc<Pause>) -> notify::Result<Box<dyn DirWatcher>>;
    let too_few: Open = |_| Ok(Box::new(Few(2)));
    let none: Open = |_| Err(notify::Error::io(std::io::Error::other("no inotify here")));
    for (open, what) in [(too_few, "has no watches left"), (none, "no inotify here")] {
        let dir = tempfile::tempdir().expect("a directory");
        add_plugin(&dir, "a");
        let host = host(&dir);
        let mut watching = watch_with(&host, open);
        let findings = next(&mut watching).expect("the host is there").findings;
        let finding = findings.iter().next().expect("a finding");
        assert!(finding.message.contains(what), "{}", finding.message);
        assert_eq!(finding.code, crate::codes::NOT_WATCHED);
        assert_eq!(host.report().findings().count(), 1);
        add_plugin(&dir, "b");
        let changes = next(&mut watching).expect("the host is there");
        assert_eq!(changes.sources[0].name, "b");
        // It is said once, however often the host looks.
        assert!(changes.findings.is_empty());
    }
}

#[test]
fn nothing_is_left_of_a_watching_that_is_dropped() {
    let dir = tempfile::tempdir().expect("a directory");
    add_plugin(&dir, "a");
    let host = host(&dir);
    let watching = host.watch(WatchOptions::default()).expect("a thread");
    let pause = Arc::downgrade(&watching.pause);
    drop(watching);
    // Both threads hold it: the one that looks, and the one that asks the system.
    let start = Instant::now();
    while pause.strong_count() > 0 {
        assert!(start.elapsed() < GUARD, "a thread is left");
        thread::yield_now();
    }
    assert_eq!(Arc::strong_count(&host), 1);
}

#[test]
fn a_host_that_is_gone_has_no_changes() {
    let dir = tempfile::tempdir().expect("a directory");
    let host = host(&dir);
    let mut watching = host.watch(WatchOptions::default()).expect("a thread");
    drop(host);
    assert!(next(&mut watching).is_none());
}

#[test]
fn events_that_were_lost_are_a_reason_to_look() {
    let pause = Pause::new(Duration::ZERO, Duration::ZERO);
    pause.take(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    assert!(pause.wait(None));
    pause.take(Err(notify::Error::generic("unreadable")));
    assert!(pause.wait(None));
    assert!(pause.wait(Some(Duration::ZERO)), "it is time to look");
    pause.stop();
    assert!(!pause.wait(None));
}

/// What was asked of the system.
#[derive(Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl DirWatcher for Log {
    fn watch(&mut self, dir: &Path) -> notify::Result<()> {
        self.0.lock().expect("no panic").push(format!("+{}", dir.display()));
        Ok(())
    }

    fn unwatch(&mut self, dir: &Path) {
        self.0.lock().expect("no panic").push(format!("-{}", dir.display()));
    }
}

#[test]
fn a_directory_has_one_watch_that_follows_its_path() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("a")).expect("created");
    std::os::unix::fs::symlink("a", path("link")).expect("linked");
    let mut wanted = Interests::default();
    wanted.add_name(&path("a"), OsStr::new("x"));
    wanted.add_name(&path("link"), OsStr::new("y"));
    wanted.add_entries(&path("missing"));

    let log = Log::default();
    let asked = Arc::clone(&log.0);
    let mut followed = Followed::new(Box::new(log));
    let mut check = |doubtful: &[&str], has_new: bool, expect: &[&str]| {
        let doubtful: HashSet<_> = doubtful.iter().map(|it| path(it)).collect();
        let step = followed.step(wanted.clone(), &doubtful);
        let names: Vec<_> = step.interests.0[&path("a")].names.iter().collect();
        assert_eq!(names, ["x", "y"], "both paths lead to one directory");
        assert_eq!(step.has_new, has_new);
        let root = format!("{}/", dir.path().display());
        let asked: Vec<_> = std::mem::take(&mut *asked.lock().expect("no panic"));
        let asked: Vec<_> = asked.iter().map(|it| it.replace(&root, "")).collect();
        assert_eq!(asked, expect);
    };
    check(&[], true, &["+a"]);
    check(&[], false, &[]);
    // Replaced by another of the same name.
    fs::rename(path("a"), path("old")).expect("renamed");
    fs::create_dir(path("a")).expect("created");
    check(&[], true, &["-a", "+a"]);
    // Moved away and back, perhaps: the system has taken the watch off.
    check(&["a"], true, &["-a", "+a"]);
}
