//! The text that bash is given, and what a result says of a program that did not end well.

use flyto_execenv::{Exit, Signal};
use flyto_program::MAX_ARGUMENT_BYTES;

/// Why bash would take a text for options: it begins with `-` or `+`, and `bash -c` reads such words in front of its
/// command (bash(1), "Options"). The word behind them, which is the name of the tool, would run as the command.
pub(crate) fn option_fault(text: &str) -> Option<&'static str> {
    let begins = text.starts_with(['-', '+']);
    begins.then_some("begins with `-` or `+`, and bash would take it for options of its own")
}

/// What is wrong with a text of so many bytes, if anything: bash gets it as one argument.
pub(crate) fn length_fault(n_bytes: usize) -> Option<String> {
    let is_long = n_bytes > MAX_ARGUMENT_BYTES;
    is_long
        .then(|| format!("has {n_bytes} bytes, and bash can be given {MAX_ARGUMENT_BYTES} at most"))
}

/// What stands behind `exit: ` for the end of bash.
pub(super) fn exit_text(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("exit status {code}"),
        Some(Exit::Signal(Signal(number))) => format!("signal: {}", signal_text(number)),
        // It was ended, and how is not reported.
        _ => format!("signal: {}", signal_text(9)),
    }
}

/// The words of the reference for a signal (signal(7), the numbers of Linux on x86 and Arm).
fn signal_text(number: i32) -> String {
    let text = match number {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trace/breakpoint trap",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        10 => "user defined signal 1",
        11 => "segmentation fault",
        12 => "user defined signal 2",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        other => return format!("signal {other}"),
    };
    text.to_owned()
}
