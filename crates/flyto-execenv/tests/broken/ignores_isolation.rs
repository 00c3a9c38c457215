//! Declares isolation, and has none.

use flyto_execenv::{Capabilities, Capability, ExecEnv, Isolation, Spec, local::Local};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct IgnoresIsolation;

impl Fault for IgnoresIsolation {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([
            Capability::FilesystemGrants,
            Capability::FilesystemDenials,
            Capability::FilesystemReadOnly,
            Capability::NetworkOff,
            Capability::NetworkHosts,
            Capability::LocalSocketsOff,
            Capability::SystemCallFilter,
            Capability::ProcessIsolation,
            Capability::OwnSharedMemory,
        ])
    }

    fn spec(&self, spec: Spec) -> Spec {
        spec.isolation(Isolation::new())
    }
}

/// Whether perl does this without any isolation. What the machine itself refuses, isolation need not.
fn comes_off(script: &str) -> bool {
    let spec = Spec::new("/usr/bin/perl").args(["-MSocket", "-e", script]);
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("a runtime");
    runtime.block_on(ExecEnv::new(Local::new()).run(spec)).expect("perl is there").success()
}

#[test]
fn programs_reach_what_they_must_not() {
    let has_vsock = comes_off("exit !socket(my $it, 40, SOCK_STREAM, 0)");
    let has_rings = comes_off(r#"my $it = "\0" x 120; exit(syscall(425, 1, $it) < 0)"#);
    // Nothing is left of it.
    let has_objects =
        comes_off("my $it = msgget(0, 0600); exit !(defined $it && msgctl($it, 0, 0))");
    let has_shared_memory = std::path::Path::new("/dev/shm").is_dir();
    let all = [
        ("files-stay-in-the-grants", true),
        ("denied-paths-are-closed", true),
        ("read-only-paths-stay-as-they-are", true),
        ("network-off-is-off", true),
        ("named-hosts-are-all-there-is", true),
        ("the-machine-around-is-closed", has_vsock),
        ("local-sockets-off-are-off", true),
        ("restricted-system-calls-fail", true),
        ("rings-are-closed", has_rings),
        ("set-id-bits-are-refused", true),
        ("others-are-out-of-reach", true),
        ("others-are-not-traced", true),
        ("shared-objects-of-others-are-closed", has_objects),
        ("shared-memory-is-ones-own", has_shared_memory),
    ];
    let broken: Vec<_> = all.into_iter().filter_map(|(it, is)| is.then_some(it)).collect();
    check::<IgnoresIsolation>(&broken);
}
