//! The thread that looks again.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use flyto_diagnostics::{Diagnostic, Findings, Location};
use notify::{RecommendedWatcher, Watcher as _};

use super::{
    WatchOptions,
    follow::{DirWatcher, Followed},
    pause::Pause,
    places,
};
use crate::{Host, codes};

/// A look takes at most this part of the time where the host has to look again and again.
///
/// A tenth: a slow file system is not kept busy by looking at it.
const POLL_SHARE: u32 = 10;

/// What the thread knows.
#[derive(Debug)]
pub(super) struct Worker {
    host: Weak<Host>,
    pause: Arc<Pause>,
    /// Before the first look.
    quiet: Duration,
    poll: Option<Duration>,
    fallback: Duration,
    /// What opens the watcher of the system. A test has its own.
    pub(super) open: fn(Arc<Pause>) -> notify::Result<Box<dyn DirWatcher>>,
}

impl Worker {
    pub(super) fn new(host: Weak<Host>, pause: Arc<Pause>, options: &WatchOptions) -> Self {
        let WatchOptions { quiet, latest: _, poll, fallback } = *options;
        Self { host, pause, quiet, poll, fallback, open: system_watcher }
    }

    /// Runs until the watching has ended, or the host is gone.
    ///
    /// The first look finds what changed since the host was built, whenever it comes. So it leaves the processors to what the program
    /// was started for, such as a first list of the tools.
    pub(super) fn run(self) {
        if !self.pause.wait(Some(self.quiet)) {
            return;
        }
        let (mut followed, mut watch_error) = match (self.open)(Arc::clone(&self.pause)) {
            Ok(watcher) => (Some(Followed::new(watcher)), None),
            Err(err) => (None, Some(err)),
        };
        self.follow(followed.as_mut(), &mut watch_error);
        loop {
            let took = {
                let Some(host) = self.host.upgrade() else { return };
                let start = Instant::now();
                host.reload();
                start.elapsed()
            };
            self.follow(followed.as_mut(), &mut watch_error);
            let fallback = watch_error.is_some().then(|| self.fallback.max(took * POLL_SHARE));
            let poll = self.poll.map(|it| it.max(took * POLL_SHARE));
            if !self.pause.wait(poll.into_iter().chain(fallback).min()) {
                return;
            }
        }
    }

    /// Watches what the sources are now. `watch_error` is why not all of it can be watched.
    fn follow(&self, followed: Option<&mut Followed>, watch_error: &mut Option<notify::Error>) {
        let Some(host) = self.host.upgrade() else { return };
        if let Some(followed) = followed {
            let moment = host.moment.borrow().clone();
            let wanted = places::interests(&moment.report, &moment.added);
            let doubtful = self.pause.take_doubtful();
            // Before the watches themselves: the first event of a new one has to find them.
            self.pause.set_interests(wanted.clone());
            let step = followed.step(wanted, &doubtful);
            self.pause.set_interests(step.interests);
            if step.has_new {
                self.pause.mark();
            }
            *watch_error = step.watch_error;
        }
        let mut findings = Findings::new();
        if let Some(err) = watch_error {
            findings.push(self.warning(err));
        }
        host.set_watching(findings);
    }

    /// For [`NOT_WATCHED`](codes::NOT_WATCHED), with the sysctl that raises the limit.
    fn warning(&self, err: &notify::Error) -> Diagnostic {
        let what = match &err.kind {
            notify::ErrorKind::MaxFilesWatch => {
                "the system has no watches left, so some changes are noticed late".to_owned()
            }
            notify::ErrorKind::Io(err) => {
                format!("the system does not report changes, so they are noticed late: {err}")
            }
            _ => format!("the system does not report changes, so they are noticed late: {err}"),
        };
        // There is one place for all: which of the directories is the first to be left out is chance.
        let place = match err.paths.first() {
            Some(path) => Location::file(path.display().to_string()),
            None => Location::file("fs.inotify"),
        };
        Diagnostic::warning(codes::NOT_WATCHED, place, what)
            .with_reason(format!("the files are looked at every {:?} instead", self.fallback))
            .with_help(
                "raise the limit, as with `sysctl fs.inotify.max_user_watches=524288` (and \
                 `fs.inotify.max_user_instances`), or name fewer plugin directories",
            )
    }
}

fn system_watcher(pause: Arc<Pause>) -> notify::Result<Box<dyn DirWatcher>> {
    let watcher =
        RecommendedWatcher::new(move |event| pause.take(event), notify::Config::default())?;
    Ok(Box::new(watcher))
}
