//! From a record to a process.

use core::ptr::null;

use flyto_supervision::{Stage, Start, StartFlags};

use crate::{
    bare::{
        child::{Cgroup, Failed, ProcessGroup, Image, Launch},
        sys::{self, errno, number},
    },
    memory::Pages,
    process::Descriptor,
    setup::SupervisorContext,
};

/// Arguments and variables for which there is room without asking the system.
const FEW: usize = 512;

/// How long a start is tried again while the program's file is open for writing: 100 ms in all, in
/// microseconds. A process that is just starting a program can hold such a descriptor for an instant.
const BUSY_WAITS_US: [u64; 7] = [500, 1_000, 3_000, 8_000, 15_000, 25_000, 48_000];

/// Prepares the start of a program with these streams, and lends it to `run`; the fourth descriptor, if
/// it is asked for, is its image.
pub(crate) fn with_launch<T>(
    context: &SupervisorContext,
    start: &Start<'_>,
    descriptors: &[i32],
    run: impl FnOnce(&Launch<'_>) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let bad = Failed { stage: Stage::Message, errno: errno::BADMSG };
    let (Some(streams), image) = (descriptors.first_chunk::<3>(), descriptors.get(3)) else {
        return Err(bad);
    };
    let mut few = [null(); FEW];
    let mut many;
    let wanted = start.n_args + start.n_env + 2;
    let pointers = if wanted <= FEW {
        &mut few[..]
    } else {
        let bytes = wanted * size_of::<*const u8>();
        many = Pages::new(bytes).map_err(|errno| Failed { stage: Stage::Memory, errno })?;
        many.pointers()
    };

    // The record was checked to have as many pieces as it says.
    let mut pieces = start.text.split_inclusive(|it| *it == 0).map(<[u8]>::as_ptr);
    let (Some(dir), Some(path)) = (pieces.next(), pieces.next()) else { return Err(bad) };
    // The strings end with NUL bytes and the arrays with null pointers, which the zeroed rest of each is.
    let (args, env) = pointers.split_at_mut(start.n_args + 1);
    for (slot, piece) in args.iter_mut().take(start.n_args).zip(&mut pieces) {
        *slot = piece;
    }
    for (slot, piece) in env.iter_mut().take(start.n_env).zip(&mut pieces) {
        *slot = piece;
    }
    let has = |flag| start.flags.has(flag);
    run(&Launch {
        image: match (has(StartFlags::IMAGE), image) {
            (true, Some(fd)) => Image::Descriptor(*fd),
            (true, None) => return Err(bad),
            (false, _) => Image::Path(path),
        },
        args: args.as_ptr(),
        env: env.as_ptr(),
        dir,
        streams: *streams,
        fourth: None,
        pgrp: if has(StartFlags::NEW_SESSION) { ProcessGroup::Session } else { ProcessGroup::Own },
        bounds: start.bounds.get(..start.n_bounds).unwrap_or_default(),
        // SAFETY: asks for a number.
        ends_with: unsafe { sys::numbers(number::GETPID, &[]) }.ok().map(|it| it as i32),
        no_new_privs: false,
        ruleset: context.inner_ruleset,
        cgroup: context
            .cgroup
            .map(|dir| Cgroup { dir, members: context.members.as_ref().map_or(-1, Descriptor::fd) }),
        members: None,
        cookie: context.cookie,
        is_clean: true,
        busy_waits_us: &BUSY_WAITS_US,
    })
}
