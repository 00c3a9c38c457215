//! A bound on how many processes there can be below a host.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::kill_all;

/// A cgroup of the controller for processes (cgroups(7)), which binds root as well.
pub(crate) struct Limit {
    dir: PathBuf,
}

impl Limit {
    /// Where such cgroups can be made: in the hierarchy of that controller, or in the one of all.
    const PLACES: [&str; 2] = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];

    pub(crate) fn new(processes: u32) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let n = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("flyto-escapes-{}-{n}", std::process::id());
        let mut res = Err(io::ErrorKind::NotFound.into());
        for place in Self::PLACES {
            let dir = Path::new(place).join(&name);
            res = fs::create_dir(&dir).and_then(|()| {
                let limit = Self { dir };
                fs::write(limit.dir.join("pids.max"), processes.to_string())?;
                Ok(limit)
            });
            if res.is_ok() {
                break;
            }
        }
        res
    }

    /// Moves a process into it, with all that it will make.
    pub(crate) fn add(&self, pid: i32) -> io::Result<()> {
        fs::write(self.dir.join("cgroup.procs"), pid.to_string())
    }

    /// Ends everything in it, and everything with `marker` in its arguments.
    pub(crate) fn end(&self, marker: &str) {
        // Nobody makes a process any more.
        let _ = fs::write(self.dir.join("pids.max"), "0");
        loop {
            kill_all(marker);
            let members = fs::read_to_string(self.dir.join("cgroup.procs")).unwrap_or_default();
            let mut members = members.lines().filter_map(|it| Pid::from_raw(it.parse().ok()?));
            let Some(first) = members.next() else { return };
            for pid in [first].into_iter().chain(members) {
                let _ = kill_process(pid, Signal::KILL);
            }
            thread::yield_now();
        }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let _ = fs::write(self.dir.join("pids.max"), "0");
        // Groups that the backend of a host made below have gone with it, or go now.
        remove_below(&self.dir);
        // Who has ended may still be on its way out.
        while fs::remove_dir(&self.dir).is_err_and(|it| it.kind() == io::ErrorKind::ResourceBusy) {
            self.end("no process has this in its arguments");
            thread::yield_now();
        }
    }
}

/// Removes every group below one, the innermost first; one with members stays.
fn remove_below(dir: &Path) {
    for below in fs::read_dir(dir).into_iter().flatten().flatten().map(|it| it.path()) {
        if below.is_dir() {
            remove_below(&below);
            let _ = fs::remove_dir(below);
        }
    }
}
