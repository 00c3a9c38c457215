//! Watching the files of all sources, so that what is edited is in use a moment later.
//!
//! The thread of [`Worker`] reloads the host after events; [`Pause`] decides when, [`places`] what
//! is watched, [`interest`] which events matter. Losing events is safe: the thread then looks at
//! everything. The configuration is not among the watched files.

mod follow; //   keeping the watched directories those that matter
mod identity; // which directory a path leads to
mod interest; // which events of a directory matter
mod pause; //    waiting until a flurry of events is over
mod places; //   what there is to watch
mod worker; //   the thread that looks again

use std::{io, sync::Arc, thread, time::Duration};

use tokio::sync::watch;

use self::{pause::Pause, worker::Worker};
use crate::{
    Host,
    changes::{HostChanges, Moment},
};

/// How a host watches its files.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_host::WatchOptions;
///
/// let mut options = WatchOptions::default();
/// assert_eq!(options.quiet, Duration::from_millis(100));
/// // A directory that another machine changes is looked at by the clock.
/// options.poll = Some(Duration::from_secs(30));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchOptions {
    /// How long nothing must happen to any file before the host looks again: 100 ms, which joins
    /// what an editor or a copy does in many steps, and which a person does not notice. The first look comes as late.
    pub quiet: Duration,
    /// How long after the first event the host looks at the latest, however much goes on: 1 s.
    pub latest: Duration,
    /// Looks that often whatever happens. `None`, the default, is right for local files; the
    /// system does not report what another machine does to a shared directory.
    pub poll: Option<Duration>,
    /// How often the host looks where the system cannot report changes, such as where it has no
    /// watches left: every 2 s.
    ///
    /// A look that takes longer than a tenth of this makes the interval longer.
    pub fallback: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            latest: Duration::from_secs(1),
            poll: None,
            fallback: Duration::from_secs(2),
        }
    }
}

/// Why files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// There is no thread for it.
    #[error("failed to start the thread that watches files")]
    Thread {
        /// What the system says.
        source: io::Error,
    },
}

/// A host that watches its files, for as long as this value lives.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings, WatchOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::new(ExecEnv::new(Local::new()), surroundings, Config::default());
/// let host = Arc::new(host);
/// let mut watching = host.watch(WatchOptions::default())?;
/// while let Some(changes) = watching.changed().await {
///     for tool in &changes.tools.added {
///         println!("new: {tool}");
///     }
/// }
/// # Ok(()) }
/// ```
///
/// The thread ends soon after this value is dropped; the host goes on with what it has loaded.
#[derive(Debug)]
#[must_use = "the watching ends when this is dropped"]
pub struct Watching {
    pause: Arc<Pause>,
    moments: watch::Receiver<Moment>,
    seen: Moment,
}

impl Host {
    /// Watches the files of all sources, and [reloads](Self::reload) when something happens to them.
    ///
    /// From the return of this function on, every change takes effect: of a manifest, of the program
    /// of a session, of a file of tool definitions, of the set of plugins, also where a directory
    /// comes later, is a link, or is replaced by renaming. Changes in quick succession count as one.
    /// Where the system has no watches left, the host looks every 2 s, and the
    /// [report](crate::LoadReport::watching) says so.
    ///
    /// The configuration is not watched: it says what to trust, and takes effect at the next start.
    ///
    /// The host itself is not kept alive by this. It takes a thread, and another one of the library
    /// that asks the system; both end soon after the result is dropped.
    ///
    /// # Errors
    ///
    /// [`WatchError::Thread`]: the system has no thread left.
    pub fn watch(self: &Arc<Self>, options: WatchOptions) -> Result<Watching, WatchError> {
        let pause = Arc::new(Pause::new(options.quiet, options.latest));
        let moments = self.moment.subscribe();
        let seen = moments.borrow().clone();
        let worker = Worker::new(Arc::downgrade(self), Arc::clone(&pause), &options);
        thread::Builder::new()
            .name("flyto-watch".to_owned())
            .spawn(move || worker.run())
            .map_err(|source| WatchError::Thread { source })?;
        Ok(Watching { pause, moments, seen })
    }
}

impl Watching {
    /// Waits until something is different from the last call, or from the start of the watching, and
    /// says what. Changes that came without a waiting caller are told as one: what was added and removed
    /// between two calls is not told at all. `None`: the host is gone.
    ///
    /// Works under any executor. Cancel-safe: no change is lost when the future is dropped.
    pub async fn changed(&mut self) -> Option<HostChanges> {
        loop {
            self.moments.changed().await.ok()?;
            let now = self.moments.borrow_and_update().clone();
            let changes = HostChanges::between(&self.seen, &now);
            self.seen = now;
            if !changes.is_empty() {
                return Some(changes);
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.pause.stop();
    }
}

#[cfg(test)]
mod tests;
