//! Shared memory that programs find by name (shm_overview(7)), of their own: a file system in memory (tmpfs(5)) on
//! `/dev/shm` of the supervisor's mount namespace.

use core::{ffi::CStr, fmt::Write, mem::size_of, ptr::null};

use flyto_supervision::SharedMemory;

use crate::{
    bare::sys::{self, Errno, address, int, number},
    mounts,
    process::{Descriptor, O_DIRECTORY, O_RDONLY},
};

const PLACE: &CStr = c"/dev/shm";

/// Files that there can be, with the directory itself: 4096. Each takes 1 KiB of the kernel's memory, beside the size.
const MAX_FILES: &CStr = c"4096";
/// Every user may make files, and remove its own, as in the one of the machine.
const MODE: u32 = 0o1777;

const CLOSE_ON_EXEC: usize = 1;
/// `FSCONFIG_SET_STRING`, `FSCONFIG_CMD_CREATE`.
const SET_STRING: usize = 1;
const CREATE: usize = 6;
/// `MOUNT_ATTR_NOSUID`, `MOUNT_ATTR_NODEV`, `MOUNT_ATTR_NOEXEC`.
const ATTRIBUTES: usize = 2 | 4 | 8;
/// `LANDLOCK_RULE_PATH_BENEATH`.
const PATH_BENEATH: usize = 1;

/// `struct landlock_path_beneath_attr`, which is packed.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The mounted file system, as its directory.
pub(crate) struct Mounted(Descriptor);

/// Mounts an empty one, for this process and all that it starts. It has left the mounts of the machine.
pub(crate) fn mount(wanted: SharedMemory) -> Result<Mounted, Errno> {
    let mut size = Decimal::default();
    let _ = write!(size, "{}", wanted.size_bytes);
    // SAFETY: the texts end with a NUL byte. Each of the calls that make a descriptor makes one which no
    // other code has.
    let tree = unsafe {
        let kind = address(c"tmpfs".as_ptr());
        let made = sys::call(number::FSOPEN, [kind, CLOSE_ON_EXEC, 0, 0, 0, 0])?;
        let made = Descriptor::new(made as i32);
        let options = [(c"size", size.as_text()), (c"nr_inodes", MAX_FILES), (c"mode", c"1777")];
        for (name, value) in options {
            let (name, value) = (address(name.as_ptr()), address(value.as_ptr()));
            sys::call(number::FSCONFIG, [int(made.fd()), SET_STRING, name, value, 0, 0])?;
        }
        sys::call(number::FSCONFIG, [int(made.fd()), CREATE, 0, 0, 0, 0])?;
        let args = [int(made.fd()), CLOSE_ON_EXEC, ATTRIBUTES, 0, 0, 0];
        Descriptor::new(sys::call(number::FSMOUNT, args)? as i32)
    };
    mounts::put(&tree, &mounts::open(PLACE)?)?;
    let mounted = Descriptor::open(PLACE, O_RDONLY | O_DIRECTORY)?;
    // A filter of system calls can have answered in the kernel's place: then it is the machine's.
    match mounts::identity(&mounted)? == mounts::identity(&tree)? {
        true => Ok(Mounted(mounted)),
        false => Err(0),
    }
}

impl Mounted {
    /// Opens it in a Landlock ruleset that this process is about to enter. The host cannot: what is mounted on a
    /// directory is not opened by a rule for that directory.
    pub(crate) fn allow(&self, ruleset: i32, rights: u64) -> Result<(), Errno> {
        let rule = PathBeneath { allowed: rights, parent: self.0.fd() };
        // SAFETY: the kernel reads the structure, whose size its kind says.
        unsafe {
            let args = [int(ruleset), PATH_BENEATH, address(&raw const rule), 0, 0, 0];
            sys::call(number::LANDLOCK_ADD_RULE, args).map(drop)
        }
    }

    /// Whether it is as it was mounted: without files, with its mode, without attributes. Not looked at are the times
    /// of the directory.
    pub(crate) fn is_untouched(&self) -> bool {
        // `struct statfs`: kind, block size, blocks, free, available, files, free files, and more.
        let mut system = [0_u64; 15];
        // `struct stat`: device, inode, links, mode and user, and more.
        let mut stat = [0_u64; 18];
        const _: () = assert!(size_of::<[u64; 15]>() == 120 && size_of::<[u64; 18]>() == 144);
        // SAFETY: the kernel writes into the arrays, which have the sizes of what it writes, and of the names of
        // attributes it says only how long they are.
        let asked = unsafe {
            let fd = int(self.0.fd());
            let at = [address(system.as_mut_ptr()), address(stat.as_mut_ptr())];
            sys::call(number::FSTATFS, [fd, at[0], 0, 0, 0, 0])
                .and_then(|_| sys::call(number::FSTAT, [fd, at[1], 0, 0, 0, 0]))
                .and_then(|_| {
                    sys::call(number::FLISTXATTR, [fd, address(null::<u8>()), 0, 0, 0, 0])
                })
        };
        let [_, _, blocks, free_blocks, _, files, free_files, ..] = system;
        let mode = stat[3] as u32 & 0o7777;
        asked == Ok(0) && blocks == free_blocks && files == free_files + 1 && mode == MODE
    }
}

/// A number as text that ends with a NUL byte.
#[derive(Default)]
struct Decimal {
    bytes: [u8; 24],
    n: usize,
}

impl Decimal {
    fn as_text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl Write for Decimal {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            // The last one stays NUL.
            let Some(place) = self.bytes[..23].get_mut(self.n) else { return Err(core::fmt::Error) };
            *place = byte;
            self.n += 1;
        }
        Ok(())
    }
}
