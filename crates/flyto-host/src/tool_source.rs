//! Sources that a host does not know of itself: stores of tools that the embedding program joins to it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use flyto_tools::Owner;

/// A store of tools that the embedding program adds to a host ([`Host::add_source`](crate::Host::add_source)).
///
/// The source itself registers its tools in the [registry](crate::Host::registry) of the host, under an owner of its own.
/// The host has it look again, and tells what has changed.
///
/// ```
/// use std::{path::{Path, PathBuf}, sync::Arc};
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, SourceKind, Surroundings, ToolSource};
/// use flyto_tools::{NativeTool, NoInput, Owner, Registry, Tool};
///
/// /// Has a tool for each file of a directory.
/// #[derive(Debug)]
/// struct Notes(PathBuf, Arc<Registry>);
///
/// impl ToolSource for Notes {
///     fn owner(&self) -> Owner {
///         Owner::new("notes")
///     }
///     fn path(&self) -> &Path {
///         &self.0
///     }
///     fn watched_dir(&self) -> PathBuf {
///         self.0.clone()
///     }
///     fn reload(&self) {
///         let files = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
///         let tools = files.filter_map(|it| {
///             let name = it.file_name().into_string().ok()?;
///             let tool = NativeTool::builder(name, "A note.").run(async |_, _: NoInput| "");
///             Some(Arc::new(tool.ok()?) as Arc<dyn Tool>)
///         });
///         self.1.replace_owner_where_free(&self.owner(), tools.collect::<Vec<_>>());
///     }
/// }
///
/// # let temp = tempfile::tempdir()?;
/// # let dir = temp.path().join("notes");
/// # std::fs::create_dir(&dir)?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(temp.path()));
/// let host = Host::new(ExecEnv::new(Local::new()), surroundings, Config::default());
/// host.add_source(Arc::new(Notes(dir.clone(), Arc::clone(host.registry()))));
/// std::fs::write(dir.join("milk"), "")?;
/// let changes = host.reload();
/// assert_eq!(changes.sources[0].source, SourceKind::Store);
/// assert_eq!(changes.tools.added[0].as_str(), "milk");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ToolSource: fmt::Debug + Send + Sync + 'static {
    /// The owner of its tools in the registry; no other source has it.
    fn owner(&self) -> Owner;

    /// Where it lies: the name by which changes are told.
    fn path(&self) -> &Path;

    /// The directory whose entries say that something has changed: one that comes, goes, is renamed or is written to. It
    /// need not be there yet.
    fn watched_dir(&self) -> PathBuf;

    /// Looks again, and exchanges its tools in the registry; those that are the same stay the same `Arc`. It is called by
    /// the thread that reloads the host, one call at a time, and may wait for a disk. It must not reload the host.
    fn reload(&self);

    /// Why it holds back a tool of this name, and what to do, as words that can follow a semicolon; `None` where it has none. It
    /// is asked where no source has such a tool.
    fn why_not(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }
}
