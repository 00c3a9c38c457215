# What takes a system call to see. Nothing but what perl itself comes with, on Linux; elsewhere nothing
# comes off. Each but the last says `done` or `failed`.
#
# vsock      makes a socket to the machine that this one runs on (vsock(7))
# ring       makes a ring for system calls (io_uring(7))
# set-id DIR gives a file in DIR a mode with which it runs as its owner or its group, in whatever way works
# mode DIR   gives a file in DIR an ordinary mode
# trace PID  traces a process that is no relative of this one (ptrace(2)), and lets go of it
# stay       may be traced by everybody of its user; says who it is, and stays for 100 s

use strict;
use Config;
use Fcntl;
use Socket;

$| = 1;
# A process, or a directory.
my ($what, $id) = @ARGV;
# Numbers of ptrace(2) and prctl(2). Those of newer calls are the same everywhere.
my ($ptrace, $prctl) =
    $Config{archname} =~ /^x86_64/ ? (101, 157)
    : $Config{archname} =~ /^(aarch64|riscv64|loongarch64)/ ? (117, 167)
    : ();

# Makes a new file with a mode in one of several ways; says which bits of the mode it got.
sub mode_of {
    my ($way, $mode) = @_;
    my $file = "$id/$way";
    my $flags = O_WRONLY | O_CREAT | O_EXCL;
    if ($way eq 'open') {
        sysopen(my $it, $file, $flags, $mode);
    } elsif ($way eq 'mknod') {
        # S_IFREG, by mknodat(2) or what came before it
        $ptrace == 101 ? syscall(133, $file, 0100000 | $mode, 0) : syscall(33, -100, $file, 0100000 | $mode, 0)
            if $ptrace;
    } else {
        sysopen(my $it, $file, $flags, 0600) or die "$file: $!";
        $way eq 'chmod' ? chmod($mode, $file) : chmod($mode, $it);
    }
    my $got = (stat $file)[2] // 0;
    unlink $file;
    return $got & $mode;
}

sub comes_off {
    if ($what eq 'set-id') {
        umask 0;
        for my $way ('open', 'mknod', 'chmod', 'fchmod') {
            for my $mode (04700, 02700, 06700) {
                return 1 if mode_of($way, $mode) & 06000;
            }
        }
        return 0;
    }
    if ($what eq 'mode') {
        umask 0;
        return mode_of('open', 0750) == 0750 && mode_of('chmod', 01751) == 01751;
    }
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
