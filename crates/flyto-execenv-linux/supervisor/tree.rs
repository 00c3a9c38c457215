//! All descendants: signals to them, and what they use.

use core::ffi::CStr;

use crate::{
    bare::sys::{self, number},
    cpu::Seen,
    end::{for_each_child, numbers},
    files::Held,
    process::{Descriptor, O_DIRECTORY, O_RDONLY, SIGCONT, signal, signal_held, watch},
    setup::SupervisorContext,
};

/// Descendants that one look can follow: 4,096, more than the limit of processes of any tree that was
/// not given a larger one.
const MAX_DESCENDANTS: usize = 4096;

/// Sends a signal to every descendant.
pub(crate) fn signal_tree(context: &SupervisorContext, number: u32) {
    if context.is_namespace() {
        signal(-1, number);
        return;
    }
    signal_descendants(context, number);
}

/// Sends SIGCONT to what is stopped. In a PID namespace of the programs it goes to all: `/proc` need not show theirs.
pub(crate) fn continue_stopped(context: &SupervisorContext) {
    if context.is_namespace() {
        signal(-1, SIGCONT);
        return;
    }
    signal_those(context, SIGCONT, |it| it.is_stopped);
}

/// Sends a signal to every descendant that `/proc` shows, parents before children, each once.
pub(crate) fn signal_descendants(context: &SupervisorContext, number: u32) {
    signal_those(context, number, |_| true);
}

/// Sends a signal to those descendants.
///
/// A child of ours keeps its number until we wait for it. A deeper descendant is waited for by its own
/// parent, whenever that likes, and its number may be a stranger's an instant after it was listed. So it is
/// held first (pidfd_open(2)), and is signalled only if its parent is one of ours then.
fn signal_those(context: &SupervisorContext, number: u32, is_meant: impl Fn(&Stat) -> bool) {
    // SAFETY: asks for a number.
    let own = unsafe { sys::numbers(number::GETPID, &[]) }.map_or(0, |it| it as i32);
    for_each_descendant(context, |pid, parent| {
        let Some(parent) = parent else {
            let stat = Stat::of(pid);
            // One that cannot be looked at is signalled all the same.
            if stat.as_ref().is_none_or(&is_meant) {
                signal(pid, number);
            }
            return stat.map(|it| it.start_tick);
        };
        let held = watch(pid).ok()?;
        let stat = Stat::of(pid)?;
        let is_childs = stat.parent == parent.pid
            && Stat::of(parent.pid).is_some_and(|it| it.start_tick == parent.start_tick);
        // One whose parent has ended since is a child of ours.
        (is_childs || stat.parent == own).then(|| {
            if is_meant(&stat) {
                signal_held(&held, number);
            }
            stat.start_tick
        })
    });
}

/// What tells a process from others that have had its number or will have it (proc_pid_stat(5)).
struct Stat {
    is_stopped: bool,
    parent: i32,
    /// The clock tick of its start, without the upper half.
    start_tick: u32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let mut text = [0_u8; 1024];
        // The state, field 3, is the first; field 4 is the parent, field 22 the start.
        let mut fields = fields(pid, &mut text)?;
        Some(Self {
            is_stopped: fields.next()? == b"T",
            parent: decimal(fields.next()?) as i32,
            start_tick: decimal(fields.nth(17)?) as u32,
        })
    }
}

/// The fields of `/proc/PID/stat` from the third on. The name of the program before them may hold
/// anything; what is after its last parenthesis does not.
fn fields(pid: i32, text: &mut [u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let text = read(pid, b"/stat", text)?;
    let end = text.iter().rposition(|it| *it == b')')?;
    Some(text.get(end + 2..)?.split(|it| *it == b' '))
}

/// Whether `/proc` shows the processes of our namespace. That of another one has other numbers for them:
/// a signal to such a number reaches a stranger.
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

/// Looks at every living descendant (proc_pid_statm(5), proc_pid_stat(5)), and adds the own time of each to what
/// was seen of it before. Pages that several of them share count for each.
///
/// What lies in files counts once, whether it is mapped, only open, or a segment: of the two sums the larger one.
pub(crate) fn load(context: &SupervisorContext, mut seen: Option<&mut Seen>, mut held: Option<&mut Held>) -> Load {
    let mut res = Load::default();
    let (mut own_pages, mut file_pages) = (0, 0);
    let is_look_at_files = held.as_mut().is_some_and(|it| it.begin_look());
    if let Some(seen) = &mut seen {
        seen.next_look();
    }
    for_each_descendant(context, |pid, _| {
        let mut text = [0_u8; 1024];
        let Resident { all, of_files } = resident_pages(pid, &mut text);
        own_pages += all.saturating_sub(of_files);
        file_pages += of_files;
        if let Some(held) = held.as_mut().filter(|_| is_look_at_files) {
            held.look_at(pid);
        }
        if let Some(mut fields) = fields(pid, &mut text) {
            // Fields 14 and 15 are its own time in user and in system mode, 16 and 17 that of children it
            // has waited for. What this process waits for is counted elsewhere, and once: those numbers
            // are a parent's as long as that is alive.
            let mut times = fields.by_ref().skip(11).take(4).map(decimal);
            let [user, system] = [times.next(), times.next()].map(Option::unwrap_or_default);
            let waited: u64 = times.sum();
            res.cpu_ns += (user + system + waited) * TICK_NS;
            // Field 22 is the tick of its start.
            if let (Some(seen), Some(start_tick)) = (&mut seen, fields.nth(4)) {
                seen.add(pid, decimal(start_tick) as u32, user, system);
            }
        }
        Some(0)
    });
    if let Some(held) = held.as_mut().filter(|_| is_look_at_files) {
        held.end_look(context);
    }
    let held_bytes = held.map_or(0, |it| it.bytes());
    res.memory_bytes = own_pages * PAGE_BYTES + held_bytes.max(file_pages * PAGE_BYTES);
    res
}

/// Pages that a process has in memory, and how many of them are mapped from files, those in memory included.
#[derive(Clone, Copy, Default)]
struct Resident {
    all: u64,
    of_files: u64,
}

/// Pages that a process holds. A process whose first thread has ended shows none in its own file, and all of
/// them in those of its other threads.
fn resident_pages(pid: i32, text: &mut [u8]) -> Resident {
    let mut path = Path::new();
    path.add(b"/proc/").add_number(pid).add(b"/statm");
    let mut most = resident(&path, text);
    if most.all == 0 {
        for_each_thread(pid, |thread| {
            let mut path = Path::new();
            path.add(b"/proc/").add_number(pid).add(b"/task/").add_number(thread).add(b"/statm");
            let pages = resident(&path, text);
            if pages.all > most.all {
                most = pages;
            }
        });
    }
    most
}

fn resident(path: &Path, text: &mut [u8]) -> Resident {
    let fields = read_path(path, text).unwrap_or_default();
    let mut fields = fields.split(|it| *it == b' ').skip(1).map(decimal);
    Resident { all: fields.next().unwrap_or(0), of_files: fields.next().unwrap_or(0) }
}

/// Bytes of a page on x86-64.
const PAGE_BYTES: u64 = 4096;

/// Nanoseconds of a clock tick as Linux shows it to programs, 100 a second (`USER_HZ`, time(7)).
const TICK_NS: u64 = 10_000_000;

pub(crate) fn decimal(text: &[u8]) -> u64 {
    text.iter().filter(|it| it.is_ascii_digit()).fold(0, |n, it| n * 10 + u64::from(it - b'0'))
}

fn read<'a>(pid: i32, file: &[u8], into: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut path = Path::new();
    path.add(b"/proc/").add_number(pid).add(file);
    read_path(&path, into)
}

fn read_path<'a>(path: &Path, into: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = Descriptor::open(path.text()?, O_RDONLY).ok()?;
    let n = file.read(into).ok()?;
    into.get(..n)
}

/// A descendant that was listed.
#[derive(Clone, Copy, Default)]
struct Listed {
    pid: i32,
    /// The place of its parent among those that were listed, from 1 on; 0 is this process.
    parent: u16,
    /// What its visitor said of it.
    start_tick: u32,
}

/// Visits descendants, parents before children: with the parent, unless that is this process. One that
/// comes or goes meanwhile may be missed. Those below it are visited if the visitor says when it was started.
fn for_each_descendant(context: &SupervisorContext, mut visit: impl FnMut(i32, Option<Listed>) -> Option<u32>) {
    let mut all = [Listed::default(); MAX_DESCENDANTS];
    let mut n = 0;
    let list = |all: &mut [Listed; MAX_DESCENDANTS], n: &mut usize, pid, parent| {
        if let Some(slot) = all.get_mut(*n) {
            *slot = Listed { pid, parent: parent as u16, start_tick: 0 };
            *n += 1;
        }
    };
    for_each_child(context, |pid| list(&mut all, &mut n, pid, 0));
    let mut next = 0;
    while next < n {
        let Listed { pid, parent, .. } = all[next];
        let parent = usize::from(parent).checked_sub(1).and_then(|it| all.get(it).copied());
        let start_tick = visit(pid, parent);
        let at = next;
        next += 1;
        let Some(start_tick) = start_tick else { continue };
        all[at].start_tick = start_tick;
        for_each_thread(pid, |thread| {
            let mut path = Path::new();
            path.add(b"/proc/").add_number(pid).add(b"/task/").add_number(thread).add(b"/children");
            if let Some(text) = path.text()
                && let Ok(file) = Descriptor::open(text, O_RDONLY)
            {
                numbers(&file, |pid| list(&mut all, &mut n, pid, next));
            }
        });
    }
}

/// Children belong to the thread that made them.
fn for_each_thread(pid: i32, each: impl FnMut(i32)) {
    let mut path = Path::new();
    path.add(b"/proc/").add_number(pid).add(b"/task");
    let Some(text) = path.text() else { return };
    let Ok(dir) = Descriptor::open(text, O_RDONLY | O_DIRECTORY) else { return };
    for_each_number(&dir, each);
}

/// The entries of a directory whose names are numbers.
pub(crate) fn for_each_number(dir: &Descriptor, mut each: impl FnMut(i32)) {
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
pub(crate) struct Path {
    text: [u8; 64],
    n: usize,
}

impl Path {
    pub(crate) const fn new() -> Self {
        Self { text: [0; 64], n: 0 }
    }

    pub(crate) fn add(&mut self, more: &[u8]) -> &mut Self {
        for byte in more {
            // The last byte stays 0.
            if self.n + 1 < self.text.len() {
                self.text[self.n] = *byte;
                self.n += 1;
            }
        }
        self
    }

    pub(crate) fn add_number(&mut self, n: i32) -> &mut Self {
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

    pub(crate) fn text(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.text).ok()
    }
}
