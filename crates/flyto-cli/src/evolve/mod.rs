//! The tools that agents write, joined to the host: its registry has them, and its stages are around each call.

mod approver; // how a person is asked
mod client; // how the user of a client is asked
mod editor; // a proposal in the person's own editor
mod facts; // what is told of a version
mod hints; // a model is told that a tool would help

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use flyto_audit::AuditError;
use flyto_evolve::{
    Approver, Builder, CallRecording, Change, Damaged, HostContext, LoadReport, NeedsReview,
    Pending, RecoveredKind, Refusal, Status, Store, StoreError, ToolBuilder, Unapproved, Version,
    agent_tools,
};
use flyto_execenv::Environment;
use flyto_host::{Host, SecretRules, Surroundings, ToolSource};
use flyto_security::{DefaultGuard, SecretGuard as _, Tier};
use flyto_tools::{
    CallContext, Input, LeftOut, Owner, RegistryError, ToolCaller, ToolError, ToolErrorKind,
    ToolResult,
};

pub(crate) use self::approver::{AtTerminal, Later, Named, Prompt, can_ask};
pub(crate) use self::client::AtClient;
pub(crate) use self::facts::{Evolution, Known, change};
pub(crate) use self::hints::Hints;
use crate::commands::{by_evolve, evolve_from_anywhere};
use crate::exit::{Ending, Why};
use crate::stop::{Stop, chain};
use crate::words::{counted, one_line};

/// The owner of the tools for agents, as reports show it.
const OWNER: &str = "flyto evolve";

/// The owner of the tools in the store.
const STORE_OWNER: &str = "evolve";

/// A store whose tools are in the registry of a host.
#[derive(Debug)]
pub(crate) struct Evolved {
    pub(crate) builder: ToolBuilder,
    /// What became of the store; the error says why it could not be read.
    pub(crate) report: Result<LoadReport, String>,
    /// Tools for agents whose names others have.
    not_offered: Vec<String>,
}

impl Evolved {
    /// Registers the tools of a store, and those by which agents propose further ones. With a `recording`, their calls are
    /// kept in the store.
    pub(crate) fn join(
        host: &Arc<Host>,
        dir: &Path,
        surroundings: &Surroundings,
        approver: Arc<dyn Approver>,
        recording: Option<CallRecording>,
        secret_rules: Option<&SecretRules>,
    ) -> Result<Self, Stop> {
        let mut context =
            HostContext::new(surroundings.env.clone(), surroundings.current_dir.clone());
        context.spill_dir = host.output_dir().cloned();
        let (env, registry) = (host.exec_env().clone(), Arc::clone(host.registry()));
        let builder = ToolBuilder::builder(Store::new(dir), env, context, registry)
            .owner(STORE_OWNER)
            .command(evolve_from_anywhere())
            .approver(approver)
            .protected_names(flyto_mcp::SERVER_TOOL_NAMES.iter().copied())
            .caller(Arc::new(Steps(Arc::downgrade(host))));
        let builder = secret_rules
            .iter()
            .try_fold(builder, |builder, it| builder.secret_rules(it.text()))
            .map_err(Stop::internal)?;
        let builder = recording.into_iter().fold(builder, Builder::record_calls).build();
        let report = block_on(builder.load_all())?.map_err(|err| chain(&err));
        let session = format!("session {} of {}", std::process::id(), person(&surroundings.env));
        let mut not_offered = Vec::new();
        for tool in agent_tools(&builder, &session).map_err(Stop::internal)? {
            let name = tool.name().to_owned();
            if host.add_tool(OWNER, tool).is_err() {
                not_offered.push(name);
            }
        }
        let dir = dir.to_owned();
        let watched = Watched { builder: builder.clone(), dir, report: Mutex::new(report.clone()) };
        host.add_source(Arc::new(watched));
        Ok(Self { builder, report, not_offered })
    }

    /// Writes the statistics that are not written yet. Gives a sentence about those that are lost, which change nothing about
    /// results.
    pub(crate) async fn flush(&self) -> Option<String> {
        let err = self.builder.flush_usage().await.err()?;
        let n_calls = self.builder.n_uncounted();
        (n_calls > 0).then(|| {
            let are = if n_calls == 1 { "is" } else { "are" };
            let n_calls = counted(n_calls, "call");
            format!("{n_calls} of evolved tools {are} not in their statistics: {}", chain(&err))
        })
    }

    /// What is to be said of the store beside the tools that can be called, one sentence each.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let dir = one_line(&self.builder.store().dir().to_string_lossy());
        let report = match &self.report {
            Ok(report) => report,
            Err(why) => return vec![format!("the evolved tools in {dir} are not there: {why}")],
        };
        let mut res = Vec::new();
        for it in &report.pending {
            let name = name_of(&it.id);
            res.push(format!(
                "the tool {} waits for an answer: {}",
                one_line(name),
                approve(&it.id)
            ));
        }
        for it in &report.unapproved {
            res.push(unapproved(it));
        }
        res.extend(report.needs_review.iter().map(needs_review));
        res.extend(told_files(report.damaged.iter().map(damaged).collect()));
        res.extend(self.recovered_now());
        res.extend(set_aside(report));
        res.extend(
            report
                .not_recovered
                .iter()
                .map(|why| format!("the store {dir} could not be put in order: {}", one_line(why))),
        );
        res.extend(report.left_out.iter().map(left_out));
        for name in &self.not_offered {
            res.push(format!("agents are not offered {name}, whose name another tool has"));
        }
        res
    }

    /// What was put in order at this start, one sentence each: a file that a person changed may be among it. Of many files the
    /// first ones are told.
    pub(crate) fn recovered_now(&self) -> Vec<String> {
        let recovered = self.report.iter().flat_map(|it| &it.recovered);
        let recovered = recovered.map(|it| one_line(&it.to_string())).collect();
        first_ones(recovered, |n_more| {
            let n_more = counted(n_more, "more file");
            format!(
                "{n_more} of the store had to be put in order: {} has all",
                by_evolve(["events"])
            )
        })
    }

    /// Tools that cannot be called since others have their names, one sentence each.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.report.iter().flat_map(|it| &it.left_out).map(left_out).collect()
    }

    /// What was put in order, damaged counts, and that another tool has the name. A call tells of them: its tool may be another
    /// one or another version now, and it begins to count anew.
    pub(crate) fn told_by_a_call(&self, name: &str) -> Vec<String> {
        let dir = self.builder.store().dir();
        let counts = self.report.iter().flat_map(|it| &it.damaged);
        let counts = counts.filter(|it| it.path.parent() == Some(dir)).map(self::damaged);
        let counts = counts.collect::<Vec<_>>().join("; ");
        let counts = (!counts.is_empty()).then_some(counts);
        let is_named = |it: &&LeftOut| matches!(&it.error, RegistryError::Taken { tool, .. } if tool.as_str() == name);
        let others = self.report.iter().flat_map(|it| &it.left_out).filter(is_named).map(left_out);
        self.recovered_now().into_iter().chain(counts).chain(others).collect()
    }

    /// What decides about a tool whose file a person edited.
    pub(crate) fn decides_edit(&self, name: &str) -> Option<String> {
        let mut unapproved = self.report.iter().flat_map(|it| &it.unapproved);
        let edit = unapproved.find(|it| it.definition.name == name && it.version.is_none())?;
        let [shows, discards] = [["show", &edit.id], ["deny", &edit.id]].map(by_evolve);
        Some(format!(
            "{shows} shows the edit, {} has it run, {discards} puts it aside",
            approve(&edit.id)
        ))
    }

    /// Versions that cannot be used and that no start tells of, since a newer one is in force: one sentence each.
    pub(crate) fn damaged_history(&self) -> Vec<String> {
        let mut found = self.builder.store().damaged_history().unwrap_or_default();
        let told = self.report.iter().flat_map(|it| &it.damaged);
        let told: BTreeSet<&Path> = told.map(|it| &*it.path).collect();
        found.retain(|it| !told.contains(&*it.path));
        told_files(found.iter().map(damaged).collect())
    }

    /// Tools that were set aside since they failed again and again, with why.
    pub(crate) fn quarantined(&self) -> Vec<(String, String)> {
        let archived = self.builder.store().load().map(|it| it.archived).unwrap_or_default();
        let why = |it: Version| match it.change {
            Change::Quarantined { why } => Some((it.definition.name, why)),
            _ => None,
        };
        archived.into_iter().filter_map(why).collect()
    }

    /// Tools whose last calls failed, with how many, and the failure of the last one. Their inputs may have been the reason,
    /// so they can be called.
    pub(crate) fn failing(&self) -> Vec<(&str, u32, String)> {
        // Without statistics, no tool is known to fail.
        let usage = self.builder.store().usage().unwrap_or_default();
        let loaded = self.report.iter().flat_map(|it| &it.loaded);
        let failing = loaded.filter_map(|(name, version)| {
            let used = usage.get(name)?.get(version).filter(|it| it.is_failing())?;
            let why = used.last_failure.clone().unwrap_or_default();
            Some((name.as_str(), used.n_failures_in_a_row, why))
        });
        failing.collect()
    }
}

/// That a composite is not run before it is approved again, and what does that.
pub(crate) fn needs_review(it: &NeedsReview) -> String {
    let tools: Vec<String> = it.tools.iter().map(|it| one_line(it)).collect();
    let answer = match &it.refused {
        Some(why) => format!("it cannot be approved as it is: {}", one_line(why)),
        None => approve(&it.name),
    };
    format!(
        "the tool {} needs review, since tools that it calls changed ({}): {answer}",
        one_line(&it.name),
        tools.join(", "),
    )
}

/// What has an archived tool back.
fn brings_back(name: &str) -> String {
    format!("{} brings it back", by_evolve(["restore", name]))
}

/// What has a quarantined tool back, and what keeps it.
pub(crate) fn out_of_quarantine(name: &str) -> String {
    format!("{}, and {}", brings_back(name), pins(name))
}

/// What keeps a tool that tells something by its failures from being set aside for them.
pub(crate) fn pins(name: &str) -> String {
    format!("{} keeps it from being set aside for its failures", by_evolve(["pin", name]))
}

/// That another tool has the name of an evolved one, and what to do.
fn left_out(it: &LeftOut) -> String {
    let why = one_line(&chain(&it.error));
    format!(
        "an evolved tool is left out: {why}; give that one another name, or leave its source out"
    )
}

/// That no person approved a file or a version, and what to do.
pub(crate) fn unapproved(it: &Unapproved) -> String {
    let name = one_line(&it.definition.name);
    if let Some(version) = it.version {
        let history = by_evolve(["history", &it.definition.name]);
        return format!(
            "version {version} of the tool {name} has no approval: {history} shows which one has, and a rollback has that one run"
        );
    }
    let what = if it.base.is_some() {
        "was edited by hand"
    } else {
        "has no approved version in the history"
    };
    format!("the file of the tool {name} {what}: {}", approve(&it.id))
}

/// What is wrong with a file that cannot be used.
pub(crate) fn damaged(it: &Damaged) -> String {
    let path = one_line(&it.path.to_string_lossy());
    format!("{path} cannot be used: {}", one_line(&it.why))
}

/// What has a version that was removed on purpose told no more, where this file is that of a version that is gone.
pub(crate) fn forgets(path: &Path) -> Option<String> {
    let history = path.parent()?.parent()?;
    (history.ends_with("history") && !path.exists()).then(|| {
        let forget = by_evolve(["forget", "NAME", "--gone"]);
        format!("{forget} has a version that was removed on purpose told no more")
    })
}

/// The most files of one kind that are told in words, one sentence each. A store may have thousands that nothing can use.
const MAX_TOLD_FILES: usize = 20;

/// Sentences about files that cannot be used, without those beyond the most that are told: one says how many they are.
pub(crate) fn told_files(sentences: Vec<String>) -> Vec<String> {
    first_ones(sentences, |n_more| {
        let list = by_evolve(["list", "--format", "json"]);
        format!("{n_more} more files cannot be used: {list} has all")
    })
}

/// The first sentences of many about files, and one for those beyond [`MAX_TOLD_FILES`].
fn first_ones(mut sentences: Vec<String>, of_more: impl FnOnce(usize) -> String) -> Vec<String> {
    let n_more = sentences.len().saturating_sub(MAX_TOLD_FILES);
    sentences.truncate(MAX_TOLD_FILES);
    sentences.extend((n_more > 0).then(|| of_more(n_more)));
    sentences
}

/// Whether a file of the store is one of this tool: `tools/NAME.json`, `history/NAME`, or one below it.
fn is_file_of(path: &Path, name: &str) -> bool {
    let of_tools = path.ends_with(Path::new("tools").join(format!("{name}.json")));
    let history = Path::new("history").join(name);
    of_tools || path.ends_with(&history) || path.parent().is_some_and(|it| it.ends_with(&history))
}

/// Where a damaged file was put.
fn path_aside(kind: &RecoveredKind) -> Option<&Path> {
    match kind {
        RecoveredKind::SetAside { path, .. } | RecoveredKind::ProposalSetAside { path, .. } => {
            Some(path)
        }
        _ => None,
    }
}

/// Damaged files that an earlier start set aside.
fn set_aside(report: &LoadReport) -> Option<String> {
    let now: Vec<&Path> = report.recovered.iter().filter_map(|it| path_aside(&it.kind)).collect();
    let earlier: Vec<String> = report
        .set_aside
        .iter()
        .filter(|it| !now.contains(&it.as_path()))
        .map(|it| one_line(&it.to_string_lossy()))
        .collect();
    (!earlier.is_empty()).then(|| set_aside_remark(&earlier))
}

/// That damaged files lie aside, and what to do.
pub(crate) fn set_aside_remark(files: &[String]) -> String {
    let n_more = files.len().saturating_sub(MAX_TOLD_FILES);
    let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
    let files = files[..files.len() - n_more].join(", ");
    format!("set aside since damaged: {files}{more}; look at what was lost, then remove it")
}

/// The store as a source of the host, so that what another process approves or archives takes effect here.
#[derive(Debug)]
struct Watched {
    builder: ToolBuilder,
    dir: PathBuf,
    /// What became of the store when it was read last.
    report: Mutex<Result<LoadReport, String>>,
}

impl ToolSource for Watched {
    fn owner(&self) -> Owner {
        Owner::new(STORE_OWNER)
    }

    fn path(&self) -> &Path {
        &self.dir
    }

    fn watched_dir(&self) -> PathBuf {
        // The current definitions: a version counts once its definition is there.
        self.dir.join("tools")
    }

    fn reload(&self) {
        // A store that cannot be read now keeps the tools that it had; each asks it again before a call.
        if let Ok(Ok(report)) = block_on(self.builder.load_all()) {
            *self.report() = Ok(report);
        }
    }

    fn why_not(&self, name: &str) -> Option<String> {
        let store = self.builder.store();
        let report = self.report();
        let report = match &*report {
            Ok(report) => report,
            Err(why) => return Some(format!("the evolved tools are not there: {why}")),
        };
        let last = store.last(name).ok().flatten();
        // Where they cannot be listed, the report says so. An outdated one cannot be approved.
        let pending = store.pending().unwrap_or_default();
        let is_open = |it: &&Pending| it.base == last.as_ref().map(|it| it.number);
        let mut named = pending.iter().filter(|it| name_of(&it.id) == name);
        if let Some(it) = named.find(is_open) {
            return Some(format!(
                "a proposal of that name waits for an answer: {}",
                approve(&it.id)
            ));
        }
        if let Some(it) = last.filter(|it| it.status == Status::Archived) {
            let (why, way_back) = match it.change {
                Change::Quarantined { why } => {
                    (format!(" ({})", one_line(&why)), out_of_quarantine(name))
                }
                _ => (String::new(), brings_back(name)),
            };
            return Some(format!("a tool of that name was set aside{why}: {way_back}"));
        }
        if let Some(it) = report.unapproved.iter().find(|it| it.definition.name == name) {
            return Some(unapproved(it));
        }
        let found = report.damaged.iter().find(|it| is_file_of(&it.path, name))?;
        let is_held =
            store.load().is_ok_and(|it| it.held.iter().any(|it| it.definition.name == name));
        let [restore, archive] = ["restore", "archive"].map(|it| by_evolve([it, name]));
        let remedy = match is_held {
            true => format!(
                ": {restore} has the version before it run again, {archive} sets the tool aside"
            ),
            false => String::new(),
        };
        Some(damaged(found) + &remedy)
    }
}

impl Watched {
    fn report(&self) -> MutexGuard<'_, Result<LoadReport, String>> {
        // A report is exchanged as a whole.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What approves a proposal.
pub(crate) fn approve(id: &str) -> String {
    by_evolve(["approve", id])
}

/// The name in the id of a proposal.
pub(crate) fn name_of(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(name, _)| name)
}

/// The person at the terminal, as records name it. They are kept, so a name that looks like a secret is none.
pub(crate) fn person(env: &Environment) -> String {
    let variables =
        env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.as_encoded_bytes())));
    let guard = DefaultGuard::builder().env_values(variables).build();
    let is_secret = |name: &str| match guard.scan("the name of the person", name.as_bytes()) {
        Ok(found) => found.iter().any(|it| it.tier >= Tier::Ask),
        Err(_) => true,
    };
    let named = ["USER", "LOGNAME"].iter().find_map(|it| env.get(it)?.to_str());
    let named = named.filter(|it| !is_secret(it));
    let uid = || format!("uid {}", rustix::process::geteuid().as_raw());
    named.filter(|it| !it.is_empty()).map_or_else(uid, ToOwned::to_owned)
}

/// Waits for work on a store, which needs neither timers nor descriptors.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    Ok(runtime.map_err(|err| Stop::new(Why::Failed, err.to_string()))?.block_on(work))
}

/// The end of a verb whose proposal was refused.
pub(crate) fn refused(refusal: Refusal) -> Stop {
    refused_by(refusal, "propose")
}

/// The same for a proposal that was made by this verb of `evolve`.
pub(crate) fn refused_by(refusal: Refusal, verb: &str) -> Stop {
    let text = match &refusal {
        Refusal::Invalid { .. } => "the definition cannot be used".to_owned(),
        Refusal::Store(err) => chain(err),
        refusal => chain(refusal),
    };
    let mut stop = Stop::of(&Ending::NotMade(&refusal), text);
    match refusal {
        // Each is drawn into the text, with what to do.
        Refusal::Invalid { findings } => stop.with_findings(findings),
        Refusal::Store(err) => match mending(&err) {
            Some(help) => stop.with_help(help),
            None => stop,
        },
        refusal => {
            let advice = refusal.advice();
            if !advice.is_empty() {
                stop = stop.with_help(advice);
            }
            if let Refusal::Conflict { diff, .. } = &refusal {
                for it in diff {
                    let lines = it.unified.trim_end();
                    stop = stop.with_help(format!("it would change {}:\n{lines}", it.field));
                }
            }
            if let Refusal::Secret { findings } = &refusal {
                let mut seen = BTreeSet::new();
                for it in findings.iter().filter(|it| seen.insert(it.found.fingerprint.to_string()))
                {
                    let (print, rule) = (it.found.fingerprint.to_string(), &it.found.rule);
                    let words = ["acknowledge", &print, "--rule", rule, "--reason", "TEXT"];
                    stop = stop.with_help(format!(
                        "if it is none, a person records that: {}",
                        by_evolve(words)
                    ));
                }
            }
            match refusal {
                Refusal::Exists { version, .. } | Refusal::Conflict { current: version, .. } => {
                    stop.with_help(by_evolve([verb, "--base", &version.to_string(), "FILE"]))
                }
                Refusal::Duplicate { is_same: false, .. } => {
                    stop.with_help(by_evolve([verb, "--distinct-because", "TEXT", "FILE"]))
                }
                _ => stop,
            }
        }
    }
}

/// What a person does about an error of the store, and about a file in it that is neither a tool nor a proposal.
fn mending(err: &StoreError) -> Option<String> {
    let path = match err {
        StoreError::Decided { name, version, .. } => {
            // What was denied is no version, and there may be none at all.
            let verb = if version.is_some() { "history" } else { "events" };
            return Some(format!("{} shows what became of it", by_evolve([verb, name])));
        }
        StoreError::Waiting { .. } => {
            return Some(format!(
                "{} lists what waits, and {} takes one off the list",
                by_evolve(["list"]),
                by_evolve(["deny", "ID"])
            ));
        }
        StoreError::Damaged { path, .. } | StoreError::Io { path, .. } => path,
        StoreError::Events(AuditError::Refused { path, .. }) if path.ends_with("events") => path,
        _ => return None,
    };
    let help = match path.file_name()?.to_str()? {
        "fingerprint.key" if path.exists() => {
            "remove it: the store makes another one, and a text that was acknowledged is to be acknowledged again"
        }
        "acks.json" if path.exists() => {
            "mend it, or move it away: without it, a text that was acknowledged is to be acknowledged again"
        }
        ".lock" if path.exists() && !path.is_file() => "remove it: the store makes a file there",
        "events" => "move it away: the store makes a directory there, and begins another log",
        _ => return None,
    };
    Some(help.to_owned())
}

/// The end of a verb that a store failed.
pub(crate) fn failed(err: StoreError) -> Stop {
    refused(err.into())
}

/// Calls the tools of a host for the steps of a composite. The host has the composite, so it is not kept alive by it.
#[derive(Debug)]
struct Steps(Weak<Host>);

#[async_trait]
impl ToolCaller for Steps {
    async fn call_tool(
        &self,
        parent: &CallContext,
        name: &str,
        input: Input,
    ) -> Result<ToolResult, ToolError> {
        let gone = || ToolError::new(ToolErrorKind::Unreachable, "the host has ended");
        self.0.upgrade().ok_or_else(gone)?.call_tool(parent, name, input).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_decided_is_shown_by_what_knows_it() {
        for (version, verb) in [(Some(2), "history"), (None, "events")] {
            let what = "the proposal".to_owned();
            let err = StoreError::Decided { what, name: "t".to_owned(), version };
            // In front of it there may be options of a session that another test has.
            let expected = format!(" evolve {verb} t` shows what became of it");
            let found = mending(&err).unwrap();
            assert!(found.ends_with(&expected), "{found}");
        }
    }
}
