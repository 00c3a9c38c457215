# What takes a system call to see. Nothing but what perl itself comes with, on Linux; elsewhere nothing
# comes off. Each but `share` and `stay` says `done` or `failed`.
#
# vsock      makes a socket to the machine that this one runs on (vsock(7))
# ring       makes a ring for system calls (io_uring(7))
# set-id DIR gives a file in DIR a mode with which it runs as its owner or its group, in whatever way works
# mode DIR   gives a file in DIR an ordinary mode
# trace PID  traces a process that is no relative of this one (ptrace(2)), and lets go of it
# share KEY  makes shared memory, a semaphore, a message queue with this key (sysvipc(7)) and one with a name
#            (mq_overview(7)), which outlive this program; says the numbers of the first three
# reach-memory KEY ID, reach-semaphore KEY ID, reach-queue KEY ID
#            finds one of these by its key, or changes the one with this number
# reach-named-queue KEY
#            opens the last one
# unshare KEY MEMORY SEMAPHORE QUEUE
#            removes all of them
# share-file KEY, find-file KEY, unshare-file KEY
#            makes shared memory with a name (shm_overview(7)), opens it, removes it
# stay       may be traced by everybody of its user; says who it is, and stays for 100 s

use strict;
use Config;
use Fcntl;
use Socket;

$| = 1;
# A process, a directory, or a key.
my ($what, $id, @more) = @ARGV;
# Numbers of ptrace(2), prctl(2), mq_open(3) and mq_unlink(3). Those of newer calls are the same everywhere.
my ($ptrace, $prctl, $mq_open, $mq_unlink) =
    $Config{archname} =~ /^x86_64/ ? (101, 157, 240, 241)
    : $Config{archname} =~ /^(aarch64|riscv64|loongarch64)/ ? (117, 167, 180, 181)
    : ();
# IPC_CREAT | IPC_EXCL and a mode, IPC_RMID, IPC_NOWAIT of Linux.
my ($create, $remove, $at_once) = (03600, 0, 04000);

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
    if ($what =~ /-file$/) {
        my $file = "/dev/shm/flyto-$id";
        return $what eq 'unshare-file' ? unlink($file)
            : sysopen(my $it, $file, $what eq 'find-file' ? O_RDWR : O_RDWR | O_CREAT | O_EXCL, 0600);
    }
    if ($what eq 'vsock') {
        return socket(my $socket, 40, SOCK_STREAM, 0);
    }
    if ($what eq 'ring') {
        my $parameters = "\0" x 120;
        return syscall(425, 1, $parameters) >= 0;
    }
    if ($what eq 'reach-memory') {
        return defined shmget($id, 0, 0) || shmwrite($more[0], 'x', 0, 1);
    }
    if ($what eq 'reach-semaphore') {
        return defined semget($id, 0, 0) || semop($more[0], pack('s!3', 0, 1, $at_once));
    }
    if ($what eq 'reach-queue') {
        return defined msgget($id, 0) || msgsnd($more[0], pack('l! a*', 1, 'x'), $at_once);
    }
    if ($what eq 'reach-named-queue') {
        my $name = "flyto-$id";
        return $mq_open && syscall($mq_open, $name, O_RDWR, 0, 0) >= 0;
    }
    if ($what eq 'unshare') {
        my ($memory, $semaphore, $queue) = @more;
        my $name = "flyto-$id";
        # What was not made has no number.
        my @left = grep { !$_ } (
            $memory < 0 || shmctl($memory, $remove, 0),
            $semaphore < 0 || semctl($semaphore, 0, $remove, 0),
            $queue < 0 || msgctl($queue, $remove, 0),
        );
        syscall($mq_unlink, $name) if $mq_unlink;
        return !@left;
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
} elsif ($what eq 'share') {
    my $name = "flyto-$id";
    # Where the system has none of these, there is none to be reached.
    my @made = $^O ne 'linux' ? () : (shmget($id, 16, $create), semget($id, 1, $create), msgget($id, $create));
    syscall($mq_open, $name, O_RDWR | O_CREAT | O_EXCL, 0600, 0) if $mq_open && $^O eq 'linux';
    print join(' ', map { defined $made[$_] ? $made[$_] + 0 : -1 } 0 .. 2), "\n";
} else {
    print comes_off() ? "done\n" : "failed\n";
}
