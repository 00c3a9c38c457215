//! What keeps other programs waiting that open a file: leases (fcntl(2)).

use std::{
    env,
    fs::File,
    os::fd::{AsFd, AsRawFd},
};

use flyto_execenv::Profile;
use rustix::fs::{CWD, Mode, OFlags, open, openat};

use super::{super::inside::Scene, profile};
use crate::bare::attempt::without_buffers;

const F_SETLEASE: u32 = 1024;
const F_GETLEASE: u32 = 1025;
const F_NOTIFY: u32 = 1026;
const F_SETDELEG: u32 = 1040;

fn fcntl(file: &impl AsFd, command: u32, argument: u32) -> u32 {
    let fd = file.as_fd().as_raw_fd() as u32;
    without_buffers(libc::SYS_fcntl, &[fd, command, argument])
}

#[tokio::test]
async fn no_lease_keeps_others_waiting() {
    let test = "sandbox::tests::leases::no_lease_keeps_others_waiting";
    if env::var_os(super::INSIDE).is_none() {
        // What is refused inside works here.
        let file = tempfile::tempfile().expect("there is room");
        let [read, none] = [libc::F_RDLCK as u32, libc::F_UNLCK as u32];
        assert_eq!(fcntl(&file, F_SETLEASE, libc::F_WRLCK as u32), 0);
        assert_eq!(fcntl(&file, F_SETLEASE, none), 0);
        assert_eq!(fcntl(&file, F_SETLEASE, read), libc::EAGAIN as u32, "it is open for writing");
    }
    let isolation = |dir: &std::path::Path| profile(Profile::Workspace, dir);
    let Some(scene) = Scene::enter(test, isolation).await else { return };
    // One that it may read, and one of its own.
    let read = File::open(scene.path("home/file")).expect("it is granted");
    let new = File::create_new(scene.path("home/project/new")).expect("it is granted");
    for file in [&read, &new] {
        for kind in [libc::F_RDLCK, libc::F_WRLCK, libc::F_UNLCK] {
            assert_eq!(fcntl(file, F_SETLEASE, kind as u32), libc::EPERM as u32, "kind {kind}");
        }
        // Without a `struct delegation` the kernel would answer EFAULT.
        assert_eq!(fcntl(file, F_SETDELEG, 0), libc::EPERM as u32);
        assert_eq!(fcntl(file, F_GETLEASE, 0), 0, "it may be asked");
    }

    // A directory's changes are told of where it may be read (`DN_CREATE`), and nowhere else.
    let listed = File::open(scene.path("home/project")).expect("it is granted");
    assert_eq!(fcntl(&listed, F_NOTIFY, 4), 0);
    let closed = scene.path("outside");
    assert!(openat(CWD, &closed, OFlags::DIRECTORY, Mode::empty()).is_err());
    let closed = open(&closed, OFlags::PATH | OFlags::DIRECTORY, Mode::empty());
    let closed = closed.expect("a path can be looked up");
    assert_eq!(fcntl(&closed, F_NOTIFY, 4), libc::EBADF as u32);
}
