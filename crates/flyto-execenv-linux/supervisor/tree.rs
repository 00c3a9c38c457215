//! All descendants: signals to them, and what they use.

use core::ffi::CStr;

use crate::{
    bare::sys::{self, number},
    end::{for_each_child, numbers},
    process::{Descriptor, O_DIRECTORY, O_RDONLY, signal},
    setup::Site,
};

/// Descendants that one look can follow: 4,096, more than the limit of processes of any tree that was
/// not given a larger one.
const MAX_DESCENDANTS: usize = 4096;

/// Sends a signal to every descendant, parents before children, each once.
pub(crate) fn signal_tree(site: &Site, number: u32) {
    if site.is_namespace() {
        signal(-1, number);
        return;
    }
    for_each_descendant(|pid| signal(pid, number));
}

/// Whether `/proc` shows the processes of our namespace. That of another one has other numbers for them:
/// who is killed by such a number is a stranger.
pub(crate) fn is_proc_ours() -> bool {
    let mut text = [0_u8; 32];
    let Ok(file) = Descriptor::open(c"/proc/self/stat", O_RDONLY) else { return false };
    let Ok(n) = file.read(&mut text) else { return false };
    let number = text.get(..n).unwrap_or_default().split(|it| *it == b' ').next();
    // SAFETY: asks for a number.
    let own = unsafe { sys::numbers(number::GETPID, &[]) };
    number.is_some_and(|it| own == Ok(decimal(it) as usize))
}

/// What the living descendants hold and have used.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) memory_bytes: u64,
    pub(crate) cpu_ns: u64,
}

/// Looks at every living descendant (proc_pid_statm(5), proc_pid_stat(5)). Pages that several of them
/// share count for each.
pub(crate) fn load() -> Load {
    let mut res = Load::default();
    for_each_descendant(|pid| {
        let mut text = [0_u8; 1024];
        if let Some(fields) = read(pid, b"/statm", &mut text) {
            let resident = fields.split(|it| *it == b' ').nth(1).map_or(0, decimal);
            res.memory_bytes += resident * PAGE_BYTES;
        }
        // The name of the program may hold anything; the fields after its last parenthesis do not.
        if let Some(fields) = read(pid, b"/stat", &mut text)
            && let Some(end) = fields.iter().rposition(|it| *it == b')')
        {
            let mut after = fields.get(end + 2..).unwrap_or_default().split(|it| *it == b' ');
            // The state, field 3, is the first here; fields 14 and 15 are its own time in user and in
            // system mode, 16 and 17 that of children it has waited for. What this process waits for is
            // counted elsewhere, and once: those numbers are a parent's as long as that is alive.
            let own_and_waited = after.by_ref().skip(11).take(4).map(decimal);
            res.cpu_ns += own_and_waited.sum::<u64>() * TICK_NS;
        }
    });
    res
}

/// Bytes of a page on x86-64.
const PAGE_BYTES: u64 = 4096;

/// Nanoseconds of a clock tick as Linux shows it to programs, 100 a second (`USER_HZ`, time(7)).
const TICK_NS: u64 = 10_000_000;

fn decimal(text: &[u8]) -> u64 {
    text.iter().filter(|it| it.is_ascii_digit()).fold(0, |n, it| n * 10 + u64::from(it - b'0'))
}

fn read<'a>(pid: i32, file: &[u8], into: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut path = Path::new();
    let file =
        Descriptor::open(path.add(b"/proc/").add_number(pid).add(file).text()?, O_RDONLY).ok()?;
    let n = file.read(into).ok()?;
    into.get(..n)
}

/// Visits descendants, parents before children. One that comes or goes meanwhile may be missed.
pub(crate) fn for_each_descendant(mut visit: impl FnMut(i32)) {
    let mut open = [0_i32; MAX_DESCENDANTS];
    let mut n = 0;
    let push = |open: &mut [i32; MAX_DESCENDANTS], n: &mut usize, pid| {
        if let Some(slot) = open.get_mut(*n) {
            *slot = pid;
            *n += 1;
        }
    };
    for_each_child(|pid| push(&mut open, &mut n, pid));
    let mut next = 0;
    while next < n {
        let pid = open[next];
        next += 1;
        visit(pid);
        for_each_thread(pid, |thread| {
            let mut path = Path::new();
            path.add(b"/proc/").add_number(pid).add(b"/task/").add_number(thread).add(b"/children");
            if let Some(text) = path.text()
                && let Ok(file) = Descriptor::open(text, O_RDONLY)
            {
                numbers(&file, |pid| push(&mut open, &mut n, pid));
            }
        });
    }
}

/// Children belong to the thread that made them.
fn for_each_thread(pid: i32, mut each: impl FnMut(i32)) {
    let mut path = Path::new();
    path.add(b"/proc/").add_number(pid).add(b"/task");
    let Some(text) = path.text() else { return };
    let Ok(dir) = Descriptor::open(text, O_RDONLY | O_DIRECTORY) else { return };
    let mut entries = [0_u8; 1024];
    while let Ok(n @ 1..) = dir.entries(&mut entries) {
        let mut rest = entries.get(..n).unwrap_or_default();
        // `struct linux_dirent64`: two numbers of eight bytes, the record's length, a type, the name.
        while let Some(length) = rest.get(16..18) {
            let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
            let name = rest.get(19..length).unwrap_or_default();
            if name.first().is_some_and(u8::is_ascii_digit) {
                let end = name.iter().position(|it| *it == 0).unwrap_or(name.len());
                each(decimal(name.get(..end).unwrap_or_default()) as i32);
            }
            rest = rest.get(length.max(19)..).unwrap_or_default();
        }
    }
}

/// A path that is put together.
struct Path {
    text: [u8; 64],
    n: usize,
}

impl Path {
    const fn new() -> Self {
        Self { text: [0; 64], n: 0 }
    }

    fn add(&mut self, more: &[u8]) -> &mut Self {
        for byte in more {
            // The last byte stays 0.
            if self.n + 1 < self.text.len() {
                self.text[self.n] = *byte;
                self.n += 1;
            }
        }
        self
    }

    fn add_number(&mut self, n: i32) -> &mut Self {
        let mut digits = [0_u8; 10];
        let mut at = digits.len();
        let mut rest = n.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.add(digits.get(at..).unwrap_or_default())
    }

    fn text(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.text).ok()
    }
}
