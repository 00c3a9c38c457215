//! A mount namespace in which some files and directories can be neither removed nor renamed, and some not be
//! changed (mount_namespaces(7)).

use core::{ffi::CStr, mem::size_of};

use flyto_supervision::SelfMount;

use crate::{
    bare::sys::{self, Errno, address, clone, errno, int, number},
    process::Descriptor,
    trial::namespace,
};

const AT_FDCWD: i32 = -100;
const AT_EMPTY_PATH: usize = 0x1000;
const AT_RECURSIVE: usize = 0x8000;
const O_CLOEXEC: usize = 0o2_000_000;
const O_PATH: u64 = 0o10_000_000;
const RESOLVE_NO_SYMLINKS: u64 = 4;
const OPEN_TREE_CLONE: usize = 1;
/// `MOVE_MOUNT_F_EMPTY_PATH` and `MOVE_MOUNT_T_EMPTY_PATH`: both ends are descriptors.
const BY_DESCRIPTORS: usize = 0x4 | 0x40;
const MOUNT_ATTR_RDONLY: u64 = 1;
const MS_SLAVE: u64 = 1 << 19;

/// `struct mount_attr` (mount_setattr(2)).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// `struct open_how` (openat2(2)).
#[repr(C)]
struct How {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// Leaves the mounts of the machine, for this process and all that it starts, and mounts these onto
/// themselves, one after the other.
///
/// What the machine mounts and unmounts later shows here; what is mounted here does not show outside.
///
/// # Errors
///
/// The error number of a call that failed; 0 where the namespace was not left although the system said so, which is
/// noticed before anything is mounted.
pub(crate) fn leave(mounts: &[u8]) -> Result<(), Errno> {
    let before = namespace(c"/proc/self/ns/mnt")?;
    // SAFETY: a process with one thread.
    unsafe { sys::numbers(number::UNSHARE, &[clone::NEWNS as usize])? };
    if namespace(c"/proc/self/ns/mnt")? == before {
        return Err(0);
    }
    let slave = Attributes { propagation: MS_SLAVE, ..Attributes::default() };
    set(AT_FDCWD, c"/", AT_RECURSIVE, &slave)?;
    for mount in SelfMount::all(mounts) {
        hold(&mount.ok_or(errno::BADMSG)?)?;
    }
    Ok(())
}

/// Mounts what is at this path onto itself, if that is what the host has seen there.
fn hold(mount: &SelfMount<'_>) -> Result<(), Errno> {
    let place = open(mount.path)?;
    if identity(&place)? != (mount.device, mount.inode) {
        return Err(errno::STALE);
    }
    let none = address(c"".as_ptr());
    // With what is mounted below: in a user namespace, mounts that came together stay together.
    let flags = OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
    // SAFETY: the path ends with a NUL byte. It makes a descriptor, which is this function's alone.
    let tree = unsafe {
        let args = [int(place.fd()), none, flags, 0, 0, 0];
        Descriptor::new(sys::call(number::OPEN_TREE, args)? as i32)
    };
    if mount.read_only {
        let read_only = Attributes { set: MOUNT_ATTR_RDONLY, ..Attributes::default() };
        set(tree.fd(), c"", AT_EMPTY_PATH | AT_RECURSIVE, &read_only)?;
    }
    put(&tree, &place)?;
    // A filter of system calls can have answered in the kernel's place.
    let mounted = open(mount.path)?;
    match is_mount(&mounted)? && (!mount.read_only || is_read_only(&mounted)?) {
        true => Ok(()),
        false => Err(0),
    }
}

/// Puts mounts that are nowhere yet onto what is open.
pub(crate) fn put(tree: &Descriptor, place: &Descriptor) -> Result<(), Errno> {
    let none = address(c"".as_ptr());
    // SAFETY: both paths end with a NUL byte.
    unsafe {
        let args = [int(tree.fd()), none, int(place.fd()), none, BY_DESCRIPTORS, 0];
        sys::call(number::MOVE_MOUNT, args).map(drop)
    }
}

/// Whether this is where a mount begins (`STATX_ATTR_MOUNT_ROOT`, statx(2), Linux 5.8).
fn is_mount(file: &Descriptor) -> Result<bool, Errno> {
    const MOUNT_ROOT: u64 = 0x2000;
    // `struct statx`, of which the second number of eight bytes holds the attributes.
    let mut stat = [0_u64; 32];
    // SAFETY: the path ends with a NUL byte, and the kernel writes into the array, which has its size.
    unsafe {
        let (none, to) = (address(c"".as_ptr()), address(stat.as_mut_ptr()));
        sys::call(number::STATX, [int(file.fd()), none, AT_EMPTY_PATH, 0, to, 0])?;
    }
    Ok(stat[1] & MOUNT_ROOT != 0)
}

/// Whether nothing can be written by this way (`ST_RDONLY`, fstatfs(2)).
fn is_read_only(file: &Descriptor) -> Result<bool, Errno> {
    const READ_ONLY: u64 = 1;
    // `struct statfs`, of which the eleventh number of eight bytes holds the flags.
    let mut stat = [0_u64; 15];
    // SAFETY: the kernel writes into the array, which has the structure's size.
    unsafe { sys::call(number::FSTATFS, [int(file.fd()), address(stat.as_mut_ptr()), 0, 0, 0, 0])? };
    Ok(stat[10] & READ_ONLY != 0)
}

/// Opens what is at this path, without following links.
pub(crate) fn open(path: &CStr) -> Result<Descriptor, Errno> {
    let how = How { flags: O_PATH | O_CLOEXEC as u64, mode: 0, resolve: RESOLVE_NO_SYMLINKS };
    // SAFETY: the path ends with a NUL byte, and the kernel reads the structure, with its size. It makes a
    // descriptor, which is this function's alone.
    unsafe {
        let (path, how) = (address(path.as_ptr()), address(&raw const how));
        let args = [int(AT_FDCWD), path, how, size_of::<How>(), 0, 0];
        sys::call(number::OPENAT2, args).map(|it| Descriptor::new(it as i32))
    }
}

/// The device and the number of the inode.
pub(crate) fn identity(file: &Descriptor) -> Result<(u64, u64), Errno> {
    // `struct stat`, which begins with both.
    let mut stat = [0_u64; 18];
    // SAFETY: the kernel writes into the array, which has its size.
    unsafe { sys::call(number::FSTAT, [int(file.fd()), address(stat.as_mut_ptr()), 0, 0, 0, 0])? };
    Ok((stat[0], stat[1]))
}

fn set(at: i32, path: &CStr, flags: usize, attributes: &Attributes) -> Result<(), Errno> {
    // SAFETY: the path ends with a NUL byte, and the kernel reads the structure, with its size.
    unsafe {
        let (path, attributes) = (address(path.as_ptr()), address(&raw const *attributes));
        let args = [int(at), path, flags, attributes, size_of::<Attributes>(), 0];
        sys::call(number::MOUNT_SETATTR, args).map(drop)
    }
}
