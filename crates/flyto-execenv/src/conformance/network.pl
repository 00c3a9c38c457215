# Both ends of what isolation of the network is about. Nothing but what perl itself comes with.
#
# serve DIR           listens on this machine, says where, and prints what it hears and on what
# reach TCP UDP NAMED ABSTRACT DIR TEXT   sends the text to each of these, as far as it can
# ask HOST PORT TEXT  sends the text there, by the proxy that the environment names, if it names one

use strict;
use Socket;

$| = 1;
# Whoever is cut off goes on to the next way.
$SIG{PIPE} = 'IGNORE';
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
    # Calls in PID namespaces have the same numbers.
    my $abstract = "flyto-$$-" . int rand 2**48;
    my %sockets = (
        tcp => bound(PF_INET, SOCK_STREAM, pack_sockaddr_in(0, $here)),
        udp => bound(PF_INET, SOCK_DGRAM, pack_sockaddr_in(0, $here)),
        # The same as the first, for what is let through.
        named => bound(PF_INET, SOCK_STREAM, pack_sockaddr_in(0, $here)),
        unix => bound(PF_UNIX, SOCK_STREAM, pack_sockaddr_un("$dir/socket")),
    );
    # Names without a file are Linux's.
    $sockets{abstract} = bound(PF_UNIX, SOCK_STREAM, pack_sockaddr_un("\0$abstract")) if $^O eq 'linux';
    my @ports = map { (unpack_sockaddr_in(getsockname $sockets{$_}))[0] } qw(tcp udp named);
    print join(' ', sort keys %sockets), "\n@ports $abstract\nready\n";
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
    my ($tcp, $udp, $named, $abstract, $dir, $text) = @_;
    my @ways = (
        [PF_INET, SOCK_STREAM, pack_sockaddr_in($tcp, $here)],
        [PF_INET, SOCK_DGRAM, pack_sockaddr_in($udp, $here)],
        [PF_INET, SOCK_STREAM, pack_sockaddr_in($named, $here)],
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

sub ask {
    my ($host, $port, $text) = @_;
    my ($proxy) = grep { $_ } @ENV{qw(https_proxy HTTPS_PROXY all_proxy ALL_PROXY)};
    my @next = ($host, $port);
    if ($proxy) {
        @next = $proxy =~ m{^http://([\w.-]+):(\d+)/?$} or die "no proxy: $proxy\n";
    }
    my $address = inet_aton($next[0]) or return;
    my $socket;
    socket($socket, PF_INET, SOCK_STREAM, 0) or return;
    connect($socket, pack_sockaddr_in($next[1], $address)) or return;
    if ($proxy) {
        syswrite($socket, "CONNECT $host:$port HTTP/1.1\r\nHost: $host:$port\r\n\r\n");
        my $head = '';
        until ($head =~ /\r\n\r\n/) {
            sysread($socket, $head, 1, length $head) or return;
        }
        return if $head !~ m{^HTTP/1\.\d 200 };
    }
    syswrite($socket, "$text\n");
    # The other side closes once it has read that.
    shutdown($socket, 1);
    1 while sysread($socket, my $rest, 1000);
}

my %ways = (serve => \&serve, reach => \&reach, ask => \&ask);
$ways{$what}->(@args);
