//! What hostile programs try so that something of them outlives their call, and what comes of it: by
//! each means of ending a tree, for each way in which a call or its host comes to an end, as root and
//! as an ordinary user.
//!
//! `cargo test -p flyto-execenv-linux --test escapes` prints the table of what was tried. Everything
//! hostile runs under a limit of processes.

#![cfg(target_os = "linux")]

mod driver;
mod fork;
mod host;
mod limit;
mod processes;
mod shown;
mod table;
mod tool;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == "tool" => tool::run(rest),
        Some((first, rest)) if first == "root" => tool::root(rest),
        Some((first, rest)) if first == "host" => host::run(rest),
        _ => driver::run(),
    }
}
