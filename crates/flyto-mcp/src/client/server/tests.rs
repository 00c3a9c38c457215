use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_host::{Flags, Host, Surroundings, load_config};
use serde_json::json;

use super::*;

#[test]
fn a_closed_server_leaves_the_tools_of_its_successor_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("flyto.json");
    std::fs::write(&file, r#"{"mcpServers": {"s": {"command": "server"}}}"#).expect("written");
    let surroundings = Surroundings::new(Environment::new(), dir.path());
    let mut flags = Flags::default();
    flags.config = Some(file);
    let (config, _) = load_config(&surroundings, &flags).expect("it is in order");
    let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
    let declared = host.servers().remove(0);

    let tool = json!({"name": "a", "inputSchema": {"type": "object"}});
    let tool = Definition::read(tool).expect("in order");
    let pins = Pins { tools: [("a".to_owned(), tool)].into(), ..Pins::default() };
    let store = PinStore::new(dir.path().join("pins"));
    store.save("s", declared.file(), &pins).expect("written");
    let state = || {
        let registry = Arc::downgrade(host.registry());
        let options = Arc::new(ClientOptions::default());
        let (store, changes) = (Some(store.clone()), Arc::default());
        ServerState::new(declared.clone(), options, None, store, changes, registry)
    };
    let (former, now) = (state(), state());
    former.offer();
    former.abort();
    now.offer();
    // As after a message that its tools changed, which came last.
    former.offer();
    assert!(host.find("s:a").is_ok());
}

#[test]
fn the_pause_grows_for_a_server_that_connects_and_dies() {
    let mut slot = Slot::default();
    let mut failures = Vec::new();
    let mut lasted = |time: Duration| {
        slot.connected_at = Instant::now().checked_sub(time);
        slot.ended(Duration::from_secs(1));
        failures.push(slot.n_failures);
    };
    for _ in 0..3 {
        lasted(Duration::from_secs(2));
    }
    lasted(MAX_BACKOFF);
    lasted(Duration::ZERO);
    assert_eq!(failures, [1, 2, 3, 1, 2]);
}
