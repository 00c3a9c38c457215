//! Checking files without using them.
//!
//! The same readers as a start uses, at their greatest depth and without registering anything. What
//! a file is shows in its name or its keys, so a user needs to name no kind.

use std::{ffi::OsString, io, path::Path};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, Source, files, json};
use flyto_exectool::HostContext;
use flyto_plugin::{Catalogue, Depth, Filter, LoadOptions, MANIFEST_FILE, Plugin};

use crate::{
    codes,
    config::{Config, is_config, read_config_file},
    places::Surroundings,
    plugin_rules,
    settings::unknown_profiles,
};

/// What was checked, and what was found.
///
/// [`Findings::has_errors`] tells whether something of it cannot be used.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Validation {
    /// The files and directories that were looked at, with what they are: `plugin`, `exec tools`,
    /// `configuration`.
    pub checked: Vec<(String, &'static str)>,
    /// Everything that is wrong or odd.
    pub findings: Findings,
}

/// Checks a plugin, a directory of plugins, a file with tool definitions or a configuration; which
/// of them it is shows in its content. Nothing is started. Schemas are compiled, and programs are
/// looked up.
///
/// ```
/// use flyto_host::{Surroundings, validate_path};
///
/// # let dir = tempfile::tempdir()?;
/// let file = dir.path().join("tools.json");
/// std::fs::write(&file, r#"[{"name": "kernel", "exec": "uname -r"}]"#)?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let found = validate_path(&file, &surroundings)?;
/// assert_eq!(found.checked[0].1, "exec tools");
/// assert!(found.findings.has_errors());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// There is nothing at `path`, or it cannot be reached.
pub fn validate_path(path: &Path, surroundings: &Surroundings) -> io::Result<Validation> {
    Validator { surroundings, profiles: None, res: Validation::default() }.run(path)
}

/// Checks what [`validate_path`] checks, and that the sandbox profiles that tools ask for are those of `config`.
///
/// Other keys of `config` are not used: neither its filters nor its grants keep a plugin from being checked.
///
/// # Errors
///
/// Those of [`validate_path`].
pub fn validate_path_under(
    path: &Path,
    surroundings: &Surroundings,
    config: &Config,
) -> io::Result<Validation> {
    let profiles = config.sandbox.names().into_iter().map(str::to_owned).collect();
    Validator { surroundings, profiles: Some(profiles), res: Validation::default() }.run(path)
}

struct Validator<'a> {
    surroundings: &'a Surroundings,
    /// The names of the sandbox profiles that there are, where that is known.
    profiles: Option<Vec<String>>,
    res: Validation,
}

impl Validator<'_> {
    fn run(mut self, path: &Path) -> io::Result<Validation> {
        match std::fs::metadata(path)?.is_dir() {
            true => self.dir(path),
            false => self.file(path),
        }
        Ok(self.res)
    }

    /// Full depth: schemas are compiled, and programs are looked up in the `PATH` of the surroundings.
    fn options(&self) -> LoadOptions {
        let env = &self.surroundings.env;
        let path = env.get("PATH").map_or_else(OsString::new, ToOwned::to_owned);
        let options = LoadOptions::new().rules(plugin_rules::check).depth(Depth::Full);
        let options = options.path(path).env(env.clone());
        options.max_words_bytes(self.surroundings.max_words_bytes)
    }

    /// A directory that is neither a plugin nor holds one is an error of the code
    /// [`UNKNOWN_FILE`](codes::UNKNOWN_FILE).
    fn dir(&mut self, dir: &Path) {
        let catalogue = Catalogue::discover([dir], &Filter::new(), &self.options());
        for it in catalogue.dirs {
            self.res.findings.append(it.findings);
        }
        for it in catalogue.found {
            self.res.checked.push((it.dir.display().to_string(), "plugin"));
            self.plugin(it.plugin.as_deref(), it.findings);
        }
        if self.res.checked.is_empty() && self.res.findings.is_empty() {
            let place = Location::file(dir.display().to_string());
            let what = "the directory holds neither a plugin nor plugins";
            let help = format!("a plugin is a directory with a `{MANIFEST_FILE}`");
            let diag = Diagnostic::error(codes::UNKNOWN_FILE, place, what).with_help(help);
            self.res.findings.push(diag);
        }
    }

    /// A manifest is known by its name, everything else by its keys.
    fn file(&mut self, path: &Path) {
        let name = path.display().to_string();
        let Ok(source) = self.res.findings.take(files::open(path)) else { return };
        if path.file_name().is_some_and(|it| it == MANIFEST_FILE) {
            self.res.checked.push((name, "plugin"));
            return self.manifest(&source, path);
        }
        let root = match json::parse(&source) {
            Ok(root) => root,
            // What it was meant to be cannot be told; the mistake can.
            Err(diagnostic) => {
                self.res.findings.push(diagnostic);
                return;
            }
        };
        let is_named_so = path.file_name().is_some_and(|it| it == CONFIG_FILE);
        match Kind::of(&root).or_else(|| is_named_so.then_some(Kind::Config)) {
            Some(Kind::ExecTools) => {
                self.res.checked.push((name, "exec tools"));
                let Surroundings { env, current_dir, max_words_bytes, .. } = self.surroundings;
                let host = HostContext::new(env.clone(), current_dir);
                let loaded = flyto_exectool::load_in_full(&source, &host, *max_words_bytes);
                self.res.findings.append(loaded.findings);
            }
            Some(Kind::Plugin) => {
                self.res.checked.push((name, "plugin"));
                self.manifest(&source, path);
            }
            Some(Kind::Config) => {
                self.res.checked.push((name, "configuration"));
                let dir = path.parent().unwrap_or(path);
                let (places, options) = (&self.surroundings.places, self.options());
                read_config_file(&source, dir, places, &options, &mut self.res.findings);
            }
            Some(Kind::Evolved) => {
                let what = "the file defines a tool for a store of evolved tools";
                let help = "`flyto evolve propose FILE` checks it, and proposes it";
                let diag = At::root(&source, &root).error(codes::UNKNOWN_FILE, what);
                self.res.findings.push(diag.with_help(help));
            }
            None => {
                let at = At::root(&source, &root);
                let what =
                    "the file is neither a manifest nor tool definitions nor a configuration";
                let help = "a manifest has `tools`, a definition `exec`, a configuration `plugins` or `exec_tools`";
                let diag = at.error(codes::UNKNOWN_FILE, what).with_help(help);
                self.res.findings.push(diag);
            }
        }
    }

    /// The manifest's own directory is the plugin's.
    fn manifest(&mut self, source: &Source, path: &Path) {
        let dir = self.surroundings.current_dir.join(path);
        let dir = dir.parent().unwrap_or(&dir);
        let loaded = flyto_plugin::load_source(source, dir, &self.options());
        self.plugin(loaded.plugin.as_ref(), loaded.findings);
    }

    fn plugin(&mut self, plugin: Option<&Plugin>, findings: Findings) {
        self.res.findings.append(findings);
        if let Some(names) = &self.profiles {
            self.res.findings.append(unknown_profiles(names, plugin));
        }
    }
}

/// How the file of a configuration is usually called.
const CONFIG_FILE: &str = "config.json";

/// What a file is.
#[derive(Clone, Copy)]
enum Kind {
    ExecTools,
    Plugin,
    Config,
    /// What is told and not checked: its reader is that of the store.
    Evolved,
}

impl Kind {
    /// What a file is meant to be, judged by its keys. One with a mistake in them is still most like
    /// one of them, and what reads that one can tell the mistake.
    fn of(root: &json::Value<'_>) -> Option<Self> {
        let has = |key: &str| root.get(key).is_some();
        if root.as_array().is_some() || has("exec") {
            return Some(Self::ExecTools);
        }
        // Servers alone are a configuration; a plugin has a head as well.
        let has_servers =
            || has("mcpServers") && ["name", "version", "description"].into_iter().any(has);
        if has("tools") || has_servers() {
            let tools = root.get("tools").and_then(|it| it.as_array()).unwrap_or_default();
            let defines = tools.iter().any(|it| it.get("exec").is_some());
            return Some(if defines { Self::ExecTools } else { Self::Plugin });
        }
        if is_config(root) {
            return Some(Self::Config);
        }
        // What other programs keep is told apart by the reader of manifests, which knows it.
        if ["action", "binary", "category", "parameters"].into_iter().any(has) {
            return Some(Self::Plugin);
        }
        if has("name") && ["execution_type", "script", "composite"].into_iter().any(has) {
            return Some(Self::Evolved);
        }
        has("name").then_some(Self::ExecTools)
    }
}
