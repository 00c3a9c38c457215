//! What to do about a call that the grants of its tool do not allow.

use flyto_execenv::{Capability, Limits, Network};
use flyto_host::stages::names;
use flyto_host::{CallError, Prepared};
use flyto_tools::ToolErrorKind;
use serde_json::{Value, json};

use crate::session::Loaded;
use crate::stop::Stop;
use crate::words::one_line;

/// Where to look when the machine is the reason.
pub(crate) const DOCTOR: &str =
    "`flyto doctor` tells what works on this machine, and why something does not";

/// What to do where a profile would open too much.
pub(crate) const NARROWER: &str = "change to the directory of a project, or use `--sandbox strict` \
                                   or a profile that extends \"strict\" and has `write`";

/// Why a call gave no result, with the keys that ask for what the backend lacks.
pub(crate) fn not_called(loaded: &Loaded, call: &Prepared, err: CallError) -> Stop {
    let is = |kind| matches!(&err, CallError::Tool(it) if it.kind() == kind);
    let (is_refused, is_unsupported) = (is(ToolErrorKind::Refused), is(ToolErrorKind::Unsupported));
    let is_not_startable = is(ToolErrorKind::NotStartable);
    let stop = loaded.failed_call(call, err);
    if is_not_startable {
        return closed(loaded, call).into_iter().fold(stop, Stop::with_help);
    }
    if is_refused {
        // A tool may refuse for reasons of its own, such as a composite whose steps have changed, or
        // a server that is declared in another way.
        let is_too_wide = call.outline().refused.is_some_and(|it| it.stage == names::EXECUTE);
        return if is_too_wide { stop.with_help(NARROWER) } else { stop };
    }
    if !is_unsupported {
        return stop;
    }
    let stop = unkept(loaded, call).into_iter().fold(stop, Stop::with_help);
    stop.with_help(DOCTOR)
}

/// How the program gets a file without which it does not start, where a profile closes it.
fn closed(loaded: &Loaded, call: &Prepared) -> Option<String> {
    let confinement = call.outline().confinement?;
    let path = confinement.closed?;
    // The file alone is seldom enough: its libraries lie beside it.
    let dir = path.parent().filter(|it| it.parent().is_some()).unwrap_or(&path);
    let dir = Value::from(dir.to_string_lossy());
    let path = one_line(&path.to_string_lossy());
    let profiles = confinement.sandbox.iter().map(|it| format!("{:?}", one_line(it)));
    let profiles = profiles.collect::<Vec<_>>().join(" and ");
    let grant = match call.plugin_tool() {
        Some(tool) => {
            let entry = json!({"plugins": {"grants": {tool.plugin(): {"read": [dir]}}}});
            let file = loaded.grants_file.as_ref().map(|it| it.to_string_lossy().into_owned());
            let file = file.map_or("a file for --config".to_owned(), |it| one_line(&it));
            format!("to open it, put {} into {file}", one_line(&entry.to_string()))
        }
        None => format!(r#"to open it, use a profile of your own with "read": [{dir}]"#),
    };
    Some(format!("the sandbox profile {profiles} closes {path}; {grant}"))
}

/// One sentence for each bound that the backend cannot keep.
fn unkept(loaded: &Loaded, call: &Prepared) -> Vec<String> {
    let Some(tool) = call.plugin_tool() else { return Vec::new() };
    let plugin = tool.plugin();
    let granted = call.outline().granted;
    let grant = granted.as_ref();
    let def = tool.definition();
    let own = &def.limits;

    let mut res = Vec::new();
    let file = tool.dir().join("plugin.json");
    let file = one_line(&file.to_string_lossy());
    let declared = format!("the tool {} in {file}", Value::from(def.name.as_str()));
    if let Some(profile) = def.sandbox.as_ref().filter(|it| tool.profiles() == [it.as_str()]) {
        let profile = Value::from(profile.as_str());
        res.push(format!("remove `\"sandbox\": {profile}` from {declared}"));
    }
    for capability in tool.unkept() {
        let is_granted = grant.is_some_and(|it| asks(&it.limits, it.network.as_ref(), capability));
        let Some(key) = key(capability) else { continue };
        let place = if is_granted {
            let file = loaded.grants_file.as_ref().map(|it| it.to_string_lossy().into_owned());
            let file = file.map_or("the configuration".to_owned(), |it| one_line(&it));
            format!("the grant for {} in {file}", Value::from(plugin))
        } else if asks(own, def.network.as_ref(), capability) {
            declared.clone()
        } else {
            continue;
        };
        res.push(format!("remove `{key}` from {place}, or use a backend that offers {capability}"));
    }
    res
}

/// The key, of a grant or of a tool, that asks for a bound.
const fn key(capability: Capability) -> Option<&'static str> {
    Some(match capability {
        Capability::CpuLimit => "limits.cpu_seconds",
        Capability::MemoryLimit => "limits.memory_bytes",
        Capability::ProcessLimit => "limits.processes",
        Capability::FileSizeLimit => "limits.file_size_bytes",
        Capability::OpenFilesLimit => "limits.open_files",
        Capability::NetworkOff | Capability::NetworkHosts => "network",
        _ => return None,
    })
}

fn asks(limits: &Limits, network: Option<&Network>, capability: Capability) -> bool {
    match capability {
        Capability::CpuLimit => limits.cpu_time.is_some(),
        Capability::MemoryLimit => limits.memory_bytes.is_some(),
        Capability::ProcessLimit => limits.processes.is_some(),
        Capability::FileSizeLimit => limits.file_size_bytes.is_some(),
        Capability::OpenFilesLimit => limits.open_files.is_some(),
        Capability::NetworkOff => network == Some(&Network::Off),
        Capability::NetworkHosts => matches!(network, Some(Network::Hosts(_))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use flyto_tools::{CallContext, Input};

    use super::*;
    use crate::args::Common;
    use crate::screen::Screen;
    use crate::session::{Backend, Session};

    /// Calls a tool with these members of its declaration, for whose plugin a configuration has this
    /// grant, where the backend is the portable one.
    #[track_caller]
    fn check(member: &str, grant: &str, expect: Expect) {
        let dir = tempfile::tempdir().unwrap();
        let plugin = dir.path().join("p");
        std::fs::create_dir(&plugin).unwrap();
        let manifest = format!(
            r#"{{"name": "p", "tools": [{{"name": "t", "description": "x", "command": "true"
                {member}}}]}}"#
        );
        std::fs::write(plugin.join("plugin.json"), manifest).unwrap();
        let config = dir.path().join("config.json");
        let text = format!(r#"{{"plugins": {{"grants": {{"p": {grant}}}}}}}"#);
        std::fs::write(&config, text).unwrap();

        let common = Common { plugins: vec![plugin], config: Some(config), ..Common::default() };
        let env = [("PATH", "/usr/bin:/bin")].into_iter().collect();
        let screen = Screen::new(&common, &env);
        let loaded = Session::new(common, screen, env).load(None, Backend::Unused).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ctx = CallContext::new();
        let call = loaded.host.prepare("p:t", Input::empty()).unwrap();
        let err = runtime.block_on(call.clone().run(&ctx)).unwrap_err();
        let stop = format!("{:#?}", not_called(&loaded, &call, err));
        expect.assert_eq(&stop.replace(&*dir.path().to_string_lossy(), "DIR"));
    }

    #[test]
    fn a_bound_that_cannot_be_kept_is_named_with_its_key() {
        check(
            r#", "limits": {"memory_bytes": 100000000}"#,
            "{}",
            expect![[r#"
                Error(
                    Trouble {
                        exit: NotTried,
                        message: "plugin tool \"p:t\" exec failed: failed to start \"true\": the local backend does not offer memory-limit",
                        help: [
                            "remove `limits.memory_bytes` from the tool \"t\" in DIR/p/plugin.json, or use a backend that offers memory-limit",
                            "`flyto doctor` tells what works on this machine, and why something does not",
                        ],
                        findings: [],
                        refusal: None,
                        stages: [],
                    },
                )"#]],
        );
        check(
            "",
            r#"{"network": "off"}"#,
            expect![[r#"
                Error(
                    Trouble {
                        exit: NotTried,
                        message: "plugin tool \"p:t\" exec failed: failed to start \"true\": the local backend does not offer network-off",
                        help: [
                            "remove `network` from the grant for \"p\" in DIR/config.json, or use a backend that offers network-off",
                            "`flyto doctor` tells what works on this machine, and why something does not",
                        ],
                        findings: [],
                        refusal: None,
                        stages: [],
                    },
                )"#]],
        );
    }
}
