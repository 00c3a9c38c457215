//! Memory that no process has mapped: files in memory that a tree has open, and its System V segments.
//!
//! A file counts that lies in a file system in memory (tmpfs(5), memfd_create(2), memfd_secret(2), hugetlbfs) and is
//! open in a process of the tree, each once. One that was made since the call began counts whole, another one for
//! what it has grown by since it was first seen. A segment (shmget(2)) counts that a process made which was seen in
//! the tree.

use crate::{
    bare::sys::{self, Errno, address, int, number},
    memory::Pages,
    process::{Descriptor, O_DIRECTORY, O_RDONLY, now_ns},
    setup::SupervisorContext,
    tree::{Path, for_each_number},
};

/// Files and processes that are remembered: 8,192 of each. A file for which there is no slot counts each time that it
/// is met, and whole.
const SLOTS: usize = 8192;

/// Slots that one of them can be in: 8.
const TRIES: usize = 8;

/// Descriptors that one look follows: 65,536. Each takes some 2 µs.
const MAX_DESCRIPTORS: u32 = 65_536;

/// Devices whose file system is remembered.
const MAX_DEVICES: usize = 16;

/// How the time of a look compares with the time until the next one: a tenth at most.
const LOOK_SHARE: u64 = 10;

/// The least time between two looks: 20 ms.
const LOOK_NS: u64 = 20_000_000;

/// A file, in the order of its slot.
#[repr(C)]
#[derive(Clone, Copy)]
struct Slot {
    device: u64,
    inode: u64,
    /// Bytes that count for no call.
    base_bytes: u64,
    /// The look that saw it last; 0 is an empty slot.
    look: u64,
}

/// What lies in a file system.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Memory,
    /// Pages that no other process can read, of which the kernel tells no number (memfd_secret(2)).
    Secret,
    Other,
}

/// What the tree of one call holds without having it mapped.
pub(crate) struct Held {
    files: Pages,
    pids: Pages,
    devices: [Option<(u64, Kind)>; MAX_DEVICES],
    look: u64,
    /// When the call began, in seconds and nanoseconds of the clock that files are dated by.
    began: [u64; 2],
    next_ns: u64,
    look_began_ns: u64,
    n_descriptors: u32,
    /// As the last look found it, and as this one has found it so far.
    bytes: u64,
    bytes_so_far: u64,
}

impl Held {
    /// For a call that begins now.
    pub(crate) fn new() -> Result<Self, Errno> {
        const CLOCK_REALTIME_COARSE: usize = 5;
        let mut began = [0_u64; 2];
        // SAFETY: the kernel writes both numbers.
        unsafe {
            let args = [CLOCK_REALTIME_COARSE, address(began.as_mut_ptr()), 0, 0, 0, 0];
            sys::call(number::CLOCK_GETTIME, args)?;
        }
        Ok(Self {
            files: Pages::new(SLOTS * size_of::<Slot>())?,
            pids: Pages::new(SLOTS * size_of::<i32>())?,
            devices: [None; MAX_DEVICES],
            look: 0,
            began,
            next_ns: 0,
            look_began_ns: 0,
            n_descriptors: 0,
            bytes: 0,
            bytes_so_far: 0,
        })
    }

    /// Begins a look, if it is time for one. Looks that take long are made less often.
    pub(crate) fn begin_look(&mut self) -> bool {
        let now = now_ns();
        if now < self.next_ns {
            return false;
        }
        self.look += 1;
        self.look_began_ns = now;
        (self.n_descriptors, self.bytes_so_far) = (0, 0);
        true
    }

    /// Looks at what a process has open.
    ///
    /// Of a process that cannot be looked into nothing counts: one of another user, or one that has itself closed to
    /// debuggers (`PR_SET_DUMPABLE`, prctl(2)).
    pub(crate) fn look_at(&mut self, pid: i32) {
        self.remember(pid);
        let mut path = Path::new();
        path.add(b"/proc/").add_number(pid).add(b"/fd");
        let Some(text) = path.text() else { return };
        let Ok(dir) = Descriptor::open(text, O_RDONLY | O_DIRECTORY) else { return };
        for_each_number(&dir, |fd| {
            if self.n_descriptors < MAX_DESCRIPTORS {
                self.n_descriptors += 1;
                self.look_at_file(pid, &dir, fd);
            }
        });
    }

    fn remember(&mut self, pid: i32) {
        // SAFETY: zeroes at first, and numbers.
        let pids: &mut [i32] = unsafe { self.pids.as_mut_slice() };
        let first = pid.unsigned_abs() as usize;
        let mut places = (0..TRIES).map(|n| (first + n) % SLOTS);
        if let Some(at) = places.find(|at| pids[*at] == 0 || pids[*at] == pid) {
            pids[at] = pid;
        } else {
            pids[first % SLOTS] = pid;
        }
    }

    fn knows(&mut self, pid: i32) -> bool {
        // SAFETY: as above.
        let pids: &mut [i32] = unsafe { self.pids.as_mut_slice() };
        let first = pid.unsigned_abs() as usize;
        (0..TRIES).any(|n| pids[(first + n) % SLOTS] == pid)
    }

    fn look_at_file(&mut self, pid: i32, dir: &Descriptor, fd: i32) {
        let mut name = Path::new();
        name.add_number(fd);
        let Some(file) = name.text().and_then(|it| Stat::of(dir, it)) else { return };
        let kind = file.is_regular.then(|| self.kind(&file, pid, fd));
        let held_bytes = match kind {
            Some(Kind::Memory) => file.held_bytes,
            Some(Kind::Secret) => file.size_bytes,
            Some(Kind::Other) | None => return,
        };
        let is_ours = file.made_at.map_or(file.n_links == 0, |it| it >= self.began);
        let fresh_base = if is_ours { 0 } else { held_bytes };
        let look = self.look;
        // SAFETY: zeroes at first, which are empty slots, and slots.
        let slots: &mut [Slot] = unsafe { self.files.as_mut_slice() };
        let first = (file.inode ^ file.device.rotate_left(32)) as usize;
        let place = |n: usize| first.wrapping_add(n) % SLOTS;
        let is_same = |it: &Slot| (it.device, it.inode) == (file.device, file.inode) && it.look > 0;
        // What the look before this one has not seen is open no more.
        let is_free = |it: &Slot| it.look + 1 < look || it.look == 0;
        let same = (0..TRIES).map(place).find(|at| is_same(&slots[*at]));
        let base_bytes =
            match same.or_else(|| (0..TRIES).map(place).find(|at| is_free(&slots[*at]))) {
                Some(at) => {
                    let before = slots[at];
                    if same.is_some() && before.look == look {
                        // Another process has it open as well.
                        return;
                    }
                    let base_bytes = if same.is_some() { before.base_bytes } else { fresh_base };
                    slots[at] = Slot { device: file.device, inode: file.inode, base_bytes, look };
                    base_bytes
                }
                None => fresh_base,
            };
        self.bytes_so_far += held_bytes.saturating_sub(base_bytes);
    }

    /// What the device of a file holds. A device has one file system.
    fn kind(&mut self, file: &Stat, pid: i32, fd: i32) -> Kind {
        if file.device >> 32 != 0 {
            // A device that there is, with blocks (makedev(3)): no memory.
            return Kind::Other;
        }
        let known = self.devices.iter().flatten().find(|it| it.0 == file.device);
        if let Some((_, kind)) = known {
            return *kind;
        }
        let mut path = Path::new();
        path.add(b"/proc/").add_number(pid).add(b"/fd/").add_number(fd);
        // `struct statfs` of x86-64 has 120 bytes; the first number is the type.
        let mut statfs = [0_u64; 15];
        let Some(text) = path.text() else { return Kind::Other };
        // SAFETY: the path ends with a NUL byte, and there is room for the structure.
        let res = unsafe {
            let args = [address(text.as_ptr()), address(statfs.as_mut_ptr()), 0, 0, 0, 0];
            sys::call(number::STATFS, args)
        };
        if res.is_err() {
            return Kind::Other;
        }
        // statfs(2): TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC, SECRETMEM_MAGIC.
        let kind = match statfs[0] {
            0x0102_1994 | 0x8584_58f6 | 0x9584_58f6 => Kind::Memory,
            0x5345_434d => Kind::Secret,
            _ => Kind::Other,
        };
        if let Some(slot) = self.devices.iter_mut().find(|it| it.is_none()) {
            *slot = Some((file.device, kind));
        }
        kind
    }

    /// Ends a look at all processes with that at segments.
    pub(crate) fn end_look(&mut self, context: &SupervisorContext) {
        self.add_segments(context);
        self.bytes = self.bytes_so_far;
        let now = now_ns();
        let pause_ns = (now - self.look_began_ns).saturating_mul(LOOK_SHARE);
        self.next_ns = now + pause_ns.max(LOOK_NS);
    }

    /// Bytes that the last look has found.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the segments of `/proc/sysvipc/shm` (proc_sysvipc(5)) that the tree has made since the call began, also
    /// where their maker has ended.
    ///
    /// In a PID namespace, the number of a maker outside of it is 0, and all others are of the tree.
    fn add_segments(&mut self, context: &SupervisorContext) {
        const CREATOR: usize = 4;
        const CHANGED: usize = 13;
        const RESIDENT: usize = 14;
        const SWAPPED: usize = 15;
        let Ok(file) = Descriptor::open(c"/proc/sysvipc/shm", O_RDONLY) else { return };
        let mut piece = [0_u8; 2048];
        // Numbers of one line, with the number that is being read.
        let (mut fields, mut n, mut number) = ([0_u64; 16], 0, None);
        while let Ok(read @ 1..) = file.read(&mut piece) {
            for byte in piece.get(..read).unwrap_or_default() {
                if byte.is_ascii_digit() {
                    number =
                        Some(number.unwrap_or(0_u64).wrapping_mul(10) + u64::from(byte - b'0'));
                    continue;
                }
                if let (Some(number), Some(slot)) = (number.take(), fields.get_mut(n)) {
                    *slot = number;
                    n += 1;
                }
                if *byte == b'\n' {
                    let creator = fields[CREATOR] as i32;
                    let is_of_tree =
                        if context.is_namespace() { creator != 0 } else { self.knows(creator) };
                    // The line of the headings has no numbers.
                    if n == fields.len() && fields[CHANGED] >= self.began[0] && is_of_tree {
                        self.bytes_so_far += fields[RESIDENT] + fields[SWAPPED];
                    }
                    n = 0;
                }
            }
        }
    }
}

/// What statx(2) says of an open file.
struct Stat {
    /// Its number as the kernel keeps it, with the major part in the upper half.
    device: u64,
    inode: u64,
    n_links: u32,
    is_regular: bool,
    size_bytes: u64,
    held_bytes: u64,
    /// When it was made, in seconds and nanoseconds, where its file system knows.
    made_at: Option<[u64; 2]>,
}

impl Stat {
    /// Of what a link of `/proc/PID/fd` leads to.
    fn of(dir: &Descriptor, name: &core::ffi::CStr) -> Option<Self> {
        const DONT_SYNC: usize = 0x4000;
        const BASIC_STATS: usize = 0x7ff;
        const BTIME: u32 = 0x800;
        const TYPE_MASK: u32 = 0o170_000;
        const REGULAR: u32 = 0o100_000;
        // `struct statx`, in numbers of four bytes.
        let mut all = [0_u32; 64];
        // SAFETY: the name ends with a NUL byte, and there is room for the structure.
        unsafe {
            let mask = BASIC_STATS | BTIME as usize;
            let args = [
                int(dir.fd()),
                address(name.as_ptr()),
                DONT_SYNC,
                mask,
                address(all.as_mut_ptr()),
                0,
            ];
            sys::call(number::STATX, args).ok()?;
        }
        let long = |at: usize| u64::from(all[at]) | u64::from(all[at + 1]) << 32;
        Some(Self {
            device: u64::from(all[34]) << 32 | u64::from(all[35]),
            inode: long(8),
            n_links: all[4],
            is_regular: all[7] & TYPE_MASK == REGULAR,
            size_bytes: long(10),
            held_bytes: long(12) * 512,
            made_at: (all[0] & BTIME != 0).then(|| [long(20), u64::from(all[22])]),
        })
    }
}
