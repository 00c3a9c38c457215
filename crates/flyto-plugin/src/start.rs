//! What every process of a plugin is started with, whether it makes one call or many.
//!
//! Both [`PluginTool`](crate::PluginTool) and the sessions build their [`Spec`] here, so that a
//! process has the same environment, directory and bounds in either case.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use flyto_execenv::{
    Class, Environment, ExecError, ExecErrorKind, Grants, Isolation, Policy, Program, Spec,
};
use flyto_program::Streaming;

use crate::{
    context::PluginContext,
    environment::{Sources, Unresolved},
    files,
    load::MANIFEST_FILE,
    manifest::CLAUDE_MANIFEST_FILE,
    manifest::{ToolDef, ToolForm, start_dir},
    rpc::{call, program::Escape},
    template::Refusal,
};

/// The program of a tool, about to be started.
///
/// A borrowed view, cheap to copy: it lives for the making of one spec.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    /// What the host gives to all plugins.
    pub(crate) ctx: &'a PluginContext,
    /// The plugin's name; empty for a tool without one.
    pub(crate) plugin: &'a str,
    /// The plugin's directory, absolute.
    pub(crate) dir: &'a Path,
    /// The tool. For a session, the first of the tools that share it, with the variables of all
    /// of them.
    pub(crate) def: &'a ToolDef,
}

/// Why a call cannot be carried out as it is.
///
/// Found before anything is started.
pub(crate) enum Unfit {
    /// Values that a template has no place for.
    Input(Vec<Refusal>),
    /// A program that is not the plugin's own.
    Program(Escape),
}

impl Start<'_> {
    /// What is shown of the program of one call while it runs.
    pub(crate) fn streaming(self) -> Streaming {
        let shows_stderr = self.def.stream;
        match (self.def.form(), shows_stderr) {
            (ToolForm::Binary, _) => Streaming::Messages { progress: call::progress, shows_stderr },
            // base64 is nothing to look at.
            _ if self.def.blocks => Streaming::Messages { progress: |_| None, shows_stderr },
            (_, true) => Streaming::Lines,
            (_, false) => Streaming::Quiet,
        }
    }

    /// What the variables of the program are made of.
    ///
    /// Lends them to `f`, because one of them is a path that is made here.
    pub(crate) fn with_sources<T>(self, f: impl FnOnce(Sources<'_>) -> T) -> T {
        let Self { ctx, plugin, dir, def } = self;
        let data = ctx.data_dir(plugin);
        f(Sources {
            host: &ctx.host_env,
            root: Some(dir),
            data: data.as_deref(),
            granted: ctx.granted(plugin),
            declared: &def.env,
            strict: ctx.strict_env,
        })
    }

    /// The variables of the program.
    ///
    /// [`Unresolved`] when a declared value needs a variable that is not there or not granted.
    pub(crate) fn env(self) -> Result<Environment, Unresolved> {
        self.with_sources(|it| it.build())
    }

    /// The names of the variables, in their order.
    ///
    /// They are taken from `built`, what [`env`](Self::env) made; `None` where it failed.
    pub(crate) fn names(self, built: Option<&Environment>) -> Vec<String> {
        match built {
            Some(env) => env.names().map(|it| it.to_string_lossy().into_owned()).collect(),
            None => self.with_sources(|it| it.variables()).into_iter().map(|it| it.name).collect(),
        }
    }

    /// The directory in which the program starts.
    ///
    /// An argv tool starts in the plugin's directory, any other in the session's; `work_dir` of
    /// the declaration is taken from there.
    pub(crate) fn working_dir(self) -> PathBuf {
        let base = match self.def.form() {
            ToolForm::Argv => self.dir.to_owned(),
            ToolForm::Template | ToolForm::Binary => files::absolute(&self.ctx.session_dir),
        };
        start_dir(&base, self.def.work_dir.as_deref()).into_owned()
    }

    /// `program` with its digest where one is declared, these variables, where it starts, and its
    /// bounds. What it is told and what is kept of its output is for the caller to add.
    pub(crate) fn base_spec(self, program: impl Into<OsString>, env: Environment) -> Spec {
        let program = program.into();
        let program = match self.def.sha256 {
            Some(sha256) => Program::Pinned { path: program.into(), sha256 },
            None => Program::Named(program),
        };
        self.bounded(program).env(env).working_dir(self.working_dir())
    }

    /// `program` with what the declaration asks for and what the operator granted.
    ///
    /// The order counts: first the limits and grants, then the profile, at last the narrower
    /// network. Each step after the grants only takes away.
    pub(crate) fn bounded(self, program: Program) -> Spec {
        let mut res = Spec::new(program)
            .class(Class::PLUGIN_TOOL)
            .limits(self.def.limits.clone())
            .grants(self.grants());
        // As the profile of a class, so that grants open what it closes; its class may narrow it further.
        if let Some(profile) = self.profile() {
            profile.apply(&mut res);
        }
        if let Some(network) = &self.def.network {
            res.isolation = res.isolation.narrowed_by(&Isolation::new().network(network.clone()));
        }
        res
    }

    /// The profile that the declaration names.
    ///
    /// `None` where it names none, and where the host has none of that name.
    fn profile(self) -> Option<Arc<Policy>> {
        self.ctx.profiles.get(self.def.sandbox.as_deref()?)
    }

    /// Whether the profile that the declaration names is there.
    ///
    /// Called before every start, since a host may know fewer profiles than the manifest hopes
    /// for. The kind is [`ExecErrorKind::Unsupported`], and nothing has run.
    pub(crate) fn check_profile(self) -> Result<(), ExecError> {
        match &self.def.sandbox {
            Some(name) if self.profile().is_none() => {
                let what = format!("find the sandbox profile {name:?}, which the tool asks for");
                Err(ExecError::new(ExecErrorKind::Unsupported, what))
            }
            _ => Ok(()),
        }
    }

    /// What the operator granted, and what a confined program needs to start; see [`grants`].
    fn grants(self) -> Grants {
        grants(self.ctx, &Class::PLUGIN_TOOL, self.plugin, self.dir, self.def.sandbox.is_some())
    }

    /// Makes the directory for what the plugin keeps; see [`make_data_dir`].
    pub(crate) fn make_data_dir(self) {
        make_data_dir(self.ctx, self.plugin);
    }
}

/// What the operator granted to a plugin; and where the class or the declaration confines the program to some paths, the
/// plugin's own directories: without the one it could not start, and the other is there for it alone.
pub(crate) fn grants(
    ctx: &PluginContext,
    class: &Class,
    plugin: &str,
    dir: &Path,
    has_profile: bool,
) -> Grants {
    let res = ctx.grants_for(plugin);
    if ctx.exec_env.policy(class).isolation.is_none() && !has_profile {
        return res;
    }
    let res = res.read(granted(dir));
    match ctx.data_dir(plugin) {
        // As it is named: a program that may replace a directory above must not choose where it leads.
        Some(dir) => res.write(dir),
        None => res,
    }
}

/// Makes the directory for what a plugin keeps. Where that cannot be, on a file system that is
/// read-only say, a program that keeps nothing still works, and one that does says what it lacks.
pub(crate) fn make_data_dir(ctx: &PluginContext, plugin: &str) {
    if let Some(dir) = ctx.data_dir(plugin).filter(|it| !it.is_dir()) {
        let _ = files::create_private_dir(&dir);
    }
}

/// The directory of a plugin as it is granted. A link on the way is followed only where it leads to a manifest: what
/// a confined program can put in the place of a link holds none.
fn granted(dir: &Path) -> PathBuf {
    let is_plugin = |it: &PathBuf| {
        [MANIFEST_FILE, CLAUDE_MANIFEST_FILE].iter().any(|file| it.join(file).is_file())
    };
    let real = dir.canonicalize().ok().filter(is_plugin);
    real.unwrap_or_else(|| dir.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_link_is_followed_to_a_plugin_and_nowhere_else() {
        let dir = tempfile::tempdir().expect("there is room");
        let root = dir.path().canonicalize().expect("it is there");
        let check = |path: &str, expect: &str| {
            assert_eq!(granted(&root.join(path)), root.join(expect), "{path}");
        };
        fs::create_dir_all(root.join("real/p")).expect("it is ours");
        fs::write(root.join("real/p").join(MANIFEST_FILE), "{}").expect("it is ours");
        symlink("real", root.join("plugins")).expect("it is ours");
        symlink("/", root.join("p")).expect("it is ours");
        check("real/p", "real/p");
        check("plugins/p", "real/p");
        check("p", "p");
        check("not/there", "not/there");
    }
}
