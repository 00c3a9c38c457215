//! Finding plugins, and reading the same files without a look at what they say.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use flyto_plugin::{Catalogue, Filter, LoadOptions, MANIFEST_FILE, PluginState};

use crate::{
    Result,
    job::{Job, P50_US, Sample},
};

/// Does it as often as the job says. What it gives is dropped outside of the measured time, as the C
/// program leaves its buffer to the next file.
pub(super) fn measure<T>(job: &Job, mut work: impl FnMut() -> Result<T>) -> Result<Sample> {
    for _ in 0..job.warm_up {
        work()?;
    }
    let mut times: Vec<Duration> = Vec::with_capacity(job.calls);
    for _ in 0..job.calls {
        let began = Instant::now();
        let res = work()?;
        times.push(began.elapsed());
        drop(res);
    }
    times.sort();
    let median = times.get(job.calls / 2).ok_or("a job needs a call")?;
    Ok(Sample::default().with(P50_US, median.as_secs_f64() * 1e6))
}

/// Finds the plugins; every one must be loaded, and nothing be wrong with it.
pub(crate) fn discover(dir: &Path) -> Result<Catalogue> {
    checked(Catalogue::discover([dir], &Filter::new(), &LoadOptions::new().path("/usr/bin:/bin")))
}

/// Looks again.
pub(super) fn reload(catalogue: &Catalogue) -> Result<Catalogue> {
    let reload = catalogue.reload();
    if !reload.changes.is_empty() {
        return Err(format!("nothing was changed, but {:?}", reload.changes).into());
    }
    checked(reload.catalogue)
}

fn checked(catalogue: Catalogue) -> Result<Catalogue> {
    match catalogue.found.iter().find(|it| it.state != PluginState::Loaded) {
        Some(found) => Err(format!("{:?} is {}", found.dir, found.state).into()),
        None if catalogue.findings().next().is_some() => Err("there are findings".into()),
        None => Ok(catalogue),
    }
}

/// The twin of what the C program does.
pub(super) fn read_all(dir: &Path) -> Result<usize> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    let mut res = 0;
    for name in names {
        res += fs::read(dir.join(name).join(MANIFEST_FILE))?.len();
    }
    Ok(res)
}
