//! By real use: on a machine where no process may make cgroups they show that nothing is made.

use std::{
    collections::BTreeSet,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    sync::Arc,
};

use flyto_execenv::{ExecEnv, Outcome, Output, RunOptions, Spec, Stdin, local::Local};
use rustix::{
    io::fcntl_dupfd_cloexec,
    process::{WaitId, WaitIdOptions},
};
use tokio::io::AsyncReadExt;

use super::*;
use crate::{
    bare::{child::ProcessGroup, host},
    ordinary::{GUARD, is_ordinary, run},
    supervised::image,
};

/// What is there of ours, in every hierarchy.
fn present(place: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            if entry.file_name().as_encoded_bytes().starts_with(b"flyto-") {
                into.insert(entry.path());
            }
            present(&entry.path(), into);
        }
    }
}

/// Directories of this process, of which other tests have their own.
fn ours() -> BTreeSet<PathBuf> {
    let mut res = BTreeSet::new();
    present(Path::new("/sys/fs/cgroup"), &mut res);
    let prefix = format!("flyto-{}-", std::process::id());
    res.retain(|it| it.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&prefix)));
    res
}

/// Runs a shell script in the cgroup, by its own hand: it waits for no supervisor.
async fn run_in(leaf: &Leaf, script: &str) -> Outcome {
    let lists =
        leaf.lists_of_members().into_iter().map(|it| format!("echo $$ > {} && ", it.display()));
    let script = format!("{}exec /bin/sh -c '{script}'", lists.collect::<String>());
    run(Spec::new("/bin/sh").args(["-c", &script]).env_var("PATH", "/usr/bin:/bin")).await
}

fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned()
}

#[test]
fn what_was_made_is_gone_again() {
    let cgroups = Cgroups::probe();
    let homes: BTreeSet<PathBuf> =
        cgroups.findings().iter().filter_map(|it| it.found.clone().ok()).collect();
    let leaves: Vec<Leaf> =
        (0..3).filter_map(|_| cgroups.leaf(1, false).expect("there is room")).collect();
    assert_eq!(leaves.is_empty(), homes.is_empty());
    assert!(homes.iter().all(|it| it.join("2").is_dir()), "{homes:?}");
    drop(leaves);
    assert!(homes.iter().all(|it| !it.join("2").exists()), "{homes:?}");
    drop(cgroups);
    assert!(homes.iter().all(|it| !it.exists()), "{homes:?}");
    assert!(ours().is_disjoint(&homes));
}

#[test]
fn a_refusal_names_what_was_tried() {
    for finding in Cgroups::probe().findings() {
        if let Err(refused) = &finding.found {
            let text = refused.to_string();
            assert!(text.starts_with("failed to ") && text.contains('/'), "{text}");
            assert!(!refused.error.to_string().is_empty());
        }
    }
}

#[tokio::test]
async fn an_ordinary_user_leaves_nothing_where_it_may_make_nothing() {
    if !is_ordinary("cgroup::tests::an_ordinary_user_leaves_nothing_where_it_may_make_nothing")
        .await
    {
        return;
    }
    let cgroups = Cgroups::probe();
    let of_findings: Vec<&PathBuf> =
        cgroups.findings().iter().filter_map(|it| it.found.as_ref().ok()).collect();
    assert!(ours().iter().all(|it| of_findings.contains(&it)), "{cgroups:?}");
    let leaf = cgroups.leaf(1, false).expect("nothing is tried, or it works");
    assert_eq!(leaf.is_some(), !of_findings.is_empty());
}

fn above_3(fd: &impl AsFd) -> OwnedFd {
    fcntl_dupfd_cloexec(fd, 4).expect("there are descriptors")
}

#[test]
fn a_supervisor_is_cloned_into_its_cgroup() {
    let cgroups = Cgroups::probe();
    let Some(leaf) = cgroups.leaf(1, false).expect("there is room") else { return };
    let own = || fs::read_to_string("/proc/thread-self/cgroup").expect("proc is there");
    let before = own();
    let members = leaf.members().expect("the cgroup is ours");
    let (ours, its) = UnixStream::pair().expect("there are descriptors");
    let null = File::options().read(true).write(true).open("/dev/null").expect("it is there");
    // Copies that are not in the way of the places that a child takes.
    let (its, null) = (above_3(&its), above_3(&null));
    let image = image().expect("there is memory");
    let members = members.as_ref().map(AsFd::as_fd);
    let cgroup = leaf.dir_of_supervisor().expect("the cgroup is ours");
    let cgroup = cgroup.as_ref().map(|(dir, list)| (*dir, list.as_fd()));
    let (pid, pidfd) =
        host::supervisor(image, (its.as_fd(), null.as_fd()), ProcessGroup::Own, members, cgroup)
            .expect("it starts");
    let inside = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("it lives");
    drop((ours, its));
    rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED).expect("it ends");
    assert_eq!(own(), before);
    let is_in = |hierarchy: &str, home: &Home| {
        let cgroup =
            format!("{}/0", home.path().file_name().expect("it has one").to_string_lossy());
        inside.lines().any(|it| it.contains(hierarchy) && it.ends_with(&cgroup))
    };
    assert!(cgroups.homes.pids.as_ref().is_none_or(|it| is_in(":pids:", it)), "{inside}");
    assert!(cgroups.homes.version_2.as_ref().is_none_or(|it| is_in("0::", it)), "{inside}");
}

#[tokio::test]
async fn a_bound_on_processes_holds() {
    let cgroups = Cgroups::probe();
    if !cgroups.can(Use::Processes) {
        return;
    }
    let mut leaf = cgroups.leaf(0, true).expect("there is room").expect("cgroups can be used");
    leaf.set_processes(Some(10)).expect("the cgroup is ours");
    let script = "n=0; while [ $n -lt 20 ]; do sleep 60 >/dev/null 2>&1 & n=$((n+1)); done; wait";
    let outcome = run_in(&leaf, script).await;
    assert!(!outcome.success(), "{outcome:?}");
    assert!(leaf.events().refused_forks > 0);
    assert_eq!(leaf.events(), Events::default());
}

#[tokio::test]
async fn a_bound_on_memory_holds() {
    let cgroups = Cgroups::probe();
    if !cgroups.can(Use::Memory) {
        return;
    }
    let mut leaf = cgroups.leaf(0, true).expect("there is room").expect("cgroups can be used");
    leaf.set_memory(Some(64 << 20)).expect("the cgroup is ours");
    // tail(1) keeps what may be the last line, and there is no line.
    let outcome = run_in(&leaf, "head -c 256M /dev/zero | tail -n 1 | wc -c").await;
    assert_ne!(text(&outcome).trim(), (256 << 20).to_string());
    assert!(leaf.events().oom_kills > 0, "{outcome:?}");
    // Wider and away again.
    leaf.set_memory(Some(128 << 20)).expect("the cgroup is ours");
    leaf.set_memory(None).expect("the cgroup is ours");
    let outcome = run_in(&leaf, "head -c 128M /dev/zero | tail -n 1 | wc -c").await;
    assert_eq!(text(&outcome).trim(), (128 << 20).to_string());
}

#[tokio::test]
async fn files_in_memory_wear_a_cgroup_out() {
    let cgroups = Cgroups::probe();
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return };
    if !cgroups.can(Use::Memory) {
        return;
    }
    let mut leaf = cgroups.leaf(0, true).expect("there is room").expect("cgroups can be used");
    leaf.set_memory(Some(64 << 20)).expect("the cgroup is ours");
    let file = dir.path().join("file");
    let script = format!("head -c 8M /dev/zero > {}", file.display());
    assert!(run_in(&leaf, &script).await.success());
    assert!(leaf.is_worn());
    fs::remove_file(file).expect("it is ours");
    assert!(!leaf.is_worn());
}

#[test]
fn a_cgroup_that_was_killed_takes_no_process() {
    let cgroups = Cgroups::probe();
    let Some(leaf) = cgroups.leaf(0, true).expect("there is room") else { return };
    let (Some(dir), Some(kill)) = (leaf.dir_of_programs(), leaf.kill_file()) else {
        return;
    };
    trial::clone_into_cgroup(dir).expect("it was not killed");
    rustix::io::write(kill, b"1").expect("the cgroup is ours");
    // FIXME: Linux 6.18 kills each process that is started in the cgroup from now on, though it should not.
    let after = trial::clone_into_cgroup(dir).map_err(|it| it.kind());
    assert!(matches!(after, Ok(()) | Err(io::ErrorKind::Other)), "{after:?}");
    drop(leaf);
    let next = cgroups.leaf(0, true).expect("there is room").expect("cgroups can be used");
    trial::clone_into_cgroup(next.dir_of_programs().expect("as before")).expect("this one is new");
}

#[test]
fn what_a_killed_host_leaves_goes_with_the_next() {
    let cgroups = Cgroups::probe();
    let left: Vec<PathBuf> = cgroups
        .homes
        .all()
        .map(|it| {
            let left = Home::make(it.path().parent().expect("it has one")).expect("as before");
            fs::create_dir_all(left.cgroup(3).join("nested")).expect("cgroups can be made there");
            left.abandon()
        })
        .collect();
    let second = Cgroups::probe();
    assert!(left.iter().all(|it| !it.exists()), "{left:?}");
    assert!(cgroups.homes.all().chain(second.homes.all()).all(|it| it.path().is_dir()));
}

/// What is written and read where version 2 has its controllers, on plain files.
#[test]
fn version_2_is_told_and_asked_in_its_own_words() {
    let place = tempfile::tempdir().expect("there is room");
    let home = Home::make(place.path()).expect("the place is ours");
    let cgroup = home.make_cgroup(0).expect("the home is ours");
    let put = |name: &str, text: &str| fs::write(cgroup.join(name), text).expect("it is ours");
    let got = |name: &str| fs::read_to_string(cgroup.join(name)).expect("it is there");
    for name in ["cgroup.kill", "pids.max", "memory.max", "memory.oom.group"] {
        put(name, "");
    }
    let homes =
        Homes { version_2: Some(home), pids_in_2: true, memory_in_2: true, ..Homes::default() };
    let mut leaf = Leaf::make(Arc::new(homes), 0, 2, true).expect("all files are there");
    assert_eq!(got("memory.oom.group"), "1");

    // Helpers are in no cgroup of version 2.
    leaf.set_processes(Some(10)).expect("the file is there");
    leaf.set_memory(Some(4096)).expect("the file is there");
    assert_eq!([got("pids.max"), got("memory.max")], ["10", "4096"]);
    put("pids.max", "untouched");
    leaf.set_processes(Some(10)).expect("nothing is written");
    assert_eq!(got("pids.max"), "untouched");

    put("pids.events", "max 3\n");
    put("memory.events", "low 0\nhigh 0\nmax 8\noom 1\noom_kill 2\noom_group_kill 1\n");
    assert_eq!(leaf.events(), Events { oom_kills: 2, refused_forks: 3 });
    put("pids.events", "max 4\n");
    assert_eq!(leaf.events(), Events { oom_kills: 0, refused_forks: 1 });
}

#[tokio::test]
async fn an_ending_process_is_waited_for() {
    let cgroups = Cgroups::probe();
    let Some(leaf) = cgroups.leaf(1, false).expect("there is room") else { return };
    let homes: Vec<PathBuf> = cgroups.homes.all().map(|it| it.path().to_owned()).collect();
    // Ends when its input does.
    let lists = leaf.lists_of_members();
    let joins = lists.iter().map(|it| format!("echo $$ > {}; ", it.display())).collect::<String>();
    let spec = Spec::new("/bin/sh").args(["-c", &format!("{joins}echo; read line")]);
    let env = ExecEnv::new(Local::new());
    let spec = spec.stdin(Stdin::Piped).stdout(Output::Piped).deadline(GUARD);
    let mut process = env.start(spec, RunOptions::new()).await.expect("there is a shell");
    let mut said = [0];
    process
        .stdout
        .as_mut()
        .expect("it is piped")
        .read_exact(&mut said)
        .await
        .expect("it is inside");
    drop(process);
    drop((leaf, cgroups));
    assert!(homes.iter().all(|it| !it.exists()), "{homes:?}");
}

#[test]
fn none_means_none() {
    let cgroups = Cgroups::none();
    assert!(cgroups.leaf(1, false).expect("nothing is tried").is_none());
    assert!(!cgroups.can(Use::Kill) && !cgroups.can(Use::Processes));
    assert_eq!(Arc::strong_count(&cgroups.homes), 1);
}
