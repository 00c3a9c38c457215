//! What to do about a call that cannot be made on the terms of its tool.

use flyto_execenv::{Capability, Limits, Network};
use flyto_host::CallError;
use flyto_tools::ToolErrorKind;
use serde_json::Value;

use crate::session::Loaded;
use crate::stop::Stop;
use crate::words::one_line;

/// Why a call of the tool `name` gave no result, with the keys that ask for what the backend lacks.
pub(crate) fn not_called(loaded: &Loaded, name: &str, err: CallError) -> Stop {
    let is_unsupported =
        matches!(&err, CallError::Tool(it) if it.kind() == ToolErrorKind::Unsupported);
    let stop = loaded.failed_call(name, err);
    let advice = if is_unsupported { unkept(loaded, name) } else { Vec::new() };
    advice.into_iter().fold(stop, Stop::with_help)
}

/// One sentence for each bound that the backend cannot keep.
fn unkept(loaded: &Loaded, name: &str) -> Vec<String> {
    let tool = loaded.host.find(name).ok().and_then(|it| loaded.host.plugin_tool(it.id()));
    let Some(tool) = tool else { return Vec::new() };
    let plugin = tool.plugin();
    let grant = loaded.host.grant(plugin);
    let own = &tool.definition().limits;
    let mut res = Vec::new();
    for capability in tool.unkept() {
        let is_granted = grant.is_some_and(|it| asks(&it.limits, it.network.as_ref(), capability));
        let Some(key) = key(capability) else { continue };
        let place = if is_granted {
            let file = loaded.grants_file.as_ref().map(|it| it.to_string_lossy().into_owned());
            let file = file.map_or("the configuration".to_owned(), |it| one_line(&it));
            format!("the grant for {} in {file}", Value::from(plugin))
        } else if asks(own, None, capability) {
            let file = tool.dir().join("plugin.json");
            let name = Value::from(tool.definition().name.as_str());
            format!("the tool {name} in {}", one_line(&file.to_string_lossy()))
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
        Capability::NetworkOff => "network",
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
        _ => false,
    }
}
