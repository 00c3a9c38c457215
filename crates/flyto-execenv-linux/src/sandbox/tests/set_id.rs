//! Files that run as their owner, or with more: set-user-ID and set-group-ID bits, and `security.*` attributes.

use std::{
    fs::{self, File},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use flyto_execenv::{Isolation, SystemCalls};
use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, XattrFlags, chmod, chmodat, fchmod,
        getxattr, mkdir, mkdirat, mknodat, open, openat2, setxattr,
    },
    io::Errno,
};

use super::super::inside::Scene;
use crate::bare::attempt::without_buffers;

fn restricted(_: &Path) -> Isolation {
    Isolation::new().system_calls(SystemCalls::Restricted)
}

#[tokio::test]
async fn no_file_gets_a_set_user_id_bit() {
    let test = "sandbox::tests::set_id::no_file_gets_a_set_user_id_bit";
    let Some(scene) = Scene::enter(test, restricted).await else { return };
    let [tool, new] = ["write/tool", "write/new"].map(|it| scene.path(it));
    fs::write(&tool, "#!/bin/sh\n").expect("it is open");
    let file = File::open(&tool).expect("it is open");
    let make = OFlags::CREATE | OFlags::WRONLY;
    for bits in [0o4755, 0o2755, 0o6700] {
        let mode = Mode::from_raw_mode(bits);
        let attempts = [
            ("chmod", chmod(&tool, mode)),
            ("fchmod", fchmod(&file, mode)),
            ("fchmodat", chmodat(CWD, &tool, mode, AtFlags::empty())),
            ("mkdir", mkdir(&new, mode)),
            ("mkdirat", mkdirat(CWD, &new, mode)),
            ("mknodat", mknodat(CWD, &new, FileType::RegularFile, mode, 0)),
            ("openat", open(&new, make, mode).map(drop)),
            ("openat, O_TMPFILE", {
                let (dir, flags) = (scene.path("write"), OFlags::TMPFILE | OFlags::WRONLY);
                open(dir, flags, mode).map(drop)
            }),
        ];
        for (name, refused) in attempts {
            assert_eq!(refused, Err(Errno::PERM), "{name} {bits:o}");
        }
        // Calls that libraries have no use for any more. Without a path the kernel would answer EFAULT.
        let legacy: [(libc::c_long, &[u32]); 6] = [
            (libc::SYS_chmod, &[0, bits]),
            (libc::SYS_creat, &[0, bits]),
            (libc::SYS_mkdir, &[0, bits]),
            (libc::SYS_mknod, &[0, libc::S_IFREG | bits]),
            (libc::SYS_open, &[0, make.bits(), bits]),
            (452, &[libc::AT_FDCWD as u32, 0, bits]), // fchmodat2
        ];
        for (number, args) in legacy {
            let refused = without_buffers(number, args);
            assert_eq!(refused, libc::EPERM as u32, "call {number} {bits:o}");
        }
        assert!(!new.exists(), "{bits:o}");
    }
    assert_eq!(fs::metadata(&tool).expect("it is there").mode() & 0o6000, 0);
    // openat2(2) would make such a file as well; programs take openat(2) in its place.
    let by_openat2 = openat2(CWD, &new, make, Mode::RUSR | Mode::SUID, ResolveFlags::empty());
    assert_eq!(by_openat2.map(drop), Err(Errno::NOSYS));

    // What ordinary programs do with modes.
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("it is open");
    fs::create_dir(scene.path("write/dir")).expect("it is open");
    chmod(scene.path("write/dir"), Mode::from_raw_mode(0o1777)).expect("it is open");
    File::options().write(true).create_new(true).mode(0o640).open(&new).expect("it is open");
    File::options().write(true).truncate(true).open(&new).expect("it is open");
}

/// The kernel asks for capabilities, of which a confined program has none, root's neither. Labels of SELinux
/// and Smack are left out: where those are in force, their own policy decides.
#[tokio::test]
async fn no_file_gets_capabilities() {
    let test = "sandbox::tests::set_id::no_file_gets_capabilities";
    let Some(scene) = Scene::enter(test, restricted).await else { return };
    let file = scene.path("write/tool");
    fs::write(&file, "#!/bin/sh\n").expect("it is open");
    // `struct vfs_cap_data`: version 2, effective; all that is permitted, nothing inheritable.
    let capabilities = [0x0200_0001_u32, u32::MAX, 0, u32::MAX, 0].map(u32::to_le_bytes).concat();
    let attributes: [(&str, &[u8]); 4] = [
        ("security.capability", &capabilities),
        ("security.flyto", b"1"),
        ("security.ima", b"\x01"),
        ("security.evm", b"\x01"),
    ];
    for (name, value) in attributes {
        let set = setxattr(&file, name, value, XattrFlags::empty());
        assert_eq!(set, Err(Errno::PERM), "{name}");
        let mut found = [0; 64];
        assert!(getxattr(&file, name, &mut found).is_err(), "{name}");
    }
}
