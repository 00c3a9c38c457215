//! The entry point and three system calls, for programs that are linked with no library at all.
//!
//! Such a program starts as fast as any can: no loader, no C library, no runtime. What a benchmark
//! measures beside it is the cost of running a program, not of the program.

#![allow(dead_code, reason = "each program needs a part of it")]

use core::{
    arch::{asm, global_asm},
    mem::MaybeUninit,
};

#[cfg(target_arch = "x86_64")]
mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const EXIT_GROUP: usize = 231;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const EXIT_GROUP: usize = 94;
}

// The kernel starts a program with its arguments on the stack and no return address (System V ABI,
// "Process Initialization"), which no Rust function expects. The program's `run` gets their place.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "mov rdi, rsp",
    "and rsp, -16",
    "call {run}",
    run = sym crate::run
);
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".globl _start",
    "_start:",
    "mov x29, xzr",
    "mov x0, sp",
    "bl {run}",
    run = sym crate::run
);

/// # Safety
///
/// The arguments must be right for the system call with this number.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize) -> isize {
    let res;
    // SAFETY: the kernel changes rax, rcx and r11 only (syscall(2)); memory is the caller's concern.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => res,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    res
}

/// # Safety
///
/// The arguments must be right for the system call with this number.
#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize) -> isize {
    let res;
    // SAFETY: the kernel changes x0 only (syscall(2)); memory is the caller's concern.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => res,
            in("x1") b,
            in("x2") c,
            options(nostack)
        );
    }
    res
}

/// Reads once from standard input into `buffer` and returns what was read; nothing at the end and
/// on an error.
///
/// The buffer is uninitialised because filling it would need `memset`, which no library is there to
/// provide.
pub fn read(buffer: &mut [MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: the kernel writes at most `len` bytes into a slice that is ours to write.
    let n = unsafe { call(number::READ, 0, buffer.as_mut_ptr() as usize, buffer.len()) };
    let n = usize::try_from(n).unwrap_or(0).min(buffer.len());
    // SAFETY: the kernel has written the first `n` bytes of the slice.
    unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast(), n) }
}

/// Writes all of `bytes` to standard output; ends the program where that is not possible.
pub fn write_all(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the kernel only reads the slice.
        let n = unsafe { call(number::WRITE, 1, bytes.as_ptr() as usize, bytes.len()) };
        match usize::try_from(n) {
            Ok(n) if n > 0 => bytes = bytes.get(n..).unwrap_or_default(),
            _ => exit(1),
        }
    }
}

/// Ends the program.
pub fn exit(code: usize) -> ! {
    loop {
        // SAFETY: exit_group(2) takes any number, and nothing runs after it.
        unsafe { call(number::EXIT_GROUP, code, 0, 0) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(101)
}
