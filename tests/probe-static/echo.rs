//! Reads standard input to its end, writes it to standard output, exits with 0.

#![no_std]
#![no_main]

use core::mem::MaybeUninit;

mod sys;

extern "C" fn run(_arguments: *const usize) -> ! {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    loop {
        match sys::read(&mut buffer) {
            [] => sys::exit(0),
            bytes => sys::write_all(bytes),
        }
    }
}
