//! Machines on which a filter of system calls answers success and makes no call.

use flyto_execenv::{
    ExecEnv, ExecErrorKind, Filesystem, Isolation, KillScope, Limits, Processes, Spec, SystemCalls,
};

use super::super::{
    bpf::{Load, Node, Word},
    inside::is_under,
};
use crate::Linux;

const SUCCESS: Node = Node::Errno(0);

/// Inside, a call with this isolation is refused, and the error names what had no effect.
async fn is_refused(isolation: Isolation, stage: &str) {
    let spec = Spec::new("/bin/true").kill(KillScope::Tree).isolation(isolation);
    let err = ExecEnv::new(Linux::new()).run(spec).await.expect_err("nothing keeps it");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::Unsupported, false), "{err:?}");
    assert!(err.to_string().ends_with(&format!("could not {stage}")), "{err}");
    let source = std::error::Error::source(&err).map(ToString::to_string).unwrap_or_default();
    assert!(source.contains("answered success and did nothing"), "{source}");
}

fn grants() -> Isolation {
    let grants =
        Filesystem::Grants { read: ["/usr".into(), "/lib".into()].into(), write: [].into() };
    Isolation::new().filesystem(grants)
}

#[tokio::test]
async fn a_ruleset_that_was_not_entered_is_noticed() {
    const TEST: &str = "sandbox::tests::untrue::a_ruleset_that_was_not_entered_is_noticed";
    if is_under(TEST, libc::SYS_landlock_restrict_self, SUCCESS) {
        is_refused(grants(), "enter the Landlock domain").await;
        // What is denied in an open file system, and where everything may be read.
        is_refused(Isolation::new().deny("/etc/shadow"), "enter the Landlock domain").await;
        let all = Filesystem::Grants { read: ["/".into()].into(), write: [].into() };
        is_refused(Isolation::new().filesystem(all), "enter the Landlock domain").await;
        // The domain of each program keeps signals inside.
        let own = Isolation::new().processes(Processes::Own);
        is_refused(own, "enter the Landlock domain").await;
    }
}

#[tokio::test]
async fn a_filter_that_was_not_loaded_is_noticed() {
    const TEST: &str = "sandbox::tests::untrue::a_filter_that_was_not_loaded_is_noticed";
    if is_under(TEST, libc::SYS_seccomp, SUCCESS) {
        let restricted = Isolation::new().system_calls(SystemCalls::Restricted);
        is_refused(restricted, "load the system call filter").await;
    }
}

#[tokio::test]
async fn privileges_that_were_not_given_up_are_noticed() {
    const TEST: &str = "sandbox::tests::untrue::privileges_that_were_not_given_up_are_noticed";
    // PR_CAPBSET_DROP, and capset(2) is left alone. A process without capabilities has none to give up.
    let drop = Node::load(Load::Argument(0, Word::Low), Node::equal(24, SUCCESS, Node::Allow));
    if is_under(TEST, libc::SYS_prctl, drop) && rustix::process::geteuid().is_root() {
        is_refused(grants(), "give up privileges").await;
    }
}

/// Inside, an isolation that keeps a path from being changed is refused.
async fn mounts_are_refused() {
    let dir = tempfile::tempdir().expect("there is room");
    let dir = dir.path().canonicalize().expect("it is there");
    std::fs::write(dir.join("kept"), "").expect("it is ours");
    let kept = Isolation::new().read_only(dir.join("kept"));
    is_refused(kept, "make the mounts of read-only paths and shared memory").await;
}

#[tokio::test]
async fn a_mount_namespace_that_was_not_made_is_noticed() {
    const TEST: &str = "sandbox::tests::untrue::a_mount_namespace_that_was_not_made_is_noticed";
    if is_under(TEST, libc::SYS_unshare, SUCCESS) {
        mounts_are_refused().await;
    }
}

#[tokio::test]
async fn a_mount_that_was_not_put_in_place_is_noticed() {
    const TEST: &str = "sandbox::tests::untrue::a_mount_that_was_not_put_in_place_is_noticed";
    if is_under(TEST, libc::SYS_move_mount, SUCCESS) {
        mounts_are_refused().await;
    }
}

#[tokio::test]
async fn a_mount_that_can_still_be_written_is_noticed() {
    const TEST: &str = "sandbox::tests::untrue::a_mount_that_can_still_be_written_is_noticed";
    if is_under(TEST, libc::SYS_mount_setattr, SUCCESS) {
        mounts_are_refused().await;
    }
}

#[tokio::test]
async fn one_bound_that_does_not_hold_is_noticed() {
    const TEST: &str = "sandbox::tests::untrue::one_bound_that_does_not_hold_is_noticed";
    const RLIMIT_FSIZE: u32 = 1;
    let one = Node::equal(RLIMIT_FSIZE, SUCCESS, Node::Allow);
    if is_under(TEST, libc::SYS_prlimit64, Node::load(Load::Argument(1, Word::Low), one)) {
        let limits = Limits::new().file_size_bytes(1_000_000);
        for kill in [KillScope::Tree, KillScope::Group] {
            let spec = Spec::new("/bin/true").kill(kill).limits(limits.clone());
            let err = ExecEnv::new(Linux::new()).run(spec).await.expect_err("nothing keeps it");
            assert_eq!(
                (err.kind(), err.did_start()),
                (ExecErrorKind::Unsupported, false),
                "{err:?}"
            );
            assert!(err.to_string().contains("could not set the bounds"), "{err}");
        }
    }
}

#[tokio::test]
async fn bounds_that_do_not_hold_are_noticed() {
    const TEST: &str = "sandbox::tests::untrue::bounds_that_do_not_hold_are_noticed";
    if is_under(TEST, libc::SYS_prlimit64, SUCCESS) {
        // No supervisor can be used at all, so no tree kill is declared.
        let spec = Spec::new("/bin/true").kill(KillScope::Tree);
        let err = ExecEnv::new(Linux::new()).run(spec).await.expect_err("it is not declared");
        assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::Unsupported, false), "{err:?}");
    }
}
