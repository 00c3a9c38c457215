//! Several processes on one store, and processes that are killed.
//!
//! This very program is the writer: with `--writer TASK DIR …` as arguments it does what [`writer`] says.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is a test, without the harness"
)]

mod disk;
mod kill;
mod memory;
mod shared;
mod writer;

use std::{
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some(writer::FLAG) {
        return writer::run(args);
    }
    let can_mount = disk::mounting().is_some();
    let trials = vec![
        trial("kills_lose_no_acknowledged_version", kill::kills),
        trial("two_processes_that_update_one_version_make_one", shared::one_base),
        trial("four_processes_write_one_history", shared::four_writers),
        // Only Linux tells how much memory a process had.
        trial("results_of_steps_take_little_memory", memory::of_results)
            .with_ignored_flag(cfg!(not(target_os = "linux"))),
        trial("a_limit_on_the_length_of_files_changes_nothing", disk::size_limit),
        // Counted as ignored where this user cannot mount a file system.
        trial("a_full_disk_changes_nothing", disk::full).with_ignored_flag(!can_mount),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, run: fn(&Path)) -> Trial {
    Trial::test(name, move || {
        let temp = tempfile::tempdir().map_err(|err| Failed::from(err.to_string()))?;
        run(temp.path());
        Ok(())
    })
}

/// A writer that does `task` in `dir`, with its streams in pipes.
fn child(task: &str, dir: &Path) -> Command {
    let mut res = program(std::env::current_exe().expect("it is being run"));
    res.args([writer::FLAG, task]).arg(dir).stdout(Stdio::piped()).stdin(Stdio::piped());
    res
}

#[expect(clippy::disallowed_methods, reason = "writers are killed, which no backend does")]
fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(name)
}
