//! What is different between two looks at the sources.
//!
//! A [`Moment`] is what a host has loaded at one time: the report and the [`Roster`] of its tools.
//! [`HostChanges::between`] compares two of them, which need not follow each other: a caller that
//! missed the looks between is told the difference as one.
//!
//! Tools are compared by the address of their `Arc`, not by what they declare.
//! [`Sources`](crate::sources) keeps the `Arc` of a tool whose source has not changed, so such a
//! tool is not reported.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use flyto_diagnostics::Findings;
use flyto_plugin::{ChangeKind, Found};
use flyto_tools::{Changes, Owner, Registry, Tool, ToolId};
use serde::{Serialize, Serializer};
use tokio::sync::watch;

use crate::{
    report::{ExecFile, ExecFileState, LoadReport},
    sources::file_owner,
    tool_source::ToolSource,
};

/// What is different between two moments of a host.
///
/// [`Host::reload`](crate::Host::reload) returns one, and `Watching::changed` one for each flurry of edits. A
/// program that shows its user what has changed walks [`sources`](Self::sources); one that tells a model walks
/// [`tools`](Self::tools).
///
/// A file of tool definitions that is written, and a look at it:
///
/// ```
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, SourceKind, Surroundings};
///
/// # let dir = tempfile::tempdir()?;
/// let file = dir.path().join("tools.json");
/// let mut config = Config::default();
/// config.exec_tools.push(file.clone());
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
/// assert!(host.reload().is_empty());
///
/// let tool = r#"[{"name": "kernel", "description": "Names it.", "exec": ["uname"]}]"#;
/// std::fs::write(&file, tool)?;
/// let changes = host.reload();
/// assert_eq!(changes.tools.added[0].as_str(), "kernel");
/// assert_eq!(changes.sources[0].source, SourceKind::ExecFile);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HostChanges {
    /// The sources that changed: plugins, those that are gone first, then files of tool definitions, then stores that the
    /// embedding program added.
    pub sources: Vec<SourceChange>,
    /// The tools that changed, of whatever owner.
    pub tools: Changes,
    /// What is new and concerns no single source: a directory that cannot be read, a name that two
    /// tools want, files that cannot be watched.
    ///
    /// What was known before and holds no more is not told: the [`LoadReport`] lists what holds
    /// now.
    pub findings: Findings,
}

/// What is different about one source.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SourceChange {
    /// What has happened to it.
    ///
    /// Serialised as one word, such as `added` ([`ChangeKind::name`]).
    #[serde(serialize_with = "kind_name")]
    pub kind: ChangeKind,
    /// What sort of source it is.
    pub source: SourceKind,
    /// The name of the plugin, or the path of the file or the store.
    pub name: String,
    /// The directory of the plugin, or the path of the file or the store.
    ///
    /// Serialised as text; bytes that are not UTF-8 are replaced.
    #[serde(serialize_with = "path_text")]
    pub path: PathBuf,
    /// Its tools that changed. Empty for a source that is kept or refused.
    ///
    /// A tool whose name moved to another owner is `removed` here and `added` there, while
    /// [`HostChanges::tools`] calls it `changed`.
    pub tools: Changes,
    /// Everything that is wrong or odd about it now.
    ///
    /// All of them, also those that an earlier look reported. Empty for a plugin that is gone.
    #[serde(serialize_with = "all_findings")]
    pub findings: Findings,
}

/// A sort of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SourceKind {
    /// A plugin.
    ///
    /// Serialised as `plugin`.
    Plugin,
    /// A file of tool definitions.
    ///
    /// Serialised as `exec_file`.
    ExecFile,
    /// A store that the embedding program added ([`Host::add_source`](crate::Host::add_source)).
    ///
    /// Serialised as `store`.
    Store,
}

impl HostChanges {
    /// Whether nothing is different.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { sources, tools, findings } = self;
        sources.is_empty() && tools.is_empty() && findings.is_empty()
    }

    /// What is different in `now`, seen from `before`. Called by
    /// [`Host::reload`](crate::Host::reload) and `Watching::changed`.
    ///
    /// Findings are equal where all their parts are, the place included. Those about one source are
    /// not repeated in [`findings`](Self::findings); they stand in its [`SourceChange`].
    pub(crate) fn between(before: &Moment, now: &Moment) -> Self {
        let (tools, mut tools_of) = now.roster.changes_since(&before.roster);
        let mut sources = plugins(&before.report, &now.report, &mut tools_of);
        sources.extend(files(&before.report, &now.report, &mut tools_of));
        sources.extend(stores(&now.added, &mut tools_of));
        let of_dirs = now.report.catalogue.dirs.iter().flat_map(|dir| {
            let mut dirs = before.report.catalogue.dirs.iter();
            let was = dirs.find(|it| it.path == dir.path).map(|it| &it.findings);
            dir.findings.iter().filter(move |it| !was.into_iter().flatten().any(|was| was == *it))
        });
        let findings = of_dirs
            .chain(new_findings(&before.report.names, &now.report.names))
            .chain(new_findings(&before.report.watching, &now.report.watching));
        let findings = findings.fold(Findings::new(), |mut res, it| {
            res.push(it.clone());
            res
        });
        Self { sources, tools, findings }
    }
}

/// Tells when what a host has loaded is another, whatever made it so: [`Host::reload`](crate::Host::reload), a watch of the
/// files, or a source that was added. From [`Host::reloads`](crate::Host::reloads).
///
/// It does not keep the host alive. Several changes before a look are one.
#[derive(Debug, Clone)]
pub struct Reloads(pub(crate) watch::Receiver<Moment>);

impl Reloads {
    /// Waits for the next change; `None` once the host is gone. A caller that wants to know what is different compares what it
    /// knew with [`Host::report`](crate::Host::report).
    ///
    /// Dropping the future loses no change.
    pub async fn changed(&mut self) -> Option<()> {
        self.0.changed().await.ok()
    }
}

/// What a host has loaded at one moment.
///
/// Cheap to clone: its parts are shared.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) report: Arc<LoadReport>,
    pub(crate) roster: Arc<Roster>,
    /// What the embedding program added.
    pub(crate) added: Arc<[Arc<dyn ToolSource>]>,
}

/// Which tools there are, without keeping them alive: a tool that was exchanged may have a process
/// that ends with it.
///
/// The weak reference still holds the address of the tool, so no other tool can get the same
/// address while a roster lives.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    tools: BTreeMap<ToolId, (Owner, Weak<dyn Tool>)>,
}

/// The changes of tools by their owner. Each source takes its own out, and what is left belongs to
/// owners that no source is named after, such as the host's own.
type ToolsOf<'a> = HashMap<&'a Owner, Changes>;

impl Roster {
    /// The tools of `registry` at this moment.
    pub(crate) fn of(registry: &Registry) -> Self {
        let snapshot = registry.snapshot();
        let tools = snapshot
            .iter()
            .map(|it| (it.id().clone(), (it.owner().clone(), Arc::downgrade(it.tool()))));
        Self { tools: tools.collect() }
    }

    /// The changes since `older`, all of them and those of each owner.
    ///
    /// A tool under another owner than before is `changed` in the whole, `removed` for its former
    /// owner and `added` for its new one.
    fn changes_since<'a>(&'a self, older: &'a Self) -> (Changes, ToolsOf<'a>) {
        let mut all = Changes::default();
        let mut of_owner = ToolsOf::new();
        let mut of = |owner: &'a Owner, id: &ToolId, list: fn(&mut Changes) -> &mut Vec<ToolId>| {
            list(of_owner.entry(owner).or_default()).push(id.clone());
        };
        for (id, (owner, _)) in &older.tools {
            if !self.tools.contains_key(id) {
                all.removed.push(id.clone());
                of(owner, id, |it| &mut it.removed);
            }
        }
        for (id, (owner, tool)) in &self.tools {
            match older.tools.get(id) {
                None => {
                    all.added.push(id.clone());
                    of(owner, id, |it| &mut it.added);
                }
                // The data pointer alone: a vtable may exist more than once.
                Some((_, former)) if std::ptr::addr_eq(former.as_ptr(), tool.as_ptr()) => {}
                Some((former_owner, _)) => {
                    all.changed.push(id.clone());
                    if former_owner == owner {
                        of(owner, id, |it| &mut it.changed);
                    } else {
                        of(former_owner, id, |it| &mut it.removed);
                        of(owner, id, |it| &mut it.added);
                    }
                }
            }
        }
        (all, of_owner)
    }
}

/// The plugins that changed, in the order of
/// [`Catalogue::changes_since`](flyto_plugin::Catalogue::changes_since), then plugins whose own
/// files did not change but whose tools did. Takes the tools of each out of `tools_of`.
fn plugins(before: &LoadReport, now: &LoadReport, tools_of: &mut ToolsOf<'_>) -> Vec<SourceChange> {
    let found: HashMap<&Path, &Found> =
        now.catalogue.found.iter().map(|it| (it.dir.as_path(), it)).collect();
    let mut res = Vec::new();
    for change in now.catalogue.changes_since(&before.catalogue) {
        let owner = Owner::new(format!("plugin {}", change.plugin));
        let findings = match change.kind {
            ChangeKind::Removed => None,
            _ => found.get(change.dir.as_path()).map(|it| it.findings.clone()),
        };
        // What is refused has the name of another plugin, perhaps, and not its tools.
        let tools = match change.kind {
            ChangeKind::Refused => Changes::default(),
            _ => tools_of.remove(&owner).unwrap_or_default(),
        };
        res.push(SourceChange {
            kind: change.kind,
            source: SourceKind::Plugin,
            name: change.plugin,
            path: change.dir,
            tools,
            findings: findings.unwrap_or_default(),
        });
    }
    if tools_of.is_empty() {
        return res;
    }
    // Nothing happened to these, but a name that another tool had has become free, or the reverse.
    for found in now.catalogue.found.iter() {
        let Some(name) = found.plugin.as_ref().map(|it| it.name()) else { continue };
        if let Some(tools) = tools_of.remove(&Owner::new(format!("plugin {name}"))) {
            res.push(SourceChange {
                kind: ChangeKind::Changed,
                source: SourceKind::Plugin,
                name: name.to_owned(),
                path: found.dir.clone(),
                tools,
                findings: found.findings.clone(),
            });
        }
    }
    res
}

/// The files of tool definitions that changed, in the order of the configuration. Takes the tools
/// of each out of `tools_of`.
fn files(before: &LoadReport, now: &LoadReport, tools_of: &mut ToolsOf<'_>) -> Vec<SourceChange> {
    let was: HashMap<&Path, &ExecFile> =
        before.exec_files.iter().map(|it| (it.path.as_path(), it)).collect();
    let changes = now.exec_files.iter().filter_map(|file| {
        let tools = tools_of.remove(&file_owner(&file.path)).unwrap_or_default();
        let kind = file_change(was.get(file.path.as_path()).copied(), file, &tools)?;
        Some(SourceChange {
            kind,
            source: SourceKind::ExecFile,
            name: file.path.display().to_string(),
            path: file.path.clone(),
            tools,
            findings: file.findings.clone(),
        })
    });
    changes.collect()
}

/// The added stores of which tools changed, in the order in which they were added. Takes the tools of each out of `tools_of`.
fn stores(added: &[Arc<dyn ToolSource>], tools_of: &mut ToolsOf<'_>) -> Vec<SourceChange> {
    let changes = added.iter().filter_map(|it| {
        Some(SourceChange {
            kind: ChangeKind::Changed,
            source: SourceKind::Store,
            name: it.path().display().to_string(),
            path: it.path().to_owned(),
            tools: tools_of.remove(&it.owner())?,
            findings: Findings::new(),
        })
    });
    changes.collect()
}

/// What happened to a file between two looks; `None` where nothing did.
///
/// New findings count as a change also where the tools are the same. A file that was refused twice
/// with the same findings is no change, so a broken file is reported once for each edit.
fn file_change(was: Option<&ExecFile>, now: &ExecFile, tools: &Changes) -> Option<ChangeKind> {
    use ExecFileState::{Kept, Loaded, Refused};
    let Some(was) = was else {
        return Some(if now.tools.is_some() { ChangeKind::Added } else { ChangeKind::Refused });
    };
    let has_other_findings = was.findings != now.findings;
    match (was.state, now.state) {
        (Kept, Kept) | (Refused, Refused) if !has_other_findings => None,
        (_, Kept) => Some(ChangeKind::Kept),
        (Refused, Refused) => Some(ChangeKind::Refused),
        (Refused, Loaded) => Some(ChangeKind::Added),
        (_, Refused) => Some(ChangeKind::Removed),
        (Kept, Loaded) => Some(ChangeKind::Changed),
        (Loaded, Loaded) => {
            (!tools.is_empty() || has_other_findings).then_some(ChangeKind::Changed)
        }
    }
}

/// The findings of `now` that `before` does not have. Quadratic in their number, which is small.
fn new_findings<'a>(
    before: &'a Findings,
    now: &'a Findings,
) -> impl Iterator<Item = &'a flyto_diagnostics::Diagnostic> {
    now.iter().filter(|it| !before.iter().any(|was| was == *it))
}

fn all_findings<S: Serializer>(findings: &Findings, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(findings)
}

fn kind_name<S: Serializer>(kind: &ChangeKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

fn path_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
