//! Several processes, and processes that are killed.
//!
//! This very program is the writer: with `--writer TASK DIR …` as arguments it does what [`writer`] says.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of it is a test, without the harness"
)]

mod disk;
mod kill;
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
    let trials = vec![
        trial("two_hundred_kills_lose_no_acknowledged_record", kill::kills),
        trial("two_processes_with_eight_threads_write_one_chain", shared::two_processes),
        trial("a_writer_that_is_ended_in_a_write_leaves_a_torn_line", kill::torn),
        trial("a_call_of_a_killed_process_is_open_and_its_process_gone", kill::open_call),
        trial("a_limit_on_the_length_of_files_ends_no_file_in_a_torn_line", disk::size_limit),
        trial("a_full_disk_ends_no_file_in_a_torn_line", disk::full),
        trial("a_hundred_megabytes_are_verified_in_little_memory", shared::memory),
        trial("the_verification_in_the_readme_works", shared::readme),
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

/// A writer that does `task` in `dir`, with its output in a pipe.
fn child(task: &str, dir: &Path) -> Command {
    let mut res = program(std::env::current_exe().expect("it is being run"));
    res.args([writer::FLAG, task]).arg(dir).stdout(Stdio::piped());
    res
}

#[expect(clippy::disallowed_methods, reason = "this crate lies below `ExecEnv`")]
fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(name)
}
