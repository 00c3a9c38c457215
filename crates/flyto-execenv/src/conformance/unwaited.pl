# unwaited.pl N WORD: says WORD, then has N children use 300 ms of CPU time each, one after the other. The kernel
# reaps them, since their parent ignores SIGCHLD (wait(2)).
use strict;
use warnings;

my ($n_children, $word) = @ARGV;
$| = 1;
print "$word\n";
$SIG{CHLD} = 'IGNORE';
for (1 .. $n_children) {
    my $child = fork;
    die "fork: $!" if !defined $child;
    if ($child == 0) {
        my ($n, @times) = (0, 0, 0);
        while ($times[0] + $times[1] < 0.3) {
            $n++ for 1 .. 20_000;
            @times = times;
        }
        exit 0;
    }
    # It returns once the child has ended, without its time.
    wait;
}
