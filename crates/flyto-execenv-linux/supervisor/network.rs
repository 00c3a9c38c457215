//! A network namespace with nothing in it but the way to the host.

use flyto_supervision::PROXY_PORT;

use crate::{
    bare::sys::{self, Errno, address, clone, int, number},
    process::Descriptor,
};

const AF_INET: usize = 2;
const SOCK_STREAM: usize = 1;
const SOCK_DGRAM: usize = 2;
const SOCK_CLOEXEC: usize = 0o2_000_000;

const SIOCSIFFLAGS: usize = 0x8914;
const IFF_UP: u16 = 1;

/// Connections that wait to be taken. A program that makes more tries again by itself (listen(2)).
const BACKLOG: usize = 128;

/// `struct sockaddr_in` (ip(7)).
#[repr(C)]
struct Address {
    family: u16,
    port: [u8; 2],
    address: [u8; 4],
    zero: [u8; 8],
}

/// `struct ifreq` with flags (netdevice(7)).
#[repr(C)]
struct Interface {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// Leaves the network of the machine, for this process and all that it starts. Gives a socket that listens
/// on this side.
pub(crate) fn leave() -> Result<Descriptor, Errno> {
    // SAFETY: a process with one thread.
    unsafe { sys::numbers(number::UNSHARE, &[clone::NEWNET as usize])? };
    let mut loopback = Interface { name: [0; 16], flags: IFF_UP, rest: [0; 22] };
    loopback.name[..2].copy_from_slice(b"lo");
    let any = socket(SOCK_DGRAM)?;
    let here = Address {
        family: AF_INET as u16,
        port: PROXY_PORT.to_be_bytes(),
        address: [127, 0, 0, 1],
        zero: [0; 8],
    };
    // SAFETY: the kernel reads both structures, of the sizes that it expects.
    unsafe {
        let args = [int(any.fd()), SIOCSIFFLAGS, address(&raw const loopback), 0, 0, 0];
        sys::call(number::IOCTL, args)?;
        let listener = socket(SOCK_STREAM)?;
        let args = [int(listener.fd()), address(&raw const here), size_of::<Address>(), 0, 0, 0];
        sys::call(number::BIND, args)?;
        sys::numbers(number::LISTEN, &[int(listener.fd()), BACKLOG])?;
        Ok(listener)
    }
}

fn socket(kind: usize) -> Result<Descriptor, Errno> {
    // SAFETY: makes a descriptor, which no other code has.
    unsafe {
        let fd = sys::numbers(number::SOCKET, &[AF_INET, kind | SOCK_CLOEXEC, 0])?;
        Ok(Descriptor::new(fd as i32))
    }
}
