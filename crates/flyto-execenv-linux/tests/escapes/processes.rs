//! Finding processes by a word in their arguments, which forks share.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

/// How often a process that is to end is looked for among others that are: its number may be another
/// process's by the time it is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// Every process with its arguments, which those that have ended have none of.
fn all() -> impl Iterator<Item = (Pid, Vec<u8>)> {
    numbers("/proc").filter_map(|pid| Some((Pid::from_raw(pid)?, arguments(pid)?)))
}

/// A process whose first thread has ended shows its arguments with the others.
fn arguments(pid: i32) -> Option<Vec<u8>> {
    let res = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    if !res.is_empty() {
        return Some(res);
    }
    let tasks = format!("/proc/{pid}/task");
    let of_threads = numbers(&tasks).flat_map(|it| fs::read(format!("{tasks}/{it}/cmdline")));
    Some(of_threads.max_by_key(Vec::len).unwrap_or_default())
}

/// Entries of a directory that are numbers; one that has ended has none.
fn numbers(dir: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

fn has(arguments: &[u8], marker: &str) -> bool {
    arguments.windows(marker.len()).any(|it| it == marker.as_bytes())
}

/// Living processes with `marker` in their arguments.
pub(crate) fn alive(marker: &str) -> Vec<Pid> {
    all().filter(|(_, it)| has(it, marker)).map(|(pid, _)| pid).collect()
}

/// A process whose end is waited for.
pub(crate) struct Awaited {
    /// In the arguments of all that are meant.
    pub(crate) marker: String,
    /// How often they are looked for: nothing is there of which no look shows a process.
    pub(crate) looks: u32,
    /// How long at most.
    pub(crate) patience: Duration,
}

/// Waits for the end of all of them, at the same time; says how many are left of each.
pub(crate) fn wait_for_end(awaited: &[Awaited]) -> Vec<usize> {
    let begun = Instant::now();
    let looks = awaited.iter().map(|it| it.looks).max().unwrap_or(0);
    loop {
        let mut left = vec![0; awaited.len()];
        let mut next = None;
        for _ in 0..looks {
            let all: Vec<_> = all().collect();
            for (most, it) in left.iter_mut().zip(awaited) {
                let mut these = all.iter().filter(|(_, arguments)| has(arguments, &it.marker));
                let first = these.next();
                *most = (*most).max(usize::from(first.is_some()) + these.count());
                if begun.elapsed() < it.patience {
                    next = first.map(|(pid, _)| *pid).or(next);
                }
            }
        }
        let Some(pid) = next else { return left };
        if let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) {
            let look = LOOK.try_into().expect("it is short");
            let _ = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&look));
        }
    }
}

/// What is known of a process, in a line that helps to find why it is there.
pub(crate) fn shown(pid: Pid) -> String {
    let pid = pid.as_raw_nonzero();
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let text = |it: Vec<u8>| String::from_utf8_lossy(&it).replace('\0', " ");
    let stat = text(read("stat"));
    let after_name = stat.rsplit_once(") ").map_or("", |(_, it)| it);
    let mut fields = after_name.split(' ');
    let (state, parent) = (fields.next().unwrap_or("?"), fields.next().unwrap_or("?"));
    let [waits_in, arguments] = [read("wchan"), read("cmdline")].map(text);
    format!("{pid} of {parent}, {state}, in {waits_in}: {arguments:.150}")
}
