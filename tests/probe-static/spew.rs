//! Writes as many bytes as its first argument says, in pieces of 64 KiB, and exits with 0.

#![no_std]
#![no_main]

mod sys;

static PIECE: [u8; 64 * 1024] = [b'x'; 64 * 1024];

extern "C" fn run(arguments: *const usize) -> ! {
    // SAFETY: the kernel puts the number of arguments first, then a pointer to each (System V ABI,
    // "Process Initialization").
    let (n_arguments, first) = unsafe { (*arguments, *arguments.add(2) as *const u8) };
    if n_arguments != 2 {
        sys::exit(2);
    }
    let mut left = 0_usize;
    let mut at = first;
    loop {
        // SAFETY: an argument ends with a NUL byte, and nothing behind it is read.
        let byte = unsafe { *at };
        match byte {
            0 => break,
            b'0'..=b'9' => left = left.saturating_mul(10).saturating_add(usize::from(byte - b'0')),
            _ => sys::exit(2),
        }
        // SAFETY: the byte at `at` was not the last one.
        at = unsafe { at.add(1) };
    }
    while left > 0 {
        let piece = PIECE.get(..left).unwrap_or(&PIECE);
        sys::write_all(piece);
        left -= piece.len();
    }
    sys::exit(0)
}
