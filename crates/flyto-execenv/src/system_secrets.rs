//! What a system keeps from all users but root: hashes of passwords, and keys of the machine.
//!
//! [`SYSTEM_SECRETS`] is data. File permissions close these places to other users, so the sandbox profiles close them
//! only where this process can read one: as root, mostly. Closing a file costs its directory: `/etc` cannot be
//! listed then, and a file that is made there later stays closed (see [`Isolation::denied`](crate::Isolation::denied)).

use std::fs::File;

/// The places, with what documents them.
#[rustfmt::skip] // One row a line reads as the table it is.
pub const SYSTEM_SECRETS: &[(&str, &str)] = &[
    ("/etc/shadow", "shadow(5)"),
    ("/etc/shadow-", "shadow(5)"),
    ("/etc/gshadow", "gshadow(5)"),
    ("/etc/gshadow-", "gshadow(5)"),
    ("/etc/master.passwd", "master.passwd(5) of the BSDs"),
    ("/etc/security/opasswd", "pam_pwhistory(8)"),
    ("/etc/krb5.keytab", "https://web.mit.edu/kerberos/krb5-latest/doc/basic/keytab_def.html"),
    ("/etc/ssh/ssh_host_dsa_key", "sshd(8)"),
    ("/etc/ssh/ssh_host_ecdsa_key", "sshd(8)"),
    ("/etc/ssh/ssh_host_ed25519_key", "sshd(8)"),
    ("/etc/ssh/ssh_host_rsa_key", "sshd(8)"),
    ("/etc/ssl/private", "the usual place for keys of servers on Debian"),
    ("/etc/wireguard", "wg-quick(8)"),
];

/// Whether this process can read one of them.
pub(crate) fn can_read_any() -> bool {
    SYSTEM_SECRETS.iter().any(|(path, _)| File::open(path).is_ok())
}
