//! A spec as the record that a supervisor reads.
//!
//! The record holds everything that the supervisor needs for one program: a head with flags, bounds
//! and counts, then texts, each with a zero byte at its end. The order of the texts is fixed:
//! working directory, file of the program, its arguments from argument 0 on, then the variables as
//! `NAME=value`. No text holds a zero byte, since the spec was checked for that.

use std::{os::unix::ffi::OsStrExt, path::Path, time::Duration};

use flyto_execenv::Spec;
use flyto_supervision::{Start, StartFlags};

use crate::enforcement::Plan;

/// How long after the deadline the supervisor ends a tree without an order: 20 ms. The host has ordered it by
/// then, unless something holds the host up.
///
/// It stands behind the host's own clock, not in its place.
const CLOCK_MARGIN: Duration = Duration::from_millis(20);

/// Appends the record of a start.
///
/// `program` is the file that is executed; argument 0 is the name as the spec has it. The counts of
/// `start` are replaced by those of `spec`.
pub(super) fn write(out: &mut Vec<u8>, spec: &Spec, program: &Path, start: Start<'_>) {
    let head = Start { n_args: spec.args.len() + 1, n_env: spec.env.iter().count(), ..start };
    head.write_head(out);
    let mut put = |piece: &[u8]| {
        out.extend_from_slice(piece);
        out.push(0);
    };
    put(spec.working_dir.as_os_str().as_bytes());
    put(program.as_os_str().as_bytes());
    put(spec.program.as_os_str().as_bytes());
    for arg in &spec.args {
        put(arg.as_bytes());
    }
    for (name, value) in spec.env.iter() {
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(value.as_bytes());
        out.push(0);
    }
}

/// A start with these bounds, and the deadline of its spec.
///
/// Numbers that do not fit become "none" for the deadline and the largest value for the grace.
pub(super) fn bounded(flags: StartFlags, spec: &Spec, plan: &Plan) -> Start<'static> {
    let (bounds, n_bounds) = plan.all_bounds();
    let Plan { cpu_ns, memory_bytes, .. } = *plan;
    let deadline = spec.deadline.map(|it| it.saturating_add(CLOCK_MARGIN).as_nanos());
    let grace = spec.grace.map_or(0, |it| it.as_millis());
    Start {
        flags,
        cpu_ns,
        memory_bytes,
        // A deadline beyond the clock's range is none.
        deadline_ns: deadline.and_then(|it| u64::try_from(it).ok()).unwrap_or(0),
        grace_ms: u32::try_from(grace).unwrap_or(u32::MAX),
        bounds,
        n_bounds,
        n_args: 0,
        n_env: 0,
        text: &[],
    }
}
