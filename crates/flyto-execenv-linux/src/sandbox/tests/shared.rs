//! What processes share by a number or a name: System V IPC, POSIX message queues, `/dev/shm`.

use std::{
    env,
    fs::{self, File},
    io::ErrorKind,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use expect_test::{Expect, expect};
use flyto_execenv::{Filesystem, Isolation, Processes, Profile, SharedMemory};
use rustix::fs::{FallocateFlags, fallocate};

use super::{
    super::{
        Support, confine,
        inside::{HOST, INSIDE, Scene},
        shared_memory::{SIZE_BYTES, plan},
    },
    errno, profile,
};
use crate::bare::attempt::without_buffers;

#[tokio::test]
async fn shared_objects_are_those_of_a_system_without_them() {
    let test = "sandbox::tests::shared::shared_objects_are_those_of_a_system_without_them";
    let isolation = |_: &Path| Isolation::new().processes(Processes::Own);
    let Some(_) = Scene::enter(test, isolation).await else { return };
    // Without a filter, these answer that there is no such object, or that the address is bad.
    let calls: [(libc::c_long, &[u32]); 18] = [
        (libc::SYS_shmget, &[1, 0, 0]),
        (libc::SYS_shmat, &[0, 0, 0]),
        (libc::SYS_shmctl, &[0, libc::IPC_STAT as u32, 0]),
        (libc::SYS_shmdt, &[0]),
        (libc::SYS_semget, &[1, 0, 0]),
        (libc::SYS_semop, &[0, 0, 1]),
        (libc::SYS_semctl, &[0, 0, libc::IPC_STAT as u32, 0]),
        (libc::SYS_semtimedop, &[0, 0, 1, 0]),
        (libc::SYS_msgget, &[1, 0]),
        (libc::SYS_msgsnd, &[0, 0, 1, 0]),
        (libc::SYS_msgrcv, &[0, 0, 1, 0, libc::IPC_NOWAIT as u32]),
        (libc::SYS_msgctl, &[0, libc::IPC_STAT as u32, 0]),
        (libc::SYS_mq_open, &[0, 0, 0, 0]),
        (libc::SYS_mq_unlink, &[0]),
        (libc::SYS_mq_timedsend, &[0, 0, 0, 0, 0]),
        (libc::SYS_mq_timedreceive, &[0, 0, 0, 0, 0]),
        (libc::SYS_mq_notify, &[0, 0]),
        (libc::SYS_mq_getsetattr, &[0, 0, 0]),
    ];
    for (number, args) in calls {
        assert_eq!(without_buffers(number, args), libc::ENOSYS as u32, "call {number}");
    }
}

/// A file of a process outside, in the directory of the machine.
fn outside(host: &str) -> PathBuf {
    Path::new("/dev/shm").join(format!("flyto-test-{host}"))
}

/// Runs a test beside such a file, which must stay as it is.
async fn beside_a_file(
    support: Support,
    isolation: impl Fn(&Path) -> Isolation,
    test: &str,
) -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    // One file for each test: they run beside each other.
    let file = outside(&std::process::id().to_string());
    let file = &file.with_extension(test.rsplit(':').next().unwrap_or_default());
    fs::write(file, "outside").expect("it is open");
    fs::set_permissions(file, fs::Permissions::from_mode(0o666)).expect("it is ours");
    assert!(Scene::enter_as(test, support, isolation).await.is_none());
    assert_eq!(fs::read_to_string(file).expect("it is there"), "outside");
    fs::remove_file(file).expect("it is ours");
    false
}

/// The same file, from inside.
fn seen_from_inside(test: &str) -> PathBuf {
    let host = outside(&env::var(HOST).expect("it is set"));
    host.with_extension(test.rsplit(':').next().unwrap_or_default())
}

#[tokio::test]
async fn a_workspace_has_shared_memory_of_its_own() {
    let test = "sandbox::tests::shared::a_workspace_has_shared_memory_of_its_own";
    let isolation = |dir: &Path| profile(Profile::Workspace, dir);
    if !beside_a_file(Support::probe(), isolation, test).await {
        return;
    }
    let dir = Path::new("/dev/shm");
    assert_eq!(fs::read_dir(dir).expect("it is its own").count(), 0);
    let file = seen_from_inside(test);
    assert_eq!(fs::read(&file).expect_err("it is not seen").kind(), ErrorKind::NotFound);
    // By the way of a process outside, and of its own. The latter sees what is mounted here.
    let host = env::var(HOST).expect("it is set");
    let by_host = Path::new("/proc")
        .join(host)
        .join("root")
        .join(file.strip_prefix("/").expect("it is absolute"));
    assert_eq!(errno(fs::read(by_host)), libc::EACCES);
    fs::write(&file, "inside").expect("it is its own");
    assert_eq!(fs::read_to_string(&file).expect("it is its own"), "inside");
    fs::remove_file(&file).expect("it is its own");

    // As much as it says, and no more.
    let new = File::create(dir.join("large")).expect("it is its own");
    fallocate(&new, FallocateFlags::empty(), 0, SIZE_BYTES).expect("that much is there");
    let more = fallocate(&new, FallocateFlags::empty(), 0, SIZE_BYTES + 1);
    assert_eq!(more, Err(rustix::io::Errno::NOSPC));
    drop(new);
    fs::remove_file(dir.join("large")).expect("it is its own");
    let made = (0..10_000).take_while(|it| File::create(dir.join(it.to_string())).is_ok()).count();
    assert_eq!(made, 4095);

    // It has the flags and the mode of the machine's, and runs nothing.
    let tool = dir.join("0");
    fs::write(&tool, "#!/bin/sh\n").expect("it is its own");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("it is its own");
    let path = std::ffi::CString::new("/dev/shm/0").expect("it has no NUL byte");
    assert_eq!(
        rustix::fs::access(path, rustix::fs::Access::EXEC_OK),
        Err(rustix::io::Errno::ACCESS)
    );
    assert_eq!(fs::metadata(dir).expect("it is there").mode() & 0o7777, 0o1777);
    symlink("/dev/null", dir.join("link")).expect_err("it is full");
}

#[tokio::test]
async fn without_mount_namespaces_a_workspace_has_no_shared_memory() {
    let test = "sandbox::tests::shared::without_mount_namespaces_a_workspace_has_no_shared_memory";
    let support = Support { mount_namespaces: false, ..Support::probe() };
    let isolation = |dir: &Path| profile(Profile::Workspace, dir);
    if !beside_a_file(support, isolation, test).await {
        return;
    }
    let file = seen_from_inside(test);
    assert_eq!(errno(fs::read(&file)), libc::EACCES);
    assert_eq!(errno(fs::write(&file, "inside")), libc::EACCES);
    assert_eq!(errno(fs::read_dir("/dev/shm")), libc::EACCES);
    assert_eq!(errno(fs::write("/dev/shm/flyto-test-new", "")), libc::EACCES);
}

#[tokio::test]
async fn a_strict_profile_has_no_shared_memory() {
    let test = "sandbox::tests::shared::a_strict_profile_has_no_shared_memory";
    let isolation = |dir: &Path| profile(Profile::Strict, dir);
    if !beside_a_file(Support::probe(), isolation, test).await {
        return;
    }
    assert_eq!(errno(fs::read(seen_from_inside(test))), libc::EACCES);
    assert_eq!(errno(fs::write("/dev/shm/flyto-test-new", "")), libc::EACCES);
}

#[tokio::test]
async fn in_an_open_file_system_shared_memory_is_ones_own() {
    let test = "sandbox::tests::shared::in_an_open_file_system_shared_memory_is_ones_own";
    let isolation = |_: &Path| Isolation::new().shared_memory(SharedMemory::Own);
    if !beside_a_file(Support::probe(), isolation, test).await {
        return;
    }
    assert_eq!(fs::read_dir("/dev/shm").expect("it is its own").count(), 0);
    let file = seen_from_inside(test);
    fs::write(&file, "inside").expect("it is its own");
    let host = env::var(HOST).expect("it is set");
    let by_host = Path::new("/proc")
        .join(host)
        .join("root")
        .join(file.strip_prefix("/").expect("it is absolute"));
    assert_eq!(errno(fs::read(by_host)), libc::EACCES);
}

#[test]
fn shared_memory_is_mounted_where_it_can_be_written() {
    let grants = |read: &[&str], write: &[&str]| Filesystem::Grants {
        read: read.iter().map(PathBuf::from).collect(),
        write: write.iter().map(PathBuf::from).collect(),
    };
    let check = |mount_namespaces, isolation: Isolation, expect: Expect| {
        let support = Support { landlock: 6, mount_namespaces, ..Support::default() };
        let (mounted, closed) = plan(&isolation.shared_memory(SharedMemory::Own), &support);
        let Isolation { filesystem, denied, .. } = closed;
        let granted = match filesystem {
            Filesystem::Grants { read, write } => format!("read {read:?}, write {write:?}"),
            _ => "all".to_owned(),
        };
        expect.assert_eq(&format!("{}; {granted}; denied {denied:?}", mounted.is_some()));
    };
    let all = Isolation::new;
    check(true, all(), expect!["true; all; denied []"]);
    check(false, all(), expect![[r#"false; all; denied ["/dev/shm"]"#]]);
    check(true, all().deny("/dev"), expect![[r#"false; all; denied ["/dev"]"#]]);
    let with = |read, write| all().filesystem(grants(read, write));
    check(
        true,
        with(&["/a"], &["/dev/shm", "/b"]),
        expect![[r#"true; read ["/a"], write ["/b"]; denied []"#]],
    );
    check(
        false,
        with(&["/a"], &["/dev/shm", "/b"]),
        expect![[r#"false; read ["/a"], write ["/b"]; denied []"#]],
    );
    check(
        true,
        with(&["/dev/shm"], &["/b"]),
        expect![[r#"false; read [], write ["/b"]; denied []"#]],
    );
    check(
        true,
        with(&["/dev"], &[]),
        expect![[r#"false; read ["/dev"], write []; denied ["/dev/shm"]"#]],
    );
    check(true, with(&[], &["/dev"]), expect![[r#"true; read [], write ["/dev"]; denied []"#]]);
    check(
        true,
        with(&[], &["/dev/shm", "/dev/shm/x"]),
        expect![[r#"false; read [], write ["/dev/shm/x"]; denied []"#]],
    );
    // Without a ruleset, another confined process of this user would be a way to its mounts (`/proc/PID/root`).
    let made = confine(&all().shared_memory(SharedMemory::Own), &Support::probe(), [1, 2]);
    assert!(made.expect("this machine confines programs").ruleset.is_some());
    let (none, same) = plan(&with(&[], &["/dev/shm"]), &Support::default());
    assert!(none.is_none() && same == with(&[], &["/dev/shm"]));
}
