use expect_test::{Expect, expect};
use flyto_execenv::{Exit, Outcome, Spec};

use super::*;
use crate::ordinary::{is_ordinary, run};

const MIB: u64 = 1 << 20;

fn enforcement(processes: ProcessEnforcement, memory_in_cgroup: bool) -> LimitEnforcement {
    let counted = Mutex::new(Some((Instant::now(), 300)));
    LimitEnforcement {
        processes,
        counts_by_namespace: true,
        memory_in_cgroup,
        cpu_in_cgroup: false,
        sees_trees: true,
        counted,
    }
}

/// Where the supervisors are for which there is a bound on processes.
fn namespace(enforcement: &LimitEnforcement) -> Namespace {
    match enforcement.processes {
        ProcessEnforcement::Namespace => Namespace::Own { helpers: 2 },
        _ => Namespace::Hosts,
    }
}

fn everything() -> Limits {
    Limits::new()
        .cpu_time(Duration::from_millis(1_500))
        .memory_bytes(64 * MIB)
        .processes(10)
        .file_size_bytes(1_000)
        .open_files(20)
}

/// The option of prlimit(1) for a resource.
fn option(resource: u32) -> &'static str {
    let known = [
        (Resource::Cpu, "cpu"),
        (Resource::Fsize, "fsize"),
        (Resource::Data, "data"),
        (Resource::Nproc, "nproc"),
        (Resource::Nofile, "nofile"),
    ];
    known.iter().find(|(it, _)| *it as u32 == resource).expect("it is one of these").1
}

#[track_caller]
fn check(enforcement: &LimitEnforcement, limits: &Limits, kill: KillScope, expect: Expect) {
    let plan = enforcement.plan(namespace(enforcement), limits, kill);
    let bounds: Vec<String> = plan
        .bounds()
        .iter()
        .map(|it| match it.resource == Resource::Data as u32 {
            // It depends on the machine.
            true => {
                assert!(it.soft >= 64 * MIB + (1 << 30) && it.soft == it.hard);
                "data".to_owned()
            }
            false => format!("{} {}:{}", option(it.resource), it.soft, it.hard),
        })
        .collect();
    let Plan { cpu_ns, memory_bytes, cgroup_processes, cgroup_memory, .. } = plan;
    let watched = format!("watched {cpu_ns} {memory_bytes}");
    let cgroup = format!("cgroup {cgroup_processes:?} {cgroup_memory:?}");
    expect.assert_eq(&format!("{}\n{watched}\n{cgroup}\n", bounds.join(", ")));
}

#[test]
fn what_is_watched_through_proc_is_declared_where_that_shows_trees() {
    let check = |memory_in_cgroup, sees_trees, expect: Expect| {
        let enforcement = enforcement(ProcessEnforcement::Cgroup, memory_in_cgroup);
        let declared = LimitEnforcement { sees_trees, ..enforcement }.declared();
        let names: Vec<_> = declared.iter().map(|(it, _)| it.name()).collect();
        expect.assert_eq(&names.join(" "));
    };
    check(
        false,
        true,
        expect!["cpu-limit memory-limit process-limit file-size-limit open-files-limit"],
    );
    check(false, false, expect!["process-limit file-size-limit open-files-limit"]);
    check(true, false, expect!["memory-limit process-limit file-size-limit open-files-limit"]);
}

#[test]
fn what_counts_a_tree_is_named() {
    let check = |in_cgroup, sees_trees, expect: Expect| {
        let enforcement = enforcement(ProcessEnforcement::Cgroup, in_cgroup);
        let enforcement = LimitEnforcement { cpu_in_cgroup: in_cgroup, sees_trees, ..enforcement };
        let named: Vec<_> =
            enforcement.names().map(|(it, name)| format!("{} {name}", it.name())).collect();
        // What is named by its means is declared.
        let declared: Vec<_> = enforcement.declared().into_iter().map(|(it, _)| it).collect();
        let bounds = enforcement.names().filter(|(it, _)| *it != Capability::TreeCpuUsage);
        assert!(bounds.into_iter().all(|(it, _)| declared.contains(&it)));
        expect.assert_eq(&named.join(", "));
    };
    check(true, true, expect!["cpu-limit cgroup, memory-limit cgroup, tree-cpu-usage cgroup"]);
    check(true, false, expect!["cpu-limit cgroup, memory-limit cgroup, tree-cpu-usage cgroup"]);
    check(false, true, expect!["cpu-limit samples, memory-limit resident-and-open-files"]);
    check(false, false, expect![""]);
}

#[test]
fn each_bound_has_its_mechanism() {
    let all = everything();
    check(
        &enforcement(ProcessEnforcement::Cgroup, true),
        &all,
        KillScope::Tree,
        expect![[r#"
        cpu 3:4, fsize 1000:1000, nofile 20:20
        watched 1500000000 0
        cgroup Some(10) Some(67108864)
    "#]],
    );
    check(
        &enforcement(ProcessEnforcement::Namespace, false),
        &all,
        KillScope::Tree,
        expect![[r#"
        cpu 3:4, data, nproc 12:12, fsize 1000:1000, nofile 20:20
        watched 1500000000 67108864
        cgroup None None
    "#]],
    );
    check(
        &enforcement(ProcessEnforcement::User, false),
        &all,
        KillScope::Tree,
        expect![[r#"
        cpu 3:4, data, nproc 310:310, fsize 1000:1000, nofile 20:20
        watched 1500000000 67108864
        cgroup None None
    "#]],
    );
    check(
        &enforcement(ProcessEnforcement::Unavailable, false),
        &all,
        KillScope::Tree,
        expect![[r#"
        cpu 3:4, data, fsize 1000:1000, nofile 20:20
        watched 1500000000 67108864
        cgroup None None
    "#]],
    );
}

#[test]
fn a_kernel_that_counts_a_user_everywhere_bounds_no_namespace_by_itself() {
    let limits = Limits::new().processes(10);
    let mut enforcement = enforcement(ProcessEnforcement::User, false);
    let nproc = |enforcement: &LimitEnforcement| {
        enforcement.plan(Namespace::Own { helpers: 2 }, &limits, KillScope::Tree).bounds()[0].soft
    };
    assert_eq!(nproc(&enforcement), 12);
    enforcement.counts_by_namespace = false;
    assert_eq!(nproc(&enforcement), 310);
}

#[test]
fn a_tree_has_a_bound_on_processes_also_without_one() {
    let none = Limits::new();
    check(
        &enforcement(ProcessEnforcement::Cgroup, true),
        &none,
        KillScope::Tree,
        expect![[r#"

        watched 0 0
        cgroup Some(1024) None
    "#]],
    );
    check(
        &enforcement(ProcessEnforcement::User, true),
        &none,
        KillScope::Tree,
        expect![[r#"
        nproc 1324:1324
        watched 0 0
        cgroup None None
    "#]],
    );
    check(
        &enforcement(ProcessEnforcement::User, true),
        &none,
        KillScope::Group,
        expect![[r#"

        watched 0 0
        cgroup None None
    "#]],
    );
}

#[test]
fn no_bound_is_wider_than_our_own() {
    let own = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let limits = Limits::new().open_files(u64::MAX);
    let plan = enforcement(ProcessEnforcement::Unavailable, false).plan(
        Namespace::Hosts,
        &limits,
        KillScope::Group,
    );
    assert_eq!(plan.bounds()[0].hard, own);
}

#[test]
fn what_is_not_kept_is_not_declared() {
    let has = |processes| {
        let declared = enforcement(processes, false).declared();
        declared.iter().any(|(it, _)| *it == Capability::ProcessLimit)
    };
    assert!(
        has(ProcessEnforcement::Cgroup)
            && has(ProcessEnforcement::Namespace)
            && has(ProcessEnforcement::User)
    );
    assert!(!has(ProcessEnforcement::Unavailable));
}

#[test]
fn the_bound_that_ended_a_program_is_told() {
    #[track_caller]
    fn check(
        limits: &Limits,
        by: Reached,
        status: u32,
        events: [u64; 2],
        expect: Option<LimitKind>,
    ) {
        let [oom_kills, refused_forks] = events;
        let events = Events { oom_kills, refused_forks };
        assert_eq!(reached(limits, by, status, events), expect);
    }
    let (all, none) = (everything(), Limits::new());
    let (killed, failed) = (9, 1 << 8);
    check(&all, Reached::Cpu, killed, [0, 0], Some(LimitKind::CpuTime));
    check(&all, Reached::Memory, killed, [0, 9], Some(LimitKind::Memory));
    check(&all, Reached::Nothing, killed, [1, 0], Some(LimitKind::Memory));
    check(&all, Reached::Nothing, SIGXCPU, [0, 0], Some(LimitKind::CpuTime));
    check(&all, Reached::Nothing, SIGXFSZ | 0x80, [0, 0], Some(LimitKind::FileSize));
    check(&all, Reached::Nothing, failed, [0, 3], Some(LimitKind::Processes));
    check(&all, Reached::Nothing, 0, [1, 3], None);
    check(&all, Reached::Nothing, killed, [0, 0], None);
    check(&none, Reached::Nothing, SIGXCPU, [1, 0], None);
    // The bound by default.
    check(&none, Reached::Nothing, failed, [0, 1], Some(LimitKind::Processes));
    check(&none, Reached::Nothing, 0, [0, 1], None);
}

/// Runs a script with the bounds of a plan, which prlimit(1) sets. `within` are words before it.
async fn bounded(plan: &Plan, within: &[&str], script: &str) -> Outcome {
    let bounds = plan.bounds().iter();
    let words: Vec<String> = within
        .iter()
        .map(|it| (*it).to_owned())
        .chain(["prlimit".to_owned()])
        .chain(bounds.map(|it| format!("--{}={}:{}", option(it.resource), it.soft, it.hard)))
        .chain(["/bin/sh", "-c", script].map(str::to_owned))
        .collect();
    let (program, args) = words.split_first().expect("there is a program");
    run(Spec::new(program).args(args).env_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")).await
}

/// Starts twenty processes, and says of each one that it was started. A shell that cannot make one
/// gives up.
const SLEEPERS: &str =
    "n=0; while [ $n -lt 20 ]; do sleep 60 >/dev/null 2>&1 & n=$((n+1)); echo; done";

fn n_started(outcome: &Outcome) -> usize {
    outcome.stdout.bytes().len()
}

#[tokio::test]
async fn processes_of_an_ordinary_user_are_bounded() {
    if !is_ordinary("enforcement::tests::processes_of_an_ordinary_user_are_bounded").await {
        return;
    }
    let enforcement = LimitEnforcement::find(&Cgroups::none(), Namespace::Hosts);
    if enforcement.processes() == ProcessEnforcement::Unavailable {
        println!("skipped: this user may have as many processes as it likes");
        return;
    }
    let plan = enforcement.plan(Namespace::Hosts, &Limits::new().processes(10), KillScope::Tree);
    let outcome = bounded(&plan, &[], SLEEPERS).await;
    // What else this user runs comes and goes, so the number is not exact.
    assert!(!outcome.success() && n_started(&outcome) < 20, "{outcome:?}");
}

#[test]
fn a_supervisor_in_a_namespace_of_its_own_has_no_other_process_to_count() {
    let enforcement = enforcement(ProcessEnforcement::User, false);
    let nproc = |namespace| {
        let plan = enforcement.plan(namespace, &Limits::new().processes(10), KillScope::Tree);
        plan.bounds().iter().map(|it| it.soft).collect::<Vec<_>>()
    };
    assert_eq!(nproc(Namespace::Hosts), [310]);
    assert_eq!(nproc(Namespace::Own { helpers: 1 }), [11]);
}

#[tokio::test]
async fn in_a_user_namespace_the_bound_is_exact() {
    if !is_ordinary("enforcement::tests::in_a_user_namespace_the_bound_is_exact").await {
        return;
    }
    let own = Namespace::Own { helpers: 0 };
    let enforcement = LimitEnforcement::find(&Cgroups::none(), own);
    let within = ["unshare", "--user"];
    let works = bounded(&Plan::default(), &within, "true").await.success();
    if enforcement.processes() == ProcessEnforcement::Unavailable || !works {
        println!("skipped: no user namespaces here");
        return;
    }
    let plan = enforcement.plan(own, &Limits::new().processes(10), KillScope::Tree);
    let outcome = bounded(&plan, &within, SLEEPERS).await;
    // The shell is one of the ten.
    assert_eq!((outcome.success(), n_started(&outcome)), (false, 9), "{outcome:?}");
}

#[tokio::test]
async fn a_file_that_is_too_large_ends_its_writer() {
    let dir = tempfile::tempdir().expect("there is room");
    let file = dir.path().join("file");
    let limits = Limits::new().file_size_bytes(1_000);
    let plan = enforcement(ProcessEnforcement::Unavailable, false).plan(
        Namespace::Hosts,
        &limits,
        KillScope::Group,
    );
    let script = format!("exec head -c 2000 /dev/zero > {}", file.display());
    let outcome = bounded(&plan, &[], &script).await;
    let Some(Exit::Signal(signal)) = outcome.exit else { panic!("{outcome:?}") };
    let status = signal.0.cast_unsigned();
    let limit = reached(&limits, Reached::Nothing, status, Events::default());
    assert_eq!(limit, Some(LimitKind::FileSize));
    assert_eq!(std::fs::metadata(&file).expect("it was begun").len(), 1_000);
}
