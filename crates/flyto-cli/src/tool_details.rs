//! The details of a plugin tool: what its program is, its bounds, and what it was granted.

use std::path::PathBuf;

use flyto_execenv::{
    Filesystem, Isolation, Limits, LocalSockets, Network, Processes, SharedMemory, SystemCalls,
};
use flyto_host::{MissingGrants, Prepared, ToGrant};
use flyto_plugin::{Grant, Invocation, Lifetime, PluginTool, ToolDef};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::words::{bytes, counted, one_line, some, tame, time};

/// What is known of a plugin's tool beside what a preview tells.
#[derive(Debug, Serialize)]
pub(crate) struct ToolDetails {
    #[serde(flatten)]
    pub(crate) form: Form,
    /// How the program is told what to do.
    runs: Runs,
    /// As in a configuration.
    #[serde(serialize_with = "grant_document")]
    granted: Grant,
    #[serde(flatten)]
    pub(crate) lacks: MissingGrants,
}

/// The form of a tool, and how long its process lives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Form {
    /// `argv`, `template` or `binary`.
    form: &'static str,
    /// `call` or `session`.
    lifetime: &'static str,
    /// The time without a call after which the process of a session is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_seconds: Option<f64>,
    /// Whether a host may start its process before a call. The documents say so of every tool.
    #[serde(skip)]
    ready: bool,
}

/// What is run, as the manifest says it. What does not belong to the form is left out.
#[derive(Debug, Default, Serialize)]
struct Runs {
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
    /// Whether `sh` runs the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    shell: Option<bool>,
    /// The file of a binary plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The digest of the only bytes that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl ToolDetails {
    /// The details of a tool; `None` for one that is no plugin's.
    pub(crate) fn of(call: &Prepared) -> Option<Self> {
        let tool = call.plugin_tool()?;
        let plan = call.outline();
        Some(Self {
            form: Form::of(tool.definition()),
            runs: Runs::of(tool),
            lacks: plan.missing?,
            granted: plan.granted?,
        })
    }

    /// What the program is: the facts above those of a preview.
    pub(crate) fn program(&self) -> Vec<(&'static str, String)> {
        // The path of a program is what a preview says first.
        let Runs { template, shell, path: _, sha256 } = &self.runs;
        let mut form = self.form.form.to_owned();
        match shell {
            Some(true) => form.push_str(" run by sh"),
            Some(false) => form.push_str(" run without a shell"),
            None => {}
        }
        let lives = match self.form.idle_seconds {
            Some(seconds) => {
                let idle = time(std::time::Duration::from_secs_f64(seconds));
                format!("one process for all calls, ended after {idle} without one")
            }
            None if self.form.ready => {
                "one process for each call, which a host may start before it".to_owned()
            }
            None => "one process for each call".to_owned(),
        };
        let mut res = vec![("form", format!("{form}; {lives}"))];
        res.extend(template.as_ref().map(|it| ("template", tame(it))));
        res.extend(sha256.as_ref().map(|it| ("sha256", it.clone())));
        res
    }

    /// What it was granted, and how it is granted more.
    pub(crate) fn grants(&self) -> Vec<(&'static str, String)> {
        let granted = Some(granted(&self.granted)).filter(|it| !it.is_empty());
        let mut res = vec![("granted", granted.unwrap_or_else(|| "nothing".to_owned()))];
        res.extend(missing_facts(&self.lacks));
        res
    }
}

impl Form {
    pub(crate) fn of(def: &ToolDef) -> Self {
        let idle = match def.invocation {
            Invocation::Rpc { lifetime: Lifetime::Session { idle }, .. } => Some(idle),
            _ => None,
        };
        Self {
            form: def.form().name(),
            lifetime: if idle.is_some() { "session" } else { "call" },
            idle_seconds: idle.map(|it| it.as_secs_f64()),
            ready: def.ready,
        }
    }
}

impl Runs {
    fn of(tool: &PluginTool) -> Self {
        let def = tool.definition();
        let mut res = Self { sha256: def.sha256.map(|it| it.to_string()), ..Self::default() };
        match &def.invocation {
            Invocation::Template(template) => {
                res.template = Some(template.command().to_owned());
                res.shell = Some(template.uses_shell());
            }
            Invocation::Rpc { path, .. } => {
                res.path = Some(tool.dir().join(path).to_string_lossy().into_owned());
            }
            _ => {}
        }
        res
    }
}

/// The row that says how a variable is granted.
pub(crate) const TO_GRANT: &str = "to grant";

/// How a program gets to see another variable.
pub(crate) fn missing_facts(it: &MissingGrants) -> Vec<(&'static str, String)> {
    let mut res = Vec::new();
    if !it.to_set.is_empty() {
        let names = one_line(&some(&it.to_set).join(" "));
        res.push(("to set", format!("{names} in the environment of flyto")));
    }
    let ToGrant { file, entry, plugin, .. } = &it.to_grant;
    let env = entry.pointer("/plugins/grants").and_then(|it| it[plugin]["env"].as_array());
    let env: Vec<_> = env.into_iter().flatten().map(ToString::to_string).collect();
    let env = some(&env);
    let plugin = Value::from(plugin.as_str());
    let entry =
        format!(r#"{{"plugins": {{"grants": {{{plugin}: {{"env": [{}]}}}}}}}}"#, env.join(", "));
    let file = file.as_deref().map_or("a file for --config".to_owned(), one_line);
    res.push((TO_GRANT, format!("{}\nin {file}", one_line(&entry))));
    res
}

/// Bounds in words, the empty text where there are none.
pub(crate) fn limits(it: &Limits) -> String {
    let parts = [
        it.cpu_time.map(|it| format!("{} of CPU time", time(it))),
        it.memory_bytes.map(|it| format!("{} of memory", bytes(it))),
        it.processes.map(|it| format!("{it} processes")),
        it.file_size_bytes.map(|it| format!("files of {}", bytes(it))),
        it.open_files.map(|it| format!("{it} open files")),
        it.output_bytes.map(|it| format!("{} of output", bytes(it))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(crate) fn isolation(it: &Isolation) -> String {
    let mut parts = Vec::new();
    match &it.network {
        Network::Off => parts.push("no network".to_owned()),
        Network::Hosts(hosts) => {
            parts.push(format!("network to {} only", counted(hosts.len(), "host")));
            parts.extend(hosts.iter().map(|it| format!("reach {it}")));
        }
        _ => {}
    }
    let closed = [
        (it.local_sockets == LocalSockets::Off, "no sockets of other programs"),
        (it.system_calls == SystemCalls::Restricted, "system calls of ordinary programs only"),
        (it.processes == Processes::Own, "no access to processes outside its own tree"),
        (it.shared_memory == SharedMemory::Own, "no shared memory (/dev/shm) of other programs"),
    ];
    parts.extend(closed.iter().filter(|it| it.0).map(|it| it.1.to_owned()));
    if let Filesystem::Grants { read, write } = &it.filesystem {
        let n_paths = counted(read.len() + write.len(), "path");
        parts.push(format!("files of {n_paths} only"));
        parts.extend(reach(read, write));
    }
    if !it.denied.is_empty() {
        parts.push(format!("never files of {}", counted(it.denied.len(), "path")));
    }
    if !it.read_only.is_empty() {
        parts.push(format!("no changes to {}", counted(it.read_only.len(), "path")));
    }
    parts.join("\n")
}

fn granted(it: &Grant) -> String {
    let mut parts = Vec::new();
    if !it.env.is_empty() {
        let names: Vec<_> = it.env.iter().map(|it| one_line(it)).collect();
        parts.push(format!("variables {}", names.join(" ")));
    }
    let limits = limits(&it.limits);
    if !limits.is_empty() {
        parts.push(format!("limits in place of the class's: {limits}"));
    }
    parts.extend(it.network.as_ref().map(|it| format!("network {}", network(it))));
    parts.extend(reach(&it.read, &it.write));
    parts.join("\n")
}

fn reach<'a>(read: &'a [PathBuf], write: &'a [PathBuf]) -> impl Iterator<Item = String> + 'a {
    let each = |access: &'static str, paths: &'a [PathBuf]| {
        paths.iter().map(move |it| format!("{access} {}", one_line(&it.to_string_lossy())))
    };
    each("read", read).chain(each("write", write))
}

/// The word that a configuration has for it.
fn network(it: &Network) -> String {
    match it {
        Network::Off => "off".to_owned(),
        Network::Hosts(hosts) => {
            let names: Vec<_> = hosts.iter().map(ToString::to_string).collect();
            names.join(" ")
        }
        _ => "on".to_owned(),
    }
}

fn limits_value(it: &Limits) -> Value {
    let all = [
        ("cpu_seconds", it.cpu_time.map(|it| it.as_secs())),
        ("memory_bytes", it.memory_bytes),
        ("processes", it.processes),
        ("file_size_bytes", it.file_size_bytes),
        ("open_files", it.open_files),
        ("output_bytes", it.output_bytes),
    ];
    all.into_iter().filter_map(|(key, it)| Some((key.to_owned(), Value::from(it?)))).collect()
}

fn paths_value(paths: &[PathBuf]) -> Value {
    paths.iter().map(|it| it.to_string_lossy().into_owned()).collect()
}

pub(crate) fn limits_document<S: Serializer>(
    it: &Limits,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    limits_value(it).serialize(serializer)
}

pub(crate) fn isolation_document<S: Serializer>(
    it: &Isolation,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut res = json!({"network": network_value(&it.network)});
    if let Filesystem::Grants { read, write } = &it.filesystem {
        res["read"] = paths_value(read);
        res["write"] = paths_value(write);
    }
    let closed = [
        (it.local_sockets == LocalSockets::Off, "local_sockets", "off"),
        (it.system_calls == SystemCalls::Restricted, "system_calls", "restricted"),
        (it.processes == Processes::Own, "processes", "own"),
        (it.shared_memory == SharedMemory::Own, "shared_memory", "own"),
    ];
    for (_, key, word) in closed.iter().filter(|it| it.0) {
        res[*key] = (*word).into();
    }
    if !it.denied.is_empty() {
        res["denied"] = paths_value(&it.denied);
    }
    if !it.read_only.is_empty() {
        res["read_only"] = paths_value(&it.read_only);
    }
    res.serialize(serializer)
}

/// A word, or the patterns of the hosts.
fn network_value(it: &Network) -> Value {
    match it {
        Network::Hosts(hosts) => hosts.iter().map(ToString::to_string).collect(),
        _ => network(it).into(),
    }
}

fn grant_document<S: Serializer>(it: &Grant, serializer: S) -> Result<S::Ok, S::Error> {
    let mut res = json!({
        "env": it.env,
        "limits": limits_value(&it.limits),
        "read": paths_value(&it.read),
        "write": paths_value(&it.write),
    });
    if let Some(it) = &it.network {
        res["network"] = network_value(it);
    }
    res.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;

    use super::*;

    #[test]
    fn bounds_in_words() {
        let all = Limits::new()
            .cpu_time(Duration::from_secs(90))
            .memory_bytes(1 << 30)
            .processes(8)
            .file_size_bytes(1 << 20)
            .open_files(64)
            .output_bytes(5000);
        expect![
            "1 min 30 s of CPU time, 1.0 GiB of memory, 8 processes, files of 1.0 MiB, \
             64 open files, 4.9 KiB of output"
        ]
        .assert_eq(&limits(&all));
        assert_eq!(limits(&Limits::new()), "");
        expect![[r#"{"cpu_seconds":90,"memory_bytes":1073741824,"processes":8,"file_size_bytes":1048576,"open_files":64,"output_bytes":5000}"#]]
            .assert_eq(&limits_value(&all).to_string());
    }

    #[test]
    fn isolation_in_words() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let filesystem =
            Filesystem::Grants { read: paths(&["/usr"]), write: paths(&["/a b", "/c\u{1b}"]) };
        let it = Isolation::new().network(Network::Off).filesystem(filesystem);
        expect![[r#"
            no network
            files of 3 paths only
            read /usr
            write /a b
            write /c␛"#]]
        .assert_eq(&isolation(&it));
        assert_eq!(isolation(&Isolation::new()), "");
        let document = isolation_document(&it, serde_json::value::Serializer).expect("data");
        expect![[r#"{"network":"off","read":["/usr"],"write":["/a b","/c\u001b"]}"#]]
            .assert_eq(&document.to_string());

        let hosts = ["a.org:443", "*.b.org"].map(|it| it.parse().expect("a pattern"));
        let it = Isolation::new()
            .network(Network::Hosts(hosts.to_vec()))
            .local_sockets(LocalSockets::Off)
            .system_calls(SystemCalls::Restricted)
            .processes(Processes::Own)
            .deny("/h/.ssh");
        expect![[r#"
            network to 2 hosts only
            reach a.org:443
            reach *.b.org
            no sockets of other programs
            system calls of ordinary programs only
            no access to processes outside its own tree
            never files of 1 path"#]]
        .assert_eq(&isolation(&it));
        let document = isolation_document(&it, serde_json::value::Serializer).expect("data");
        expect![[r#"{"network":["a.org:443","*.b.org"],"local_sockets":"off","system_calls":"restricted","processes":"own","denied":["/h/.ssh"]}"#]].assert_eq(&document.to_string());
    }
}
