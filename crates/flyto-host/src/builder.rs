//! Building a host: its sources, its handlers, its stages.

use std::{error::Error, fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use flyto_execenv::{ExecEnv, ReadyOptions};
use flyto_security::SecretGuard;

use crate::{
    config::Config,
    host::Host,
    permission::Caller,
    places::Surroundings,
    secrets::HostGuard,
    stages::{
        Answer, Audit, Bound, Challenge, Challenger, Checkpoint, CheckpointHandler, Execute, Guard,
        Permission, Question, StageError, Stages, Validate, names,
    },
};

/// A host before its sources are loaded.
///
/// ```
/// use async_trait::async_trait;
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{
///     Config, Host, Surroundings,
///     stages::{Answer, CheckpointHandler, Question},
/// };
///
/// #[derive(Debug)]
/// struct ReleaseAll;
///
/// #[async_trait]
/// impl CheckpointHandler for ReleaseAll {
///     async fn ask(
///         &self,
///         question: &Question<'_>,
///     ) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
///         println!("released: {}", question.call.entry().id());
///         Ok(Answer::Yes)
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::builder(ExecEnv::new(Local::new()), surroundings, Config::default())
///     .checkpoint_handler(ReleaseAll)
///     .build();
/// assert_eq!(
///     host.stages().collect::<Vec<_>>(),
///     [
///         "validate",
///         "permission",
///         "reverse thinking",
///         "checkpoint",
///         "audit",
///         "execute",
///         "output guard",
///         "bound"
///     ]
/// );
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct HostBuilder {
    pub(crate) env: ExecEnv,
    pub(crate) surroundings: Surroundings,
    pub(crate) config: Config,
    pub(crate) output_dir: Option<PathBuf>,
    pub(crate) stages: Stages,
    /// What looks for secrets in texts for others.
    pub(crate) guard: Arc<dyn SecretGuard>,
    pub(crate) caller: Caller,
    pub(crate) starts_servers: bool,
}

impl Host {
    /// Begins a host with handlers or stages of its own; [`new`](Self::new) builds one without.
    #[must_use]
    pub fn builder(env: ExecEnv, surroundings: Surroundings, config: Config) -> HostBuilder {
        let output_dir = surroundings.places.state_dir.as_ref().map(|it| it.join("output"));
        let guard = HostGuard::new(surroundings.env.clone());
        let guard = config.secret_rules.iter().cloned().fold(guard, HostGuard::with_rules);
        let guard: Arc<dyn SecretGuard> = Arc::new(guard);
        let stages = Stages::new()
            .push(Validate)
            .and_then(|it| it.push(Permission::new(None)))
            .and_then(|it| it.push(Challenge::new(None)))
            .and_then(|it| it.push(Checkpoint::new(None)))
            .and_then(|it| match audit(&surroundings, &config, Arc::clone(&guard)) {
                Some(audit) => it.push(audit),
                None => Ok(it),
            })
            .and_then(|it| it.push(Execute))
            .and_then(|it| it.push(Guard::new(Arc::clone(&guard), config.output_guard)))
            .and_then(|it| it.push(Bound::new(config.output_limit_bytes, output_dir.clone())))
            .expect("their names differ");
        let caller = Caller::default();
        let starts_servers = false;
        HostBuilder { env, surroundings, config, output_dir, stages, guard, caller, starts_servers }
    }
}

impl HostBuilder {
    /// Has this handler answer for the calls that the rules ask about, and release those of tools with
    /// `requires_checkpoint`. Without one they are refused.
    #[must_use]
    pub fn checkpoint_handler(self, handler: impl CheckpointHandler) -> Self {
        let handler: Arc<dyn CheckpointHandler> = Arc::new(handler);
        let asked = Permission::new(Some(Arc::clone(&handler)));
        let released = Checkpoint::new(Some(handler));
        self.with(|stages| stages.replace(names::PERMISSION, asked))
            .with(|stages| stages.replace(names::CHECKPOINT, released))
    }

    /// Has this function answer what a [`checkpoint_handler`](Self::checkpoint_handler) is asked: for answers that are there at
    /// once. One that waits, as for a person, is a [`CheckpointHandler`], whose wait ends with the call.
    #[must_use]
    pub fn ask(self, answer: impl Fn(&Question<'_>) -> Answer + Send + Sync + 'static) -> Self {
        self.checkpoint_handler(AnswersBy(answer))
    }

    /// Says why there is no [`checkpoint_handler`](Self::checkpoint_handler), in what refuses a call for want of one:
    /// `stdin is no terminal`.
    #[must_use]
    pub fn no_checkpoint_handler(self, why: impl Into<String>) -> Self {
        let stage = Checkpoint::without(why);
        self.with(|stages| stages.replace(names::CHECKPOINT, stage))
    }

    /// Makes the calls of this host on behalf of `caller`; by default of an agent.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// Says that the program around the host starts the servers that it [declares](Host::servers). Without it, the report has a
    /// note for each plugin with servers.
    #[must_use]
    pub fn starts_servers(mut self) -> Self {
        self.starts_servers = true;
        self
    }

    /// Keeps processes of tools that say `ready` within these bounds, in place of those of the configuration
    /// ([`PluginConfig::ready`](flyto_plugin::PluginConfig::ready)). With 0 processes each call starts its own: for a
    /// program that makes one call and ends.
    ///
    /// Such a process was started before its call, under the policy, the limits and the variables of any call of the
    /// tool, and serves that call alone.
    #[must_use]
    pub fn ready(mut self, options: ReadyOptions) -> Self {
        self.config.plugins.ready = options;
        self
    }

    /// Has this challenger look at the calls of tools with `requires_reverse_thinking`. Without one they go on,
    /// and the record of the call says so.
    #[must_use]
    pub fn challenger(self, challenger: impl Challenger) -> Self {
        let stage = Challenge::new(Some(Arc::new(challenger)));
        self.with(|stages| stages.replace(names::REVERSE_THINKING, stage))
    }

    /// Keeps in this store how calls are taken back, by a stage behind the one that executes the tool. Without a store, a
    /// result has its inverse call all the same, and nothing is kept.
    #[cfg(unix)]
    #[must_use]
    pub fn undo_store(self, store: crate::undo::UndoStore) -> Self {
        let stage = crate::stages::RecordUndo::new(store);
        self.with(|stages| match stages.get(names::UNDO) {
            Some(_) => stages.replace(names::UNDO, stage),
            None => stages.insert_after(names::EXECUTE, stage),
        })
    }

    /// Changes the list of stages: inserts, replaces, removes, moves.
    ///
    /// # Errors
    ///
    /// What `change` gives: a name that is not there, or that is there already.
    pub fn stages(
        mut self,
        change: impl FnOnce(Stages) -> Result<Stages, StageError>,
    ) -> Result<Self, StageError> {
        self.stages = change(self.stages)?;
        Ok(self)
    }

    /// Has this guard look for secrets in place of a [`HostGuard`]: in questions about calls, and in the stages `output guard`
    /// and `audit`, where they are in the list by then. They become those of the configuration, so a stage of the program's own comes after this.
    #[must_use]
    pub fn secret_guard(mut self, guard: impl SecretGuard + 'static) -> Self {
        let guard: Arc<dyn SecretGuard> = Arc::new(guard);
        let stage = Guard::new(Arc::clone(&guard), self.config.output_guard);
        let audit = audit(&self.surroundings, &self.config, Arc::clone(&guard));
        self.guard = guard;
        let res = self.with(|stages| stages.replace(names::OUTPUT_GUARD, stage));
        match audit {
            Some(audit) => res.with(|stages| stages.replace(names::AUDIT, audit)),
            None => res,
        }
    }

    /// Loads the tools of all sources, as [`Host::new`] does.
    #[must_use]
    pub fn build(self) -> Host {
        Host::load(self)
    }

    /// Changes the list where that can be done: a stage that was removed before has no use for a handler.
    fn with(mut self, change: impl FnOnce(Stages) -> Result<Stages, StageError>) -> Self {
        if let Ok(stages) = change(self.stages.clone()) {
            self.stages = stages;
        }
        self
    }
}

/// Answers by a function.
struct AnswersBy<F>(F);

impl<F> fmt::Debug for AnswersBy<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswersBy")
    }
}

#[async_trait]
impl<F> CheckpointHandler for AnswersBy<F>
where
    F: Fn(&Question<'_>) -> Answer + Send + Sync + 'static,
{
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        Ok((self.0)(question))
    }
}

/// The stage that records calls; `None` where they are not recorded.
fn audit(
    surroundings: &Surroundings,
    config: &Config,
    guard: Arc<dyn SecretGuard>,
) -> Option<Audit> {
    let dir = surroundings.places.state_dir.as_ref()?.join("audit");
    config.audit.is_enabled.then(|| Audit::new(dir, &config.audit, guard))
}
