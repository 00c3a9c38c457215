//! The supervisor: runs one program at a time and outlives none of its descendants.
//!
//! It is linked with no library at all, so that it starts in the time of a system call, has a few
//! pages of memory, and can share them with a child that it starts (vfork(2)) without a rule of any
//! runtime being broken. It has one thread and one descriptor that matters: a socket to its host.
//!
//! - It is the *subreaper* of everything it starts (prctl(2)): orphans are re-parented to
//!   it, so nothing can leave it, and an empty child list proves that the tree is gone.
//! - The end of file on its socket, or the end of the host's process, means that the host is gone,
//!   however that happened. Then it ends everything and itself.
//!
//! What a host may ask is in the crate `flyto-supervision`.
#![no_std]
#![no_main]

#[path = "../src/bare/mod.rs"]
mod bare;
mod cpu;
mod end;
mod files;
mod memory;
mod mounts;
mod network;
mod process;
mod serve;
mod setup;
mod shared_memory;
mod socket;
mod start;
mod tree;
mod trial;

use flyto_supervision::{Order, Report, ReportKind, Setup, Stage};

use self::{
    bare::{
        child::Failed,
        sys::{self, number},
    },
    memory::Buffer,
    process::Descriptor,
    socket::Received,
};

// The kernel starts a program with its arguments on the stack and no return address (System V ABI,
// "Process Initialization"), which no Rust function expects.
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {run}",
    "ud2",
    run = sym run
);

extern "C" fn run() -> ! {
    process::prepare();
    let host = process::watch_host();
    let host_fd = host.as_ref().map_or(-1, Descriptor::fd);
    let mut buffer = Buffer::new();
    if socket::prepare().is_err() {
        exit(1);
    }
    let setup = match socket::receive(&mut buffer, host_fd) {
        Received::Message(message) => match Setup::read(message.record) {
            Some(setup) => setup::enter(&setup, message.descriptors, host_fd),
            None => Err(Failed { stage: Stage::Message, errno: sys::errno::BADMSG }),
        },
        Received::HungUp => exit(0),
    };
    let mut context = match setup {
        Ok(context) => context,
        Err(failed) => {
            socket::report(&Report { serves_on: false, ..failure(failed) });
            exit(1);
        }
    };
    socket::report_with(&Report::new(ReportKind::Ready), context.listener.as_ref().map(|it| it.fd()));
    // The host alone has it now.
    drop(context.listener.take());
    loop {
        match socket::receive(&mut buffer, host_fd) {
            // An order that crossed with the report of the end.
            Received::Message(message) if Order::read(message.record).is_some() => {}
            Received::Message(message) => serve::serve(&context, message),
            Received::HungUp => exit(0),
        }
    }
}

fn failure(failed: Failed) -> Report {
    Report { stage: failed.stage, errno: failed.errno, ..Report::new(ReportKind::Failed) }
}

fn exit(code: usize) -> ! {
    loop {
        // SAFETY: ends this process, and nothing runs after it.
        let _ = unsafe { sys::numbers(number::EXIT_GROUP, &[code]) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(101)
}

/// The compiled core library names it for unwinding, which this program does not do.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
