# Both ends of what isolation of the network is about. Nothing but what perl itself comes with.
#
# serve DIR           listens on this machine, says where, and prints what it hears and on what
# reach TCP UDP ABSTRACT DIR TEXT   sends the text to each of these, as far as it can

use strict;
use Socket;

$| = 1;
my ($what, @args) = @ARGV;
my $here = inet_aton('127.0.0.1');

sub bound {
    my ($domain, $type, $address) = @_;
    my $socket;
    socket($socket, $domain, $type, 0) && bind($socket, $address) or die "bind: $!\n";
    listen($socket, 16) if $type == SOCK_STREAM;
    return $socket;
}

sub serve {
    my ($dir) = @_;
    my $abstract = "flyto-$$-" . time;
    my %sockets = (
        tcp => bound(PF_INET, SOCK_STREAM, pack_sockaddr_in(0, $here)),
        udp => bound(PF_INET, SOCK_DGRAM, pack_sockaddr_in(0, $here)),
        unix => bound(PF_UNIX, SOCK_STREAM, pack_sockaddr_un("$dir/socket")),
    );
    # Names without a file are Linux's.
    $sockets{abstract} = bound(PF_UNIX, SOCK_STREAM, pack_sockaddr_un("\0$abstract")) if $^O eq 'linux';
    my ($tcp) = unpack_sockaddr_in(getsockname $sockets{tcp});
    my ($udp) = unpack_sockaddr_in(getsockname $sockets{udp});
    print join(' ', sort keys %sockets), "\n$tcp $udp $abstract\nready\n";
    while (1) {
        my $waiting = '';
        vec($waiting, fileno $_, 1) = 1 for values %sockets;
        select(my $readable = $waiting, undef, undef, undef);
        for my $name (sort keys %sockets) {
            next unless vec($readable, fileno $sockets{$name}, 1);
            my $text;
            if ($name eq 'udp') {
                recv($sockets{udp}, $text, 1000, 0);
            } elsif (accept(my $connection, $sockets{$name})) {
                $text = <$connection>;
            }
            chomp $text;
            print "$name $text\n";
        }
    }
}

sub reach {
    my ($tcp, $udp, $abstract, $dir, $text) = @_;
    my @ways = (
        [PF_INET, SOCK_STREAM, pack_sockaddr_in($tcp, $here)],
        [PF_INET, SOCK_DGRAM, pack_sockaddr_in($udp, $here)],
        [PF_UNIX, SOCK_STREAM, pack_sockaddr_un("$dir/socket")],
        [PF_UNIX, SOCK_STREAM, pack_sockaddr_un("\0$abstract")],
    );
    for my $way (@ways) {
        my ($domain, $type, $address) = @$way;
        my $socket;
        socket($socket, $domain, $type, 0) && connect($socket, $address) or next;
        syswrite($socket, "$text\n");
    }
}

$what eq 'serve' ? serve(@args) : reach(@args);
