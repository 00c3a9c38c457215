//! What the process of a session is, and which tools share one.
//!
//! Tools of one plugin share a process where they demand the same of it. What a process needs is
//! asked for anew before each start, because links, grants and the host's variables change
//! meanwhile.

use std::{path::PathBuf, sync::Arc, time::Duration};

use flyto_execenv::{ExecError, ExecErrorKind, Spec};

use super::{answer::NoProcess, handle::Session};
use crate::{
    context::PluginContext,
    manifest::{Invocation, Lifetime, ToolDef},
    rpc,
    start::Start,
};

/// Processes of one plugin that a tool is compared with: 32, more than differ in earnest. A manifest
/// with thousands of tools that all differ is still read in linear time.
const MAX_CANDIDATES: usize = 32;

/// Variables of one process: 256. A tool that would add more gets a process of its own, so that what a manifest
/// declares is read in linear time and memory.
const MAX_SHARED_VARIABLES: usize = 256;

/// The program of a session, from which each of its processes is started.
///
/// Moved into the closure that a session keeps; see [`Launch`](super::state::Launch).
struct Launcher {
    ctx: Arc<PluginContext>,
    plugin: String,
    /// The plugin's directory, absolute.
    dir: PathBuf,
    /// The program, from the plugin's directory.
    path: PathBuf,
    /// The declaration of the first tool, with the variables of all that share the process.
    def: ToolDef,
}

/// The session of a tool, if its program stays. The tool's variables are the process's.
/// `None` for every other lifetime and form. Nothing is started. Each call makes a session of
/// its own; tools that [`share`] one take that of the first.
pub(crate) fn of(
    def: &ToolDef,
    dir: PathBuf,
    plugin: &str,
    ctx: &Arc<PluginContext>,
) -> Option<Arc<Session>> {
    let (path, idle) = program(def)?;
    let launcher = Launcher {
        ctx: Arc::clone(ctx),
        plugin: plugin.to_owned(),
        dir,
        path: path.clone(),
        def: def.clone(),
    };
    let launch = Box::new(move || launcher.spec());
    Some(Arc::new(Session::new(ctx.exec_env.clone(), ctx.sessions.clone(), idle, launch)))
}

/// Which of a plugin's tools share a process, as the number of the first of them: those that demand
/// the same of it. Their declared variables become the process's; two tools that give a variable
/// different values cannot share one, nor can those that declare more than [`MAX_SHARED_VARIABLES`] between them.
/// The result has one number for each tool; a tool that shares with none before it has its own.
/// The variables of `defs` are changed: those of tools that share a process are the same
/// afterwards.
pub(crate) fn share(defs: &mut [ToolDef]) -> Vec<usize> {
    let mut shared_with: Vec<usize> = Vec::with_capacity(defs.len());
    let mut firsts: Vec<usize> = Vec::new();
    for at in 0..defs.len() {
        let (before, rest) = defs.split_at_mut(at);
        let def = &rest[0];
        if program(def).is_none() {
            shared_with.push(at);
            continue;
        }
        let mut candidates = firsts.iter().copied().take(MAX_CANDIDATES);
        let first = candidates.find(|it| can_share(&before[*it], def));
        match first {
            Some(first) => {
                for (name, value) in def.env.iter() {
                    before[first].env.insert(name, value.clone());
                }
            }
            None => firsts.push(at),
        }
        shared_with.push(first.unwrap_or(at));
    }
    for at in 0..defs.len() {
        if shared_with[at] != at {
            defs[at].env = defs[shared_with[at]].env.clone();
        }
    }
    shared_with
}

/// Whether `b` could be called in the process of `a`: the same program, idle time, digest,
/// directory, limits, network and profile, no variable with two values, and not too many of
/// them.
fn can_share(a: &ToolDef, b: &ToolDef) -> bool {
    let bounds = |it: &ToolDef| (it.limits.clone(), it.network.clone(), it.sandbox.clone());
    let demands = |it: &ToolDef| (it.sha256, it.work_dir.clone(), bounds(it));
    let n_added = b.env.iter().filter(|(name, _)| a.env.get(name).is_none()).count();
    program(a) == program(b)
        && demands(a) == demands(b)
        && (n_added == 0 || a.env.len() + n_added <= MAX_SHARED_VARIABLES)
        && b.env.iter().all(|(name, value)| a.env.get(name).is_none_or(|it| it == value))
}

/// The program of a session, and the time it may be idle.
/// `None` where a call has a process of its own.
fn program(def: &ToolDef) -> Option<(&PathBuf, Duration)> {
    match &def.invocation {
        Invocation::Rpc { path, lifetime: Lifetime::Session { idle } } => Some((path, *idle)),
        _ => None,
    }
}

impl Launcher {
    /// What to start now: checked for links that lead out, with the environment of this moment.
    /// Creates the plugin's directory for data.
    fn spec(&self) -> Result<Spec, NoProcess> {
        let Self { ctx, plugin, dir, path, def } = self;
        let start = Start { ctx, plugin, dir, def };
        let env = start.env().map_err(|err| NoProcess::Unresolved(Arc::new(err)))?;
        // A link may have changed since the manifest was read.
        let file = rpc::program::resolve(dir, path).map_err(|escape| {
            let err = ExecError::new(ExecErrorKind::NotExecutable, format!("start {path:?}"));
            NoProcess::Failed(Arc::new(err.with_source(escape)))
        })?;
        start.check_profile().map_err(|err| NoProcess::Failed(Arc::new(err)))?;
        start.make_data_dir();
        Ok(start.base_spec(file, env))
    }
}

#[cfg(test)]
mod tests {
    use flyto_execenv::{Limits, Template};

    use super::*;

    fn tool(name: &str, env: &[(&str, &str)]) -> ToolDef {
        let mut res = ToolDef::rpc(name, "bin/p");
        let lifetime = Lifetime::Session { idle: Duration::from_secs(1) };
        res.invocation = Invocation::Rpc { path: "bin/p".into(), lifetime };
        for (name, value) in env {
            res.env.insert(*name, Template::parse(value).expect("it is right"));
        }
        res
    }

    fn names(def: &ToolDef) -> Vec<&str> {
        def.env.iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn tools_that_agree_share_a_process_and_its_variables() {
        let mut defs = [
            tool("a", &[("A", "1"), ("B", "2")]),
            tool("b", &[]),
            tool("c", &[("A", "1"), ("C", "3")]),
        ];
        assert_eq!(share(&mut defs), [0, 0, 0]);
        assert!(defs.iter().all(|it| names(it) == ["A", "B", "C"]));
    }

    #[test]
    fn many_variables_are_kept_once_a_process() {
        let mut defs: Vec<_> = (0..3 * MAX_SHARED_VARIABLES)
            .map(|it| tool(&format!("t{it}"), &[(&format!("V{it}"), "1")]))
            .collect();
        let shared = share(&mut defs);
        for (at, first) in shared.into_iter().enumerate() {
            assert_eq!(first, at / MAX_SHARED_VARIABLES * MAX_SHARED_VARIABLES);
            assert_eq!(defs[at].env.len(), MAX_SHARED_VARIABLES);
            assert!(std::ptr::eq(
                defs[at].env.iter().next().expect("it has some").1,
                defs[first].env.iter().next().expect("it has some").1
            ));
        }
    }

    #[test]
    fn tools_that_disagree_do_not() {
        let mut limited = tool("l", &[("A", "1")]);
        limited.limits = Limits::new().processes(3);
        let (mut offline, mut confined) = (tool("o", &[]), tool("s", &[]));
        offline.network = Some(flyto_execenv::Network::Off);
        confined.sandbox = Some("strict".to_owned());
        let mut defs = [
            tool("a", &[("A", "1")]),
            tool("b", &[("A", "2")]),
            limited,
            tool("c", &[("A", "2"), ("B", "3")]),
            ToolDef::rpc("call", "bin/p"),
            ToolDef::argv("argv", "true", ["x"]),
            offline,
            confined,
        ];
        assert_eq!(share(&mut defs), [0, 1, 2, 1, 4, 5, 6, 7]);
        assert_eq!((names(&defs[0]), names(&defs[1])), (vec!["A"], vec!["A", "B"]));
    }
}
