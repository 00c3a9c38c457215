//! A program that misbehaves on request: what end-to-end tests run.
//!
//! `probe COMMAND [ARGUMENT]`; [`COMMANDS`] lists what it can do. It is small, needs no shell, and
//! ends by itself after [`PATIENCE`] whatever it was told, so that a failed test leaves nothing.

#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "usage goes to a person")]

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write, pipe, stderr, stdout},
    os::unix::ffi::OsStrExt,
    process::{Command, ExitCode},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        resource::{Resource, setrlimit},
        signal::{SigSet, Signal, raise},
    },
    unistd::close,
};

/// How long any command lasts at most: 60 s, beyond the deadline of every test.
const PATIENCE: Duration = Duration::from_secs(60);

type Run = fn(&[OsString]) -> io::Result<ExitCode>;

/// Every command: its name, its arguments as shown to people, what it does.
const COMMANDS: &[(&str, &str, &str, Run)] = &[
    ("hang", "", "prints `ready` and does nothing more", hang),
    ("flood", "BYTES", "prints so many bytes", flood),
    ("ignore-term", "", "as `hang`, and SIGTERM does not end it", ignore_term),
    ("stop-self", "", "stops itself; prints `continued` if it is ever let go on", stop_self),
    ("never-read", "", "exits without reading its input", never_read),
    ("close-stdin", "", "closes its input, and exits a moment later", close_stdin),
    ("stubborn-grandchild", "", "leaves an `ignore-term` behind", stubborn_grandchild),
    ("chatty-grandchild", "", "leaves a `chatter` behind", chatty_grandchild),
    ("chatter", "", "prints a line every 10 ms", chatter),
    ("alternate", "N", "prints N lines on each stream, by turns", alternate),
    ("invalid-utf8", "", "prints bytes that are no UTF-8", invalid_utf8),
    ("print-env", "", "prints its variables, sorted, each with a NUL behind it", print_env),
    ("print-args", "ARGUMENT…", "prints its arguments, each with a NUL behind it", print_args),
    ("exit", "CODE", "exits with the code", exit),
    ("die", "SIGNAL", "is ended by the signal, such as SIGKILL; never by SIGPIPE", die),
];

fn main() -> ExitCode {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    let command = args.split_first().and_then(|(name, rest)| {
        let (.., run) = COMMANDS.iter().find(|it| OsStr::new(it.0) == name)?;
        Some((run, rest))
    });
    let Some((run, rest)) = command else {
        eprintln!("usage: probe COMMAND [ARGUMENT]…\n");
        for (name, args, about, _) in COMMANDS {
            eprintln!("  {:<24}{about}", format!("{name} {args}"));
        }
        return ExitCode::from(2);
    };
    run(rest).unwrap_or_else(|err| {
        eprintln!("probe: {err}");
        ExitCode::FAILURE
    })
}

/// Prints at once: a pipe is not a terminal, so the library would keep the line back.
fn say(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn hang(_: &[OsString]) -> io::Result<ExitCode> {
    say(b"ready\n")?;
    sleep(PATIENCE);
    Ok(ExitCode::SUCCESS)
}

fn flood(args: &[OsString]) -> io::Result<ExitCode> {
    let mut left: usize = number(args)?;
    let piece = [b'x'; 64 * 1024];
    let mut out = stdout().lock();
    while left > 0 {
        let n = left.min(piece.len());
        out.write_all(&piece[..n])?;
        left -= n;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn ignore_term(_: &[OsString]) -> io::Result<ExitCode> {
    // A blocked signal waits for ever, which looks the same from outside.
    SigSet::from_iter([Signal::SIGTERM]).thread_block()?;
    say(b"ready\n")?;
    // The end of our input tells the probe that left us behind.
    close(0)?;
    sleep(PATIENCE);
    Ok(ExitCode::SUCCESS)
}

fn stop_self(_: &[OsString]) -> io::Result<ExitCode> {
    say(b"ready\n")?;
    raise(Signal::SIGSTOP)?;
    say(b"continued\n")?;
    Ok(ExitCode::SUCCESS)
}

fn never_read(_: &[OsString]) -> io::Result<ExitCode> {
    say(b"done\n")?;
    Ok(ExitCode::SUCCESS)
}

fn close_stdin(_: &[OsString]) -> io::Result<ExitCode> {
    close(0)?;
    // The writer meets a closed pipe of a program that lives on.
    sleep(Duration::from_millis(100));
    say(b"done\n")?;
    Ok(ExitCode::SUCCESS)
}

fn stubborn_grandchild(_: &[OsString]) -> io::Result<ExitCode> {
    leave_behind("ignore-term")
}

fn chatty_grandchild(_: &[OsString]) -> io::Result<ExitCode> {
    leave_behind("chatter")
}

/// Starts another probe that keeps our output open, and exits once that has closed its input.
fn leave_behind(name: &str) -> io::Result<ExitCode> {
    let (mut reader, writer) = pipe()?;
    #[expect(clippy::disallowed_methods, reason = "a probe is what runs inside an `ExecEnv`")]
    let mut command = Command::new(env::current_exe()?);
    command.arg(name).stdin(writer);
    let _left_behind = command.spawn()?;
    // With the command goes our copy of the writer.
    drop(command);
    io::copy(&mut reader, &mut io::sink())?;
    Ok(ExitCode::SUCCESS)
}

fn chatter(_: &[OsString]) -> io::Result<ExitCode> {
    let began = Instant::now();
    close(0)?;
    while began.elapsed() < PATIENCE {
        say(b"still here\n")?;
        sleep(Duration::from_millis(10));
    }
    Ok(ExitCode::SUCCESS)
}

fn alternate(args: &[OsString]) -> io::Result<ExitCode> {
    for i in 1..=number::<u32>(args)? {
        say(format!("out {i}\n").as_bytes())?;
        stderr().write_all(format!("err {i}\n").as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn invalid_utf8(_: &[OsString]) -> io::Result<ExitCode> {
    say(b"a\xffb\xc3(c\xed\xa0\x80d\n")?;
    Ok(ExitCode::SUCCESS)
}

fn print_env(_: &[OsString]) -> io::Result<ExitCode> {
    let mut variables: Vec<_> = env::vars_os().collect();
    variables.sort();
    for (name, value) in variables {
        say(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_args(args: &[OsString]) -> io::Result<ExitCode> {
    for arg in args {
        say(&[arg.as_bytes(), b"\0"].concat())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn exit(args: &[OsString]) -> io::Result<ExitCode> {
    Ok(ExitCode::from(number::<u8>(args)?))
}

fn die(args: &[OsString]) -> io::Result<ExitCode> {
    let name = args.first().and_then(|it| it.to_str()).unwrap_or_default();
    let signal: Signal = name.parse()?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // The library's handler for stack overflows takes the first SIGSEGV or SIGBUS and steps aside.
    raise(signal)?;
    raise(signal)?;
    Err(io::Error::other(format!("{signal} did not end this program")))
}

fn number<T: std::str::FromStr>(args: &[OsString]) -> io::Result<T> {
    let text = args.first().and_then(|it| it.to_str()).unwrap_or_default();
    text.parse().map_err(|_| io::Error::other(format!("`{text}` is no number that fits")))
}
