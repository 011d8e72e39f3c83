//! The listening sockets of the null server.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};

use nix::sys::socket::{self, Backlog};

use super::options::Options;

/// Listens on the requested number of ports: consecutive ports if the options give the first one, otherwise any free
/// ports.
pub fn listen(options: &Options) -> io::Result<Vec<TcpListener>> {
    let wrong = |error| io::Error::other(format!("cannot listen on {}: {error}", options.listen));
    let resolved = options.listen.to_socket_addrs().map_err(wrong)?.next();
    let first = resolved.ok_or_else(|| wrong(io::ErrorKind::NotFound.into()))?;
    let each = (0..options.ports).map(|number| {
        let address = following(first, number)?;
        bind(address)
            .map_err(|error| io::Error::other(format!("cannot listen on {address}: {error}")))
    });
    each.collect()
}

/// Binds a listening socket. The standard library limits the accept queue to 128 connections, which would overflow if
/// many clients connect at once. This function uses the limit of the system instead.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    socket::listen(&listener, Backlog::MAXALLOWABLE)?;
    Ok(listener)
}

fn following(first: SocketAddr, number: u16) -> io::Result<SocketAddr> {
    let mut address = first;
    if first.port() != 0 {
        let beyond = || {
            io::Error::other(format!(
                "there are fewer ports from {first} on than requested"
            ))
        };
        address.set_port(first.port().checked_add(number).ok_or_else(beyond)?);
    }
    Ok(address)
}

/// Returns the listening sockets of one thread. Each socket gets at least one thread; additional threads share sockets.
pub fn of_thread(
    listeners: &[TcpListener],
    thread: usize,
    threads: usize,
) -> io::Result<Vec<TcpListener>> {
    let count = listeners.len();
    let own = (0..count).filter(|listener| listener % threads == thread % count.min(threads));
    own.map(|listener| listeners[listener].try_clone())
        .collect()
}

/// Prints one line for each port on which the server listens.
pub fn announce(listeners: &[TcpListener]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for listener in listeners {
        writeln!(out, "listening on {}", listener.local_addr()?)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(ports: usize, threads: usize) -> Vec<Vec<u16>> {
        let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port");
        let listeners: Vec<_> = (0..ports).map(bind).collect();
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let number = |wanted: u16| {
            listeners
                .iter()
                .position(|listener| port(listener) == wanted)
        };
        let of_one = |thread| {
            let own = of_thread(&listeners, thread, threads).expect("copies");
            let numbers = own
                .iter()
                .map(|listener| number(port(listener)).expect("one of them") as u16);
            numbers.collect()
        };
        (0..threads).map(of_one).collect()
    }

    #[test]
    fn each_port_has_a_thread_and_each_thread_a_port() {
        assert_eq!(shares(1, 3), [[0], [0], [0]]);
        assert_eq!(shares(2, 3), [[0], [1], [0]]);
        assert_eq!(shares(3, 3), [[0], [1], [2]]);
        assert_eq!(shares(3, 2), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn ports_follow_the_one_that_was_named() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let third = following(address("127.0.0.1:8080"), 2).expect("a port");
        assert_eq!(third, address("127.0.0.1:8082"));
        assert_eq!(
            following(address("[::1]:0"), 2).expect("any"),
            address("[::1]:0")
        );
        assert!(following(address("127.0.0.1:65535"), 1).is_err());
    }
}
