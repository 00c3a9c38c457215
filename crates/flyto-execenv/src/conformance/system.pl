# What takes a system call to see. Nothing but what perl itself comes with, on Linux; elsewhere nothing
# comes off. Each but the last says `done` or `failed`.
#
# vsock      makes a socket to the machine that this one runs on (vsock(7))
# ring       makes a ring for system calls (io_uring(7))
# trace PID  traces a process that is no relative of this one (ptrace(2)), and lets go of it
# stay       may be traced by everybody of its user; says who it is, and stays for 100 s

use strict;
use Config;
use Socket;

$| = 1;
my ($what, $id) = @ARGV;
# Numbers of ptrace(2) and prctl(2). Those of newer calls are the same everywhere.
my ($ptrace, $prctl) =
    $Config{archname} =~ /^x86_64/ ? (101, 157)
    : $Config{archname} =~ /^(aarch64|riscv64|loongarch64)/ ? (117, 167)
    : ();

sub comes_off {
    return 0 if $^O ne 'linux';
    if ($what eq 'vsock') {
        return socket(my $socket, 40, SOCK_STREAM, 0);
    }
    if ($what eq 'ring') {
        my $parameters = "\0" x 120;
        return syscall(425, 1, $parameters) >= 0;
    }
    # A number may be another process's here.
    return 0 if !$ptrace || $id == $$ || $id == getppid;
    # PTRACE_SEIZE
    return syscall($ptrace, 0x4206, $id + 0, 0, 0) == 0;
}

if ($what eq 'stay') {
    # PR_SET_PTRACER, where Yama would let its ancestors alone.
    syscall($prctl, 0x59616d61, -1, 0, 0, 0) if $prctl;
    print "$$\nready\n";
    sleep 100;
} else {
    print comes_off() ? "done\n" : "failed\n";
}
