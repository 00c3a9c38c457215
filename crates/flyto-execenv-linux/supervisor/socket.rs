//! Messages with descriptors over the socket to the host (unix(7)).

use core::{cell::Cell, mem::MaybeUninit, ptr::null_mut};

use flyto_supervision::{ORDER_BYTES, Order, Report};

use crate::{
    bare::{
        child::close,
        sys::{self, Errno, address, errno, int, number},
    },
    memory::{BUFFER_BYTES, Buffer},
    process::{Descriptor, Polled, poll, sleep_ns},
};

/// The socket's descriptor: the host puts it there.
pub(crate) const SOCKET: i32 = 3;

/// How often an idle supervisor looks whether its host is alive: every 10 s. It hears the end of its socket at
/// once, but forks of the host have copies of that.
const LOOK_UP_S: u64 = 10;

/// Descriptors that one message may carry.
pub(crate) const MAX_DESCRIPTORS: usize = 8;

#[repr(C)]
struct Header {
    name: *mut u8,
    name_bytes: u32,
    vector: *mut Vector,
    vectors: usize,
    control: *mut Control,
    control_bytes: usize,
    flags: i32,
}

#[repr(C)]
struct Vector {
    base: *mut u8,
    bytes: usize,
}

/// A control message that carries descriptors (cmsg(3)).
#[repr(C, align(8))]
struct Control {
    bytes: usize,
    level: i32,
    kind: i32,
    descriptors: [i32; MAX_DESCRIPTORS],
}

const CONTROL_HEAD_BYTES: usize = 16;
const SOL_SOCKET: i32 = 1;
const SCM_RIGHTS: i32 = 1;
const SHUT_RDWR: usize = 2;
const MSG_CTRUNC: i32 = 0x8;
const MSG_DONTWAIT: usize = 0x40;
const MSG_NOSIGNAL: usize = 0x4000;
const MSG_CMSG_CLOEXEC: usize = 0x4000_0000;

/// Descriptors that came with a message, closed when dropped.
pub(crate) struct Descriptors {
    all: [i32; MAX_DESCRIPTORS],
    n: Cell<usize>,
}

impl Descriptors {
    pub(crate) fn as_slice(&self) -> &[i32] {
        self.all.get(..self.n.get()).unwrap_or_default()
    }

    /// Lends them until this process ends.
    pub(crate) fn keep(self) {
        self.n.set(0);
    }

    /// Closes all but one of them, which stays open as the caller's.
    pub(crate) fn close_but(&self, kept: i32) -> Descriptor {
        for fd in self.as_slice().iter().filter(|it| **it != kept) {
            // SAFETY: they came with the message, and go once.
            unsafe { close(*fd) };
        }
        self.n.set(0);
        // SAFETY: it came with the message, and is not among ours any more.
        unsafe { Descriptor::new(kept) }
    }

    /// Closes them: they are not used any more.
    pub(crate) fn close(&self) {
        let all = self.as_slice();
        self.n.set(0);
        if let [first, .., last] = all
            && all.is_sorted()
            && last - first == all.len() as i32 - 1
        {
            // One after the other, as the kernel gives them where no lower number is free.
            // SAFETY: they came with the message, and go once.
            let _ = unsafe { sys::numbers(number::CLOSE_RANGE, &[int(*first), int(*last), 0]) };
            return;
        }
        for fd in all {
            // SAFETY: as above.
            unsafe { close(*fd) };
        }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        self.close();
    }
}

pub(crate) struct Message<'a> {
    pub(crate) record: &'a [u8],
    pub(crate) descriptors: Descriptors,
    /// Whether descriptors were lost: this process may not have so many.
    pub(crate) is_cut: bool,
}

pub(crate) enum Received<'a> {
    Message(Message<'a>),
    /// The host is gone.
    HungUp,
}

/// Makes the socket ours alone, and has [`receive`] look up now and then. It came through an execution; all
/// descriptors that this process gets later are closed on execution from the start.
pub(crate) fn prepare() -> Result<(), Errno> {
    const F_SETFD: usize = 2;
    const FD_CLOEXEC: usize = 1;
    const SO_RCVTIMEO: usize = 20;
    let time = [LOOK_UP_S, 0];
    // SAFETY: numbers, and the kernel reads a `struct timeval`, which is on this frame.
    unsafe {
        sys::numbers(number::FCNTL, &[int(SOCKET), F_SETFD, FD_CLOEXEC])?;
        let args = [int(SOCKET), SOL_SOCKET as usize, SO_RCVTIMEO, address(&time), 16, 0];
        sys::call(number::SETSOCKOPT, args).map(drop)
    }
}

/// Waits for the next message, or for the end of the host's process, which a descriptor tells.
pub(crate) fn receive(buffer: &mut Buffer, host: i32) -> Received<'_> {
    let mut control = MaybeUninit::<Control>::zeroed();
    let mut vector = Vector { base: buffer.as_mut_ptr(), bytes: BUFFER_BYTES };
    let mut header = Header {
        name: null_mut(),
        name_bytes: 0,
        vector: &raw mut vector,
        vectors: 1,
        control: control.as_mut_ptr(),
        control_bytes: size_of::<Control>(),
        flags: 0,
    };
    let n = loop {
        // SAFETY: every pointer leads to memory of this frame or of the buffer, with its size.
        let res = unsafe {
            let args = [int(SOCKET), address(&raw mut header), MSG_CMSG_CLOEXEC, 0, 0, 0];
            sys::call(number::RECVMSG, args)
        };
        match res {
            Err(errno::INTR) => {}
            Err(errno::AGAIN) => {
                let mut polled = [Polled::readable(host)];
                poll(&mut polled, Some(0));
                if polled[0].happened != 0 {
                    return Received::HungUp;
                }
            }
            // A message has at least one byte, so none is the end of file.
            Err(_) | Ok(0) => return Received::HungUp,
            Ok(n) => break n,
        }
    };
    // SAFETY: any bytes are a control message, and it was zeroed.
    let control = unsafe { control.assume_init() };
    let is_descriptors = header.control_bytes >= CONTROL_HEAD_BYTES
        && (control.level, control.kind) == (SOL_SOCKET, SCM_RIGHTS);
    let descriptors = Descriptors {
        all: control.descriptors,
        n: Cell::new(match is_descriptors {
            true => (control.bytes.saturating_sub(CONTROL_HEAD_BYTES) / 4).min(MAX_DESCRIPTORS),
            false => 0,
        }),
    };
    // SAFETY: the kernel wrote that many.
    let record = unsafe { buffer.filled(n) };
    Received::Message(Message { record, descriptors, is_cut: header.flags & MSG_CTRUNC != 0 })
}

pub(crate) enum Asked {
    Order(Order),
    /// There was none, or something that is no order.
    Nothing,
    /// The host is gone.
    HungUp,
}

/// The next order, without waiting.
pub(crate) fn order() -> Asked {
    let mut record = [0_u8; ORDER_BYTES];
    // SAFETY: the kernel writes into the array, with its size. Descriptors are not asked for, so none
    // are made.
    let res = unsafe {
        let at = address(record.as_mut_ptr());
        // recvfrom(2)
        sys::call(45, [int(SOCKET), at, ORDER_BYTES, MSG_DONTWAIT, 0, 0])
    };
    match res {
        Ok(0) => Asked::HungUp,
        Ok(n) => record.get(..n).and_then(Order::read).map_or(Asked::Nothing, Asked::Order),
        Err(errno::INTR | errno::AGAIN) => Asked::Nothing,
        Err(_) => Asked::HungUp,
    }
}

/// Tells the host, and gives it a descriptor. One that is gone is noticed by the next receipt.
pub(crate) fn report_with(to_tell: &Report, descriptor: Option<i32>) {
    let Some(descriptor) = descriptor else { return report(to_tell) };
    let mut record = to_tell.to_bytes();
    let mut vector = Vector { base: record.as_mut_ptr(), bytes: record.len() };
    let mut control = Control {
        bytes: CONTROL_HEAD_BYTES + size_of::<i32>(),
        level: SOL_SOCKET,
        kind: SCM_RIGHTS,
        descriptors: [descriptor; MAX_DESCRIPTORS],
    };
    let header = Header {
        name: null_mut(),
        name_bytes: 0,
        vector: &raw mut vector,
        vectors: 1,
        control_bytes: control.bytes,
        control: &raw mut control,
        flags: 0,
    };
    // SAFETY: every pointer leads to memory of this frame, with its size.
    insist(|| unsafe {
        let args = [int(SOCKET), address(&raw const header), MSG_NOSIGNAL, 0, 0, 0];
        sys::call(number::SENDMSG, args)
    });
}

/// Tells the host. One that is gone is noticed by the next receipt.
pub(crate) fn report(report: &Report) {
    let record = report.to_bytes();
    // SAFETY: the kernel reads the array, with its size.
    insist(|| unsafe {
        let at = address(record.as_ptr());
        // sendto(2)
        sys::call(44, [int(SOCKET), at, record.len(), MSG_NOSIGNAL, 0, 0])
    });
}

/// How often a report is sent again that the system had no memory for, each time after twice the pause,
/// from 1 ms on: for a second altogether. Programs that hold all memory of their cgroup are ended meanwhile.
const SEND_AGAIN: u32 = 10;

/// Sends until that is done. A host that is never told would wait for ever: where it cannot be told, the
/// socket is closed, which it hears as our end, and we as its end.
fn insist(send: impl Fn() -> Result<usize, Errno>) {
    let mut pause_ns = 1_000_000;
    for _ in 0..SEND_AGAIN {
        match send() {
            Ok(_) => return,
            Err(errno::INTR) => {}
            Err(errno::NOMEM | errno::NOBUFS) => {
                sleep_ns(pause_ns);
                pause_ns *= 2;
            }
            Err(_) => break,
        }
    }
    // SAFETY: numbers.
    let _ = unsafe { sys::numbers(number::SHUTDOWN, &[int(SOCKET), SHUT_RDWR]) };
}
