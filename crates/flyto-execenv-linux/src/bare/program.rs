//! A program as a child of the host, as safe calls: types say what each side owns.
//!
//! [`start`] and [`try_reap`] are the two ends of a child of the host. Between them lies a pidfd,
//! which is owned as any descriptor, and a number, which is the child's until it is reaped.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    time::Duration,
};

use flyto_supervision::Bound;

use super::{
    child::{self, Failed, Image, Launch, ProcessGroup},
    sys::{self, Cookie, Errno, address, int, number},
};

/// The strings that a child needs: each ends with a NUL byte, and all lie in one block.
///
/// Made before the start, since the child may not allocate. One block for all of them, so that a
/// large environment costs one allocation.
#[derive(Debug)]
pub(crate) struct Strings {
    text: Vec<u8>,
    /// Where each begins: the file, the directory, the arguments, nothing, the variables, nothing.
    starts: Vec<Option<usize>>,
    n_args: usize,
}

/// Strings ahead of the arguments.
const BEFORE_ARGS: usize = 2;

impl Strings {
    /// Collects them. A NUL byte ends a string early.
    ///
    /// `env` is called three times, and must give the same variables each time.
    pub(crate) fn new<'a, E>(
        file: &'a OsStr,
        dir: &'a OsStr,
        args: impl Iterator<Item = &'a OsStr> + Clone,
        env: impl Fn() -> E,
    ) -> Self
    where
        E: Iterator<Item = (&'a OsStr, &'a OsStr)>,
    {
        let n_args = args.clone().count();
        let of_args = args.clone().map(|it| it.len() + 1).sum::<usize>();
        let of_env = env().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>();
        let mut res = Self {
            text: Vec::with_capacity(file.len() + dir.len() + 2 + of_args + of_env),
            starts: Vec::with_capacity(BEFORE_ARGS + n_args + env().count() + 2),
            n_args,
        };
        for one in [file, dir].into_iter().chain(args) {
            res.push(&[one]);
        }
        res.starts.push(None);
        for (name, value) in env() {
            res.push(&[name, OsStr::new("="), value]);
        }
        res.starts.push(None);
        res
    }

    /// A string of several parts, with its zero byte.
    fn push(&mut self, parts: &[&OsStr]) {
        self.starts.push(Some(self.text.len()));
        for part in parts {
            self.text.extend_from_slice(part.as_bytes());
        }
        self.text.push(0);
    }

    /// Where they are, in the order of `starts`.
    fn pointers(&self) -> Vec<*const u8> {
        let of = |start: &Option<usize>| match start {
            Some(at) => self.text[*at..].as_ptr(),
            None => std::ptr::null(),
        };
        self.starts.iter().map(of).collect()
    }
}

/// What a host asks for.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// With the path of the program, which counts unless there is an `image`.
    pub(crate) strings: &'a Strings,
    /// The program itself.
    pub(crate) image: Option<BorrowedFd<'a>>,
    /// What becomes descriptors 0, 1 and 2. All are 3 or greater.
    pub(crate) streams: [BorrowedFd<'a>; 3],
    /// The leader's own process group, or that of this process.
    pub(crate) pgrp: ProcessGroup,
    /// In force before the program's first instruction.
    pub(crate) bounds: &'a [Bound],
}

/// A process that has its program, or is dead already. It has not been reaped.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
}

/// Starts a process. It blocks until its program is in place.
///
/// # Errors
///
/// The step that failed. Nothing of the program ran, and the child is reaped.
pub(crate) fn start(request: &Request<'_>) -> Result<Started, Failed> {
    let Request { strings, image, streams, pgrp, bounds } = request;
    let pointers = strings.pointers();
    let args = &pointers[BEFORE_ARGS..];
    let env = &args[strings.n_args + 1..];
    let launch = Launch {
        image: image.map_or(Image::Path(pointers[0]), |it| Image::Descriptor(it.as_raw_fd())),
        args: args.as_ptr(),
        env: env.as_ptr(),
        dir: pointers[1],
        streams: streams.map(|it| it.as_raw_fd()),
        fourth: None,
        pgrp: *pgrp,
        bounds,
        ends_with: None,
        no_new_privs: false,
        ruleset: None,
        cgroup: None,
        members: None,
        cookie: Cookie::default(),
        is_clean: false,
        busy_waits_us: &[],
    };
    // SAFETY: each string ends with a NUL byte, each list with a null pointer, and they live in
    // `strings` and `pointers` until the end of this function; the borrowed descriptors are open.
    let child::Child { pid, pidfd } = unsafe { child::start(&launch) }?;
    // SAFETY: the kernel has just opened it for us, and no other code knows of it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Started { pid, pidfd })
}

/// How a process ended, and what it used together with the children that it waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reaped {
    /// As wait(2) encodes it.
    pub(crate) status: u32,
    pub(crate) user_cpu: Duration,
    pub(crate) system_cpu: Duration,
    /// The largest of them; its memory before it executed a program counts too.
    pub(crate) max_rss_bytes: u64,
}

/// Reaps our child `pid`; `None` while it runs.
///
/// Reaps this child and no other.
///
/// # Errors
///
/// `ECHILD` where it is no child of this process any more.
///
/// # Panics
///
/// `pid` is not above zero.
pub(crate) fn try_reap(pid: i32) -> Result<Option<Reaped>, Errno> {
    // Others name process groups of children.
    assert!(pid > 0, "a process id is above zero");
    let mut status = 0_u32;
    let mut usage = RawUsage::default();
    // SAFETY: the kernel writes a number and a `struct rusage`, for which there is room.
    let res = unsafe {
        let (status, usage) = (address(&raw mut status), address(&raw mut usage));
        sys::call(number::WAIT4, [int(pid), status, WNOHANG, usage, 0, 0])
    };
    match res {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(Reaped {
            status,
            user_cpu: usage.duration(0),
            system_cpu: usage.duration(2),
            max_rss_bytes: usage.max_rss_bytes(),
        })),
        Err(errno) => Err(errno),
    }
}

/// The most memory that this process has had resident.
///
/// [`u64::MAX`] where the system does not tell.
pub(crate) fn own_peak_bytes() -> u64 {
    let mut usage = RawUsage::default();
    // SAFETY: the kernel writes a `struct rusage`, for which there is room.
    let res = unsafe { sys::numbers(number::GETRUSAGE, &[RUSAGE_SELF, address(&raw mut usage)]) };
    // It fails for bad arguments only.
    if res.is_ok() { usage.max_rss_bytes() } else { u64::MAX }
}

const WNOHANG: usize = 1;
const RUSAGE_SELF: usize = 0;

/// `struct rusage` (getrusage(2)): seconds and microseconds of user time, the same of system time, then
/// the peak of resident memory in KiB, and thirteen more.
#[repr(C)]
#[derive(Debug, Default)]
struct RawUsage([u64; 18]);

impl RawUsage {
    /// The time that begins at this field.
    fn duration(&self, at: usize) -> Duration {
        Duration::from_secs(self.0[at]) + Duration::from_micros(self.0[at + 1])
    }

    fn max_rss_bytes(&self) -> u64 {
        self.0[4] * 1024
    }
}

/// Closes descriptors 0, 1 and 2 of this process, for a test that has the process for itself.
#[cfg(test)]
pub(crate) fn close_own_streams() {
    for fd in 0..3 {
        // SAFETY: no value owns them; what they lead to is used by their numbers.
        unsafe { child::close(fd) };
    }
}

#[cfg(test)]
mod tests {
    use super::{sys::errno, *};

    #[test]
    fn strings_come_back_as_they_were_given() {
        let of = |it: &'static str| OsStr::new(it);
        let args = ["tool", "", "ä b"].map(of);
        let env = [(of("A"), of("")), (of("B"), of("x=y"))];
        let strings = Strings::new(of("/bin/tool"), of("/"), args.into_iter(), || env.into_iter());
        let ends = strings.text.iter().filter(|it| **it == 0).count();
        let shown = String::from_utf8(strings.text.clone()).expect("as given").replace('\0', "|");
        assert_eq!(shown, "/bin/tool|/|tool||ä b|A=|B=x=y|");
        assert_eq!((ends, strings.text.capacity()), (7, strings.text.len()));
        let is_null: Vec<_> = strings.pointers().iter().map(|it| it.is_null()).collect();
        assert_eq!(is_null, [false, false, false, false, false, true, false, false, true]);
    }

    #[test]
    fn the_kernel_writes_no_more_than_there_is_room_for() {
        // A place beyond it shows what was written.
        let mut usage = [u64::MAX; 24];
        // SAFETY: there is room for a `struct rusage` and more.
        let res =
            unsafe { sys::numbers(number::GETRUSAGE, &[RUSAGE_SELF, address(&raw mut usage)]) };
        assert!(res.is_ok());
        let written = usage.iter().position(|it| *it == u64::MAX);
        assert_eq!(written.map(|it| it * 8), Some(size_of::<RawUsage>()));
    }

    #[test]
    fn this_process_has_some_memory() {
        assert!((1..u64::MAX).contains(&own_peak_bytes()));
        assert_eq!(try_reap(std::process::id() as i32).map(|_| ()), Err(errno::CHILD));
    }
}
