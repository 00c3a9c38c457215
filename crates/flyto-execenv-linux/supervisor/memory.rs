//! Memory: one buffer for messages, pages for what is larger, and what compilers expect of a C library.

use core::{mem::MaybeUninit, slice};

use crate::bare::sys::{self, Errno, address, int, number};

/// Bytes of a message that fit: the host sends a larger record as a file.
pub(crate) const BUFFER_BYTES: usize = 32 * 1024;

/// A place for one message.
pub(crate) struct Buffer(MaybeUninit<[u8; BUFFER_BYTES]>);

impl Buffer {
    pub(crate) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// The first `n` bytes.
    ///
    /// # Safety
    ///
    /// The kernel has written them.
    pub(crate) unsafe fn filled(&self, n: usize) -> &[u8] {
        // SAFETY: the caller's promise; the length is cut to the buffer's.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), n.min(BUFFER_BYTES)) }
    }
}

/// Pages of our own, gone when dropped.
pub(crate) struct Pages {
    at: usize,
    bytes: usize,
}

const READ_WRITE: usize = 3;
const PRIVATE: usize = 2;
const ANONYMOUS: usize = 0x20;

impl Pages {
    /// Zeroed memory.
    pub(crate) fn new(bytes: usize) -> Result<Self, Errno> {
        Self::map(bytes, PRIVATE | ANONYMOUS, -1)
    }

    /// The content of a file, as a copy of our own.
    pub(crate) fn of_file(fd: i32, bytes: usize) -> Result<Self, Errno> {
        Self::map(bytes, PRIVATE, fd)
    }

    fn map(bytes: usize, flags: usize, fd: i32) -> Result<Self, Errno> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that is there.
        let at = unsafe { sys::call(number::MMAP, [0, bytes, READ_WRITE, flags, int(fd), 0])? };
        Ok(Self { at, bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped, readable, initialised by the kernel, and ours as long as `self` is.
        unsafe { slice::from_raw_parts(self.at as *const u8, self.bytes) }
    }

    /// The same memory as room for pointers.
    pub(crate) fn pointers(&mut self) -> &mut [*const u8] {
        // SAFETY: any bytes are a pointer.
        unsafe { self.as_mut_slice() }
    }

    /// The same memory as room for values of a type.
    ///
    /// # Safety
    ///
    /// What the memory holds, zeroes at first, are values of that type.
    pub(crate) unsafe fn as_mut_slice<T>(&mut self) -> &mut [T] {
        let n = self.bytes / size_of::<T>();
        // SAFETY: as above, aligned to a page; the rest is the caller's promise.
        unsafe { slice::from_raw_parts_mut(self.at as *mut T, n) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our mapping, to which no reference is left.
        let _ = unsafe { sys::numbers(number::MUNMAP, &[self.at, self.bytes]) };
    }
}

/// Bytes of a file.
pub(crate) fn file_size(fd: i32) -> Result<usize, Errno> {
    // `struct stat` of x86-64 has 144 bytes; the size stands at 48.
    let mut stat = [0_u64; 18];
    // SAFETY: the kernel writes the structure, for which there is room.
    unsafe { sys::call(number::FSTAT, [int(fd), address(stat.as_mut_ptr()), 0, 0, 0, 0])? };
    usize::try_from(stat[6]).map_err(|_| sys::errno::INVAL)
}

// The compiler makes calls of these for copies, and expects the program to have them. They must not be
// written as the loops that it would turn into such calls.

/// # Safety
///
/// As memcpy(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    // SAFETY: the caller's promise; `rep movsb` changes these registers only.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
    to
}

/// # Safety
///
/// As memmove(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= n {
        // SAFETY: the caller's promise; copying forwards is right for this order.
        return unsafe { memcpy(to, from, n) };
    }
    let mut i = n;
    while i > 0 {
        i -= 1;
        // SAFETY: within what the caller promised. Volatile, so that this stays a loop.
        unsafe { to.add(i).write_volatile(from.add(i).read()) };
    }
    to
}

/// # Safety
///
/// As memset(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    // SAFETY: the caller's promise; `rep stosb` changes these registers only.
    unsafe {
        core::arch::asm!(
            "rep stosb",
            inout("rcx") n => _, inout("rdi") to => _, in("al") byte as u8,
            options(nostack, preserves_flags)
        );
    }
    to
}

/// # Safety
///
/// As memcmp(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    let mut i = 0;
    while i < n {
        // SAFETY: within what the caller promised. Volatile, so that this stays a loop.
        let (x, y) = unsafe { (a.add(i).read_volatile(), b.add(i).read_volatile()) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
        i += 1;
    }
    0
}

/// # Safety
///
/// As bcmp(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { memcmp(a, b, n) }
}
