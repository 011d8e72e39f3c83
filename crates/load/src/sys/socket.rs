//! Non-blocking TCP and Unix stream sockets. The source address of TCP connections can be chosen.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::mem::{offset_of, size_of};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::check;

/// Limit on the buffers that are written with one system call; further buffers are written with the next call. The
/// usual number is three: two at the end of a handshake, and one of a request.
const PIECES_AT_ONCE: usize = 16;

/// Address that a stream socket connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// IP address and TCP port.
    Tcp(SocketAddr),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Returns the TCP address; `None` for a Unix socket.
    #[must_use]
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "{address}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// A stream socket in non-blocking mode.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Begins to connect without waiting. With `source`, the connection comes from this address, and its port is any
    /// port that is free for this address.
    ///
    /// # Errors
    /// If the system refuses immediately. For Unix sockets every refusal is immediate, even if only the server's queue
    /// is full.
    pub fn connect(address: &Address, source: Option<IpAddr>) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let socket = Self::tcp(address.is_ipv4())?;
                if let Some(source) = source {
                    socket.bind(source)?;
                }
                socket.connect_tcp(address)?;
                Ok(socket)
            }
            Address::Unix(path) => {
                let socket = Self::new(libc::AF_UNIX)?;
                started(socket.connect_raw(&unix_address(path)?))?;
                Ok(socket)
            }
        }
    }

    /// Checks that this host may use a source address.
    ///
    /// # Errors
    /// If the system refuses the address.
    pub fn try_source(source: IpAddr) -> io::Result<()> {
        Self::tcp(source.is_ipv4())?.bind(source)
    }

    fn new(family: libc::c_int) -> io::Result<Self> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Safety: the call takes only numbers. The returned descriptor has no other owner.
        unsafe {
            let fd = check(i64::from(libc::socket(family, kind, 0)))?;
            Ok(Self(OwnedFd::from_raw_fd(fd as RawFd)))
        }
    }

    fn tcp(is_ipv4: bool) -> io::Result<Self> {
        let family = if is_ipv4 {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        let socket = Self::new(family)?;
        socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, &1_i32)?;
        Ok(socket)
    }

    /// Sets the source address. The port is chosen only when the connection is made, so connections to different
    /// destinations can use the same port.
    fn bind(&self, source: IpAddr) -> io::Result<()> {
        self.set(libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &1_i32)?;
        match SocketAddr::new(source, 0) {
            SocketAddr::V4(address) => self.bind_raw(&ipv4(address)),
            SocketAddr::V6(address) => self.bind_raw(&ipv6(&address)),
        }
    }

    fn connect_tcp(&self, address: &SocketAddr) -> io::Result<()> {
        started(match address {
            SocketAddr::V4(address) => self.connect_raw(&ipv4(*address)),
            SocketAddr::V6(address) => self.connect_raw(&ipv6(address)),
        })
    }

    fn connect_raw<T>(&self, address: &T) -> io::Result<()> {
        // Safety: `address` is a socket address structure with its own size.
        let result = unsafe {
            let length = size_of::<T>() as libc::socklen_t;
            libc::connect(self.as_raw_fd(), std::ptr::from_ref(address).cast(), length)
        };
        check(i64::from(result)).map(|_| ())
    }

    fn bind_raw<T>(&self, address: &T) -> io::Result<()> {
        // Safety: `address` is a socket address structure with its own size.
        let result = unsafe {
            let length = size_of::<T>() as libc::socklen_t;
            libc::bind(self.as_raw_fd(), std::ptr::from_ref(address).cast(), length)
        };
        check(i64::from(result)).map(|_| ())
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        // Safety: `value` is valid during the call and has the size that is passed.
        let result = unsafe {
            let length = size_of::<T>() as libc::socklen_t;
            let value = std::ptr::from_ref(value).cast();
            libc::setsockopt(self.as_raw_fd(), level, option, value, length)
        };
        check(i64::from(result)).map(|_| ())
    }

    /// Returns and clears the pending error of the socket.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let mut error: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // Safety: both variables are valid for the call, and `length` is the size of `error`.
        let result = unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut error).cast(),
                &raw mut length,
            )
        };
        check(i64::from(result))?;
        Ok((error != 0).then(|| io::Error::from_raw_os_error(error)))
    }

    /// Returns `true` if the socket has bytes to read; the end of the stream does not count.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        let mut byte = 0_u8;
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        // Safety: `byte` is valid for the call, which reads at most one byte.
        let count = unsafe { libc::recv(self.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
        count > 0
    }

    /// Closes the connection with a reset (RST), so that its port can be reused immediately.
    pub fn abort(self) {
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        // An error is ignored: the socket is then closed without a reset.
        let _ = self.set(libc::SOL_SOCKET, libc::SO_LINGER, &linger);
    }
}

/// Treats a connection that is still being established as success.
fn started(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

fn ipv4(address: std::net::SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from_ne_bytes(address.ip().octets()),
        },
        sin_zero: [0; 8],
    }
}

fn ipv6(address: &std::net::SocketAddrV6) -> libc::sockaddr_in6 {
    libc::sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: address.port().to_be(),
        sin6_flowinfo: address.flowinfo(),
        sin6_addr: libc::in6_addr {
            s6_addr: address.ip().octets(),
        },
        sin6_scope_id: address.scope_id(),
    }
}

/// Longest path of a Unix socket: the length of the path array in the socket address, less the terminating zero byte.
/// [B]
pub const UNIX_PATH_BYTES: usize =
    size_of::<libc::sockaddr_un>() - offset_of!(libc::sockaddr_un, sun_path) - 1;

fn unix_address(path: &Path) -> io::Result<libc::sockaddr_un> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() > UNIX_PATH_BYTES {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; UNIX_PATH_BYTES + 1],
    };
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    Ok(address)
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Safety: the buffer has the length that is passed to the call.
        let count = unsafe {
            libc::recv(
                self.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                0,
            )
        };
        check(count as i64).map(|count| count as usize)
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Safety: the bytes have the length that is passed to the call.
        let count = unsafe {
            libc::send(
                self.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        check(count as i64).map(|count| count as usize)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        // Safety: zeros are an empty message; `IoSlice` has the layout of `iovec`, and the buffers outlive the call.
        let count = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = pieces.as_ptr().cast_mut().cast();
            message.msg_iovlen = pieces.len().min(PIECES_AT_ONCE) as _;
            libc::sendmsg(self.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
        };
        check(count as i64).map(|count| count as usize)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_connection_leaves_from_the_source_that_is_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = Address::Tcp(listener.local_addr().expect("an address"));
        let source = "127.0.0.7".parse().expect("an address");
        let socket = Socket::connect(&address, Some(source)).expect("a connection");
        let (_, peer) = listener.accept().expect("a client");
        assert_eq!(peer.ip(), source);
        socket.abort();
    }

    #[test]
    fn a_source_of_another_host_is_refused() {
        let foreign = "192.0.2.1".parse().expect("an address");
        assert!(Socket::try_source(foreign).is_err());
        assert!(Socket::try_source("127.0.0.9".parse().expect("an address")).is_ok());
    }

    #[test]
    fn a_path_that_is_too_long_is_refused() {
        let path = Path::new("/").join("x".repeat(UNIX_PATH_BYTES));
        assert!(unix_address(&path).is_err());
    }

    #[test]
    fn bytes_that_wait_are_seen_and_the_end_of_the_stream_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = Address::Tcp(listener.local_addr().expect("an address"));
        let mut socket = Socket::connect(&address, None).expect("a connection");
        let (mut peer, _) = listener.accept().expect("a client");
        assert!(!socket.has_bytes());
        peer.write_all(b"x").expect("a byte");
        while !socket.has_bytes() {
            std::thread::yield_now();
        }
        assert_eq!(socket.read(&mut [0; 8]).expect("the byte"), 1);
        drop(peer);
        assert!(!socket.has_bytes());
    }
}
