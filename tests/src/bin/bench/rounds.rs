//! Running variants in turn, so that whatever disturbs the machine disturbs all of them alike.

use std::{
    env,
    io::{self, IsTerminal, Write},
    path::Path,
    process::Stdio,
};

use crate::{
    Result,
    job::{Job, Sample},
    programs::{Programs, program},
    worker::{self, Variant},
};

/// One line of a table: a variant and what it does.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) variant: Variant,
    pub(crate) job: Job,
}

/// What an entry told in each round.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Sample>);

impl Samples {
    /// One number of each round.
    pub(crate) fn all(&self, name: &str) -> Vec<f64> {
        self.0.iter().map(|it| it.get(name)).collect()
    }
}

/// Runs every entry once a round, each run in a process of its own. Each round begins with another
/// entry. The result is in the order of the entries.
pub(crate) fn run(programs: &Programs, entries: &[Entry], rounds: usize) -> Result<Vec<Samples>> {
    let mut res: Vec<Samples> = entries.iter().map(|_| Samples::default()).collect();
    let mut screen = io::stderr();
    for round in 0..rounds {
        if screen.is_terminal() {
            write!(screen, "\rround {} of {rounds} ", round + 1)?;
        }
        for i in 0..entries.len() {
            let at = (i + round) % entries.len();
            res[at].0.push(run_once(programs, &entries[at])?);
        }
    }
    if screen.is_terminal() {
        write!(screen, "\r{:24}\r", "")?;
    }
    Ok(res)
}

fn run_once(programs: &Programs, entry: &Entry) -> Result<Sample> {
    let work = match &entry.job {
        job if job.child.is_dir() => "discover",
        job if job.bytes > 0 => "stream",
        job if job.stays > 0 => "ping",
        _ => "call",
    };
    let myself = env::current_exe()?;
    let mut command = match (&programs.baseline, entry.variant) {
        (Some((baseline, _)), Variant::Baseline) => program(baseline.as_os_str()),
        (_, variant) => {
            let mut command = program(myself.as_os_str());
            command.args([worker::SUBCOMMAND, variant.name()]);
            command
        }
    };
    command
        .arg(work)
        .args(entry.job.to_args())
        // Every child gets the same environment from every variant.
        .env_clear()
        .env("PATH", worker::CHILD_PATH)
        .current_dir(Path::new("/"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status).into());
    }
    Sample::parse(&String::from_utf8(output.stdout)?)
}
