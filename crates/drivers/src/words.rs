//! Messages for connection errors of the operating system. Each message states the cause and a next step.

use std::io;

use nix::errno::Errno;

/// Sentences for the errors of `connect(2)`, `bind(2)`, `socket(2)`, `send(2)` and `recv(2)` on Linux.
const SENTENCES: [(Errno, &str); 27] = [
    (
        Errno::ECONNREFUSED,
        "connection refused, nothing listens there: is the server up, and is the port right?",
    ),
    (
        Errno::ETIMEDOUT,
        "no answer to the connection: is the host up, and does a firewall drop packets to this port?",
    ),
    (
        Errno::EHOSTUNREACH,
        "the host is unreachable: is it up, and is its address right (ping, ip route get ADDRESS)?",
    ),
    (
        Errno::EHOSTDOWN,
        "the host is down: start it, or load another address",
    ),
    (
        Errno::ENETUNREACH,
        "the network is unreachable: this machine has no route to the address (ip route get ADDRESS)",
    ),
    (
        Errno::ENETDOWN,
        "the network interface is down: bring it up (ip link)",
    ),
    (
        Errno::ECONNRESET,
        "the connection was reset by the server: is its queue full, or does it expect another protocol at this port?",
    ),
    (
        Errno::ECONNABORTED,
        "the connection was aborted: does a firewall or proxy close it?",
    ),
    (
        Errno::EPIPE,
        "the server had closed the connection: see its log for the reason",
    ),
    (
        Errno::ENOTCONN,
        "the connection was closed while it was being established: see the log of the server for the reason",
    ),
    (
        Errno::EADDRNOTAVAIL,
        "no local port is free, or the source is not an address of this machine: widen net.ipv4.ip_local_port_range, \
         use more source addresses, or keep connections open",
    ),
    (
        Errno::EADDRINUSE,
        "every port of the source address is in use: use more source addresses, or keep connections open",
    ),
    (
        Errno::EACCES,
        "permission denied by this machine: may this user open the socket, and does a firewall rule refuse it?",
    ),
    (
        Errno::EPERM,
        "forbidden by this machine: does a firewall rule or a sandbox refuse it (nft list ruleset)?",
    ),
    (
        Errno::EMFILE,
        "no more open files for this process: raise the limit (ulimit -Hn), or load with fewer connections",
    ),
    (
        Errno::ENFILE,
        "no more open files on this machine: raise fs.file-max, or load with fewer connections",
    ),
    (
        Errno::ENOBUFS,
        "no memory for network buffers: load with fewer connections, or raise net.ipv4.tcp_mem",
    ),
    (
        Errno::ENOMEM,
        "no memory: load with fewer connections, or use a machine with more memory",
    ),
    (
        Errno::ENOENT,
        "No such file or directory: is the server up, and is the path of its socket right?",
    ),
    (
        Errno::ENOTDIR,
        "a part of the socket's path is not a directory: is the path right?",
    ),
    (
        Errno::ENOTSOCK,
        "the file at the path is not a socket: is the path right?",
    ),
    (
        Errno::EPROTOTYPE,
        "the socket does not accept streams: is the path right?",
    ),
    (
        Errno::EAGAIN,
        "the queue of the server's socket is full: raise its backlog, or load with fewer connections at once",
    ),
    (
        Errno::EAFNOSUPPORT,
        "this machine does not support the address family: load an address of the other family (IPv4, IPv6)",
    ),
    (
        Errno::EPROTONOSUPPORT,
        "this machine has no TCP: load from another machine",
    ),
    (
        Errno::EINVAL,
        "the address cannot be used: a link-local address needs its interface, and source and target must be of one \
         family",
    ),
    (
        Errno::EINTR,
        "the system interrupted the call: run the load again",
    ),
];

/// Returns a sentence that describes a connection error and gives a next step.
#[must_use]
pub fn sentence_of(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => sentence_of_number(number),
        None => match error.kind() {
            io::ErrorKind::InvalidInput => {
                "the address cannot be used: is the path of the socket too long?".to_owned()
            }
            _ => error.to_string(),
        },
    }
}

/// Returns a sentence that describes the error with this number on Linux and gives a next step.
#[must_use]
pub fn sentence_of_number(number: i32) -> String {
    let errno = Errno::from_raw(number);
    let found = SENTENCES.iter().find(|(known, _)| *known == errno);
    match found {
        Some((_, sentence)) => (*sentence).to_owned(),
        None => format!(
            "the system refuses the connection with error {number}, {}: see the logs of this machine and of the server",
            errno.desc()
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// Error kinds of Rust, each with a number of a connection error that has this kind on Linux.
    const KINDS: [(ErrorKind, Errno); 15] = [
        (ErrorKind::ConnectionRefused, Errno::ECONNREFUSED),
        (ErrorKind::TimedOut, Errno::ETIMEDOUT),
        (ErrorKind::HostUnreachable, Errno::EHOSTUNREACH),
        (ErrorKind::NetworkUnreachable, Errno::ENETUNREACH),
        (ErrorKind::NetworkDown, Errno::ENETDOWN),
        (ErrorKind::ConnectionReset, Errno::ECONNRESET),
        (ErrorKind::ConnectionAborted, Errno::ECONNABORTED),
        (ErrorKind::BrokenPipe, Errno::EPIPE),
        (ErrorKind::NotConnected, Errno::ENOTCONN),
        (ErrorKind::AddrNotAvailable, Errno::EADDRNOTAVAIL),
        (ErrorKind::AddrInUse, Errno::EADDRINUSE),
        (ErrorKind::PermissionDenied, Errno::EACCES),
        (ErrorKind::NotFound, Errno::ENOENT),
        (ErrorKind::OutOfMemory, Errno::ENOMEM),
        (ErrorKind::WouldBlock, Errno::EAGAIN),
    ];

    /// Checks that a message states the cause and a next step, and contains no raw text of a Rust error.
    fn check(sentence: &str) {
        assert!(sentence.contains(": "), "no next step: {sentence}");
        for raw in ["os error", "Errno", "Os {", "Error"] {
            assert!(!sentence.contains(raw), "{raw}: {sentence}");
        }
    }

    #[test]
    fn each_error_of_a_connection_has_a_sentence_of_its_own_with_a_next_step() {
        for (errno, sentence) in SENTENCES {
            check(sentence);
            assert_eq!(sentence_of_number(errno as i32), sentence);
            let same = SENTENCES.iter().filter(|(_, other)| *other == sentence);
            assert_eq!(same.count(), 1, "{sentence}");
        }
        for (kind, errno) in KINDS {
            let error = io::Error::from_raw_os_error(errno as i32);
            assert_eq!(error.kind(), kind);
            assert!(!sentence_of(&error).contains("refuses the connection with"));
        }
    }

    #[test]
    fn no_number_of_the_system_is_shown_raw() {
        for number in -1..200 {
            check(&sentence_of(&io::Error::from_raw_os_error(number)));
        }
        check(&sentence_of(&io::Error::from(ErrorKind::InvalidInput)));
    }
}
