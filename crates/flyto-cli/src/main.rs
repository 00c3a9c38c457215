#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order to read them. From the command line to a host with its tools:
mod ancestors; // the processes above this one
mod args; // what stands on the command line
#[cfg(target_os = "linux")]
mod backend; // where programs run
#[cfg(not(target_os = "linux"))]
#[path = "backend_unix.rs"]
mod backend;
mod commands; // command lines for a reader to run
mod evolve; //   tools that agents write
mod servers; // programs and addresses whose tools are used here
mod session;
mod source_paths; // what is at the paths that options name // from options to a host with its tools

// what each verb does,
mod advice; //      what to do about bounds that cannot be kept
mod call; //        the verb that runs something: signals, live output, the report
mod config_values; // where the configuration says something
mod confinement; // what holds for a program
mod decision; //    what the rules say of a call
mod preview; //     what a call would run
#[cfg(feature = "otel")]
mod telemetry; //   spans for a collector
#[cfg(not(feature = "otel"))]
#[path = "telemetry_off.rs"]
mod telemetry;
mod tool_details; //       what a plugin's program gets, and what it lacks
mod verbs; //       the other verbs

// and how it ends and what people see.
mod complaint; // how an error reads
mod exit; //     the exit code: one function decides it
mod findings; // findings with a caret
mod screen; //   where words go, and how they may look there
mod stop; //     why a verb ends early
mod table; //    aligned columns
mod terminal; // what text may not do to a terminal
mod words; //    numbers, times and command lines

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::thread;

use flyto_execenv::Environment;
use rustix::process::{Resource, getrlimit};

use crate::args::{Args, Presets};
use crate::exit::{Ending, Exit, Why};
use crate::screen::{Page, Screen, complain};
use crate::session::Session;
use crate::stop::Stop;
use crate::terminal::{Form, escape};

/// Bytes of the stack of this program, at least: 8 MiB, which Linux gives the first thread of a process by default. A smaller limit
/// (`ulimit -s`) is for the programs that are started, and would end this one by a signal: in a debug build the description
/// of the options alone takes more than 320 KiB, in frames of up to 126 KiB that clap's derive makes.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let whole = || guarded(|| run(&words));
    // The heap of the first thread grows by 128 KiB at once, those of others page by page (mallopt(3), M_TOP_PAD; glibc's `grow_heap`).
    if first_stack_bytes() >= STACK_BYTES as u64 {
        return whole().into();
    }
    let thread = thread::Builder::new().name("flyto".to_owned()).stack_size(STACK_BYTES);
    let exit = thread::scope(|scope| match thread.spawn_scoped(scope, whole) {
        Ok(thread) => thread.join().unwrap_or(Exit::Internal),
        // Where the system gives no more threads, the stack that is there has to do.
        Err(_) => whole(),
    });
    exit.into()
}

/// Bytes that the stack of the first thread may grow to (getrlimit(2), RLIMIT_STACK).
fn first_stack_bytes() -> u64 {
    getrlimit(Resource::Stack).current.unwrap_or(u64::MAX)
}

fn run(words: &[OsString]) -> Exit {
    let env = Environment::ambient();
    let args = match Args::parse_words(words) {
        Ok(args) => args,
        Err(err) => {
            let err = without_what_acts(err, words);
            return refuse(&err, &Screen::before_parsing(Presets::of(words), &env));
        }
    };
    let Args { common, verb } = args;
    let screen = Screen::new(&common, &env);
    let session = Session::new(common, screen, env).with_sandbox(verb.sandbox());
    verbs::run(&verb, &session).unwrap_or_else(|stop| stop.report(&screen))
}

/// The same error for words of which none acts on a terminal: the library puts them between styles of
/// its own, where they could not be told from those any more.
fn without_what_acts(err: clap::Error, words: &[OsString]) -> clap::Error {
    let escaped = words.iter().map(|it| escape(&it.to_string_lossy(), Form::Text).into());
    let other = Args::parse_words(&escaped.collect::<Vec<OsString>>()).err();
    other.filter(|it| it.kind() == err.kind()).unwrap_or(err)
}

/// Says what is wrong with a command line, or gives the help that it asks for.
fn refuse(err: &clap::Error, screen: &Screen) -> Exit {
    let text = |page: Page| {
        let text = err.render();
        if page.color { text.ansi().to_string() } else { text.to_string() }
    };
    if !err.use_stderr() {
        // Help and version are answers.
        let res = screen.answer(text(screen.stdout));
        return res.map_or_else(|stop| stop.report(screen), |()| Exit::Ok);
    }
    if !screen.is_json() {
        screen.complain(text(screen.stderr));
        return Exit::of(&Ending::Stopped(Why::Usage));
    }
    let text = err.to_string();
    let mut paragraphs = text.trim().split("\n\n");
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let stop = Stop::usage(message);
    paragraphs.fold(stop, |stop, it| stop.with_help(it.trim())).report(screen)
}

/// Runs the program; a fault in it is told in a few words and has an exit code of its own.
fn guarded(run: impl FnOnce() -> Exit) -> Exit {
    panic::set_hook(Box::new(|fault| {
        let what = fault.payload_as_str().unwrap_or("unknown");
        let place = fault.location().map(|it| format!(" ({it})")).unwrap_or_default();
        complain(format_args!("flyto: internal error: {what}{place}\n"), Page::default());
    }));
    panic::catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Exit::of(&Ending::Stopped(Why::Internal)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_program_has_its_own_code() {
        let exit = guarded(|| panic!("what cannot be"));
        // The other tests of this binary want the usual report.
        drop(panic::take_hook());
        assert_eq!(exit.code(), 70);
    }
}
