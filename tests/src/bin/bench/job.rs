//! What one run of a variant does, and what it tells afterwards.

use std::{collections::BTreeMap, ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf};

use crate::Result;

/// Bytes that each call sends and receives.
pub(crate) const REQUEST_BYTES: usize = 200;

/// One run, as the arguments `name=value` tell a worker or the C baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Job {
    /// The program that is run, or the directory in which plugins are found: absolute.
    pub(crate) child: PathBuf,
    pub(crate) calls: usize,
    /// Calls before the measured ones.
    pub(crate) warm_up: usize,
    pub(crate) in_flight: usize,
    /// Private memory that the host touches before its first call.
    pub(crate) memory_mib: usize,
    /// Descriptors that the host opens before its first call.
    pub(crate) descriptors: usize,
    /// Bytes that the child prints, where streaming is measured.
    pub(crate) bytes: u64,
    /// 1 where the child stays and is talked to.
    pub(crate) stays: usize,
}

impl Job {
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        let Self { child, calls, warm_up, in_flight, memory_mib, descriptors, bytes, stays } = self;
        let mut path = OsString::from("child=");
        path.push(child);
        let mut res = vec![path];
        res.extend(
            [
                ("calls", *calls as u64),
                ("warm_up", *warm_up as u64),
                ("in_flight", *in_flight as u64),
                ("memory_mib", *memory_mib as u64),
                ("descriptors", *descriptors as u64),
                ("bytes", *bytes),
                ("stays", *stays as u64),
            ]
            .map(|(name, value)| OsString::from(format!("{name}={value}"))),
        );
        res
    }

    pub(crate) fn parse(args: &[String]) -> Result<Self> {
        let mut res = Self::default();
        for arg in args {
            let (name, value) = arg.split_once('=').ok_or("a job is told as name=value")?;
            match name {
                "child" => res.child = value.into(),
                "calls" => res.calls = value.parse()?,
                "warm_up" => res.warm_up = value.parse()?,
                "in_flight" => res.in_flight = value.parse()?,
                "memory_mib" => res.memory_mib = value.parse()?,
                "descriptors" => res.descriptors = value.parse()?,
                "bytes" => res.bytes = value.parse()?,
                "stays" => res.stays = value.parse()?,
                _ => return Err(format!("a job has no `{name}`").into()),
            }
        }
        if !res.child.as_os_str().as_bytes().starts_with(b"/") {
            return Err("a job needs the absolute path of a child".into());
        }
        Ok(res)
    }
}

/// The median time of one call, in µs.
pub(crate) const P50_US: &str = "p50_us";
/// Calls per second.
pub(crate) const PER_SECOND: &str = "per_second";
/// CPU time of the host for each call, in µs.
pub(crate) const SELF_CPU_US: &str = "self_cpu_us";
/// CPU time of the child for each call, in µs.
pub(crate) const CHILDREN_CPU_US: &str = "children_cpu_us";
/// Output read per second.
pub(crate) const BYTES_PER_SECOND: &str = "bytes_per_second";
/// Peak resident memory during the run, less what was resident before it.
pub(crate) const GROWTH_BYTES: &str = "growth_bytes";

/// What a run tells on its standard output: lines of a name and a number.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sample(BTreeMap<String, f64>);

impl Sample {
    pub(crate) fn with(mut self, name: &str, value: f64) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut res = Self::default();
        for line in text.lines() {
            let (name, value) = line.split_once(' ').ok_or("a line is a name and a number")?;
            res = res.with(name, value.parse()?);
        }
        Ok(res)
    }

    pub(crate) fn to_text(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name} {value:.2}\n")).collect()
    }

    /// The number called `name`.
    ///
    /// # Panics
    ///
    /// When the variant did not tell it: a benchmark asks for what its own jobs measure.
    pub(crate) fn get(&self, name: &str) -> f64 {
        *self.0.get(name).unwrap_or_else(|| panic!("no {name} among {:?}", self.0.keys()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Job, Sample};

    #[test]
    fn a_job_arrives_as_it_was_sent() {
        let job = Job {
            child: "/a b=c".into(),
            calls: 1,
            warm_up: 2,
            in_flight: 3,
            memory_mib: 4,
            descriptors: 5,
            bytes: 6,
            stays: 7,
        };
        let args: Vec<String> =
            job.to_args().into_iter().map(|it| it.into_string().expect("UTF-8")).collect();
        assert_eq!(Job::parse(&args).expect("a job"), job);
    }

    #[test]
    fn a_job_that_says_too_little_or_too_much_is_refused() {
        for args in [vec![], vec!["child=relative"], vec!["child=/a", "speed=9"], vec!["calls"]] {
            let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
            assert!(Job::parse(&args).is_err(), "{args:?}");
        }
    }

    #[test]
    fn a_sample_arrives_as_it_was_sent() {
        let sample = Sample::default().with("a", 1.5).with("b", 0.0);
        assert_eq!(Sample::parse(&sample.to_text()).expect("a sample"), sample);
        assert!(Sample::parse("a").is_err());
    }
}
