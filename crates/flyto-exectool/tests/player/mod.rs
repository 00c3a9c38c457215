//! A backend that plays what a test tells it to: any ending is there at once, and no process runs.

use std::{
    fmt,
    future::pending,
    io::Cursor,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Capability, Control, Ended, ExecError, ExecErrorKind, Executor, Exit, Running,
    Signal, Spec, Target,
};

/// What the program does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Play {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) ends: Ends,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Ends {
    #[default]
    Well,
    With(Exit),
    /// It runs until it is ended.
    Never,
    /// It runs, and how it ended is not known.
    OutOfSight,
    /// It does not start.
    NotStarted(ExecErrorKind),
}

/// Plays the same for every spec, and keeps the last one.
#[derive(Clone)]
pub(crate) struct Player {
    capabilities: Capabilities,
    play: Play,
    pub(crate) last_spec: Arc<Mutex<Option<Spec>>>,
}

impl Player {
    pub(crate) fn new(play: Play) -> Self {
        let declared = [Capability::GroupKill, Capability::Grace];
        Self {
            capabilities: Capabilities::new("player").with(declared),
            play,
            last_spec: Arc::default(),
        }
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Player")
    }
}

#[async_trait]
impl Executor for Player {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let what = format!("start {:?}", spec.program.as_os_str());
        *self.last_spec.lock().expect("no test panics while it holds it") = Some(spec);
        if let Ends::NotStarted(kind) = self.play.ends {
            return Err(ExecError::new(kind, what).with_source("the reason"));
        }
        let mut running = Running::new(Played(self.play.ends));
        running.stdout = Some(Box::new(Cursor::new(self.play.stdout.clone())));
        running.stderr = Some(Box::new(Cursor::new(self.play.stderr.clone())));
        Ok(running)
    }
}

#[derive(Debug)]
struct Played(Ends);

#[async_trait]
impl Control for Played {
    async fn wait(&self) -> Result<Exit, ExecError> {
        match self.0 {
            Ends::Well => Ok(Exit::Code(0)),
            Ends::With(exit) => Ok(exit),
            Ends::OutOfSight => {
                Err(ExecError::new(ExecErrorKind::Lost, "wait for the program").with_source("gone"))
            }
            Ends::Never | Ends::NotStarted(_) => pending().await,
        }
    }

    fn signal(&self, _: Signal, _: Target) -> Result<(), ExecError> {
        Ok(())
    }

    async fn end(&self, _: Duration) -> Result<Ended, ExecError> {
        Ok(Ended::clean(match self.0 {
            Ends::With(exit) => exit,
            Ends::Never => Exit::Signal(Signal::KILL),
            _ => Exit::Code(0),
        }))
    }
}
