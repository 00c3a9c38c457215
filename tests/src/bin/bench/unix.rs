//! Where a system has no such thing, or none that is measured here.

use crate::Result;

/// The CPUs that this process and the workers it starts may use: all of them, always.
#[derive(Debug)]
pub(crate) struct Cpus;

impl Cpus {
    pub(crate) fn current() -> Result<Self> {
        Ok(Self)
    }

    pub(crate) fn pin(&self) -> Result<String> {
        self.unpin()
    }

    pub(crate) fn unpin(&self) -> Result<String> {
        Ok("on all CPUs (this system pins no process)".to_owned())
    }
}

pub(crate) fn disable_huge_pages() -> Result {
    Ok(())
}

pub(crate) fn available_mib() -> Option<usize> {
    None
}

pub(crate) fn living_children_cpu_us() -> i64 {
    0
}

/// Resident memory, which is not measured here.
#[derive(Debug)]
pub(crate) struct Resident;

impl Resident {
    pub(crate) fn now() -> Result<Self> {
        Ok(Self)
    }

    pub(crate) fn peak_growth(&self) -> f64 {
        f64::NAN
    }
}
