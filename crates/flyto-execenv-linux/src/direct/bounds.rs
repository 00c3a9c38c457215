//! Bounds that the kernel keeps for each process (setrlimit(2)).
//!
//! Without a supervisor no bound holds for a tree: each process of it has the whole of each bound.
//! So [`Linux`](crate::Linux) declares for this way the bounds on files alone.

use flyto_execenv::Limits;
use flyto_supervision::Bound;
use rustix::process::{Resource, getrlimit};

/// The bounds of setrlimit(2) that come closest to `limits`, none above what this process may set.
///
/// CPU time is counted in whole seconds, so it is rounded up. `RLIMIT_DATA` takes the place of a bound on
/// memory. There is none for the number of processes: `RLIMIT_NPROC` counts those of the user.
///
/// In the order CPU time, data, file size, open files; without those that `limits` does not set. A
/// bound above the hard limit of this process is lowered to that, since only a privileged process
/// may raise it.
pub(crate) fn bounds_of(limits: &Limits) -> Vec<Bound> {
    let Limits { cpu_time, memory_bytes, file_size_bytes, open_files, .. } = limits;
    let seconds =
        cpu_time.map(|it| it.as_secs().saturating_add(u64::from(it.subsec_nanos() > 0)).max(1));
    let wanted = [
        // At the soft bound there is a signal that can be caught, a second later the end.
        (Resource::Cpu, seconds, 1),
        (Resource::Data, *memory_bytes, 0),
        (Resource::Fsize, *file_size_bytes, 0),
        (Resource::Nofile, *open_files, 0),
    ];
    let bound = |(resource, limit, beyond): (Resource, Option<u64>, u64)| {
        let limit = limit?;
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let (soft, hard) = (limit.min(most), limit.saturating_add(beyond).min(most));
        Some(Bound { resource: resource as u32, soft, hard })
    };
    wanted.into_iter().filter_map(bound).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[track_caller]
    fn check(limits: Limits, expect: &[(Resource, u64, u64)]) {
        let bounds: Vec<_> =
            bounds_of(&limits).into_iter().map(|it| (it.resource, it.soft, it.hard)).collect();
        let expect: Vec<_> = expect.iter().map(|it| (it.0 as u32, it.1, it.2)).collect();
        assert_eq!(bounds, expect);
    }

    #[test]
    fn each_limit_has_its_resource() {
        check(Limits::new().output_bytes(1).processes(1), &[]);
        let cpu = |limit| Limits::new().cpu_time(limit);
        check(cpu(Duration::ZERO), &[(Resource::Cpu, 1, 2)]);
        check(cpu(Duration::from_millis(1001)), &[(Resource::Cpu, 2, 3)]);
        check(
            Limits::new().open_files(7).file_size_bytes(8).memory_bytes(9),
            &[(Resource::Data, 9, 9), (Resource::Fsize, 8, 8), (Resource::Nofile, 7, 7)],
        );
    }

    #[test]
    fn no_bound_is_above_the_hosts_own() {
        let own = getrlimit(Resource::Nofile).maximum;
        let bounds = bounds_of(&Limits::new().open_files(u64::MAX));
        assert_eq!(bounds.first().map(|it| it.hard), Some(own.unwrap_or(u64::MAX)));
    }
}
