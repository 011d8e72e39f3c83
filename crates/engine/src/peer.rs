//! `towtank-engine peer --listen ADDRESS [--take BYTES] [--give BYTES]`: the server for calls of the `tcp` driver, over
//! TCP or a Unix socket.
//!
//! After every `take` bytes that it receives, it sends `give` bytes. Each connection has a separate thread. The server
//! does nothing else, so almost all its CPU time is spent in the kernel.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

/// Largest number of bytes that one system call reads or writes. [B]
const BLOCK_BYTES: usize = 64 * 1024;

/// Exit status if the command line is invalid.
const WRONG: u8 = 2;
/// Exit status if the program cannot listen: `EX_UNAVAILABLE` of sysexits.h.
const UNAVAILABLE: u8 = 69;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Options {
    listen: String,
    take: u64,
    give: u64,
}

/// Runs the subcommand `peer` until a signal ends it.
pub fn run(arguments: &[String]) -> ExitCode {
    let options = match parse(arguments) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("towtank-engine peer: {message}");
            eprintln!(
                "usage: towtank-engine peer --listen HOST:PORT|unix:PATH [--take BYTES] [--give BYTES]"
            );
            return ExitCode::from(WRONG);
        }
    };
    match listen(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("towtank-engine peer: {}: {error}", options.listen);
            ExitCode::from(UNAVAILABLE)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        listen: String::new(),
        take: 1,
        give: 0,
    };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} must have a value", pair[0]));
        };
        let number = || {
            let number: Result<u64, _> = value.parse();
            number.map_err(|_| format!("{name} must be a number of bytes, got {value:?}"))
        };
        match name.as_str() {
            "--listen" => options.listen.clone_from(value),
            "--take" => options.take = number()?,
            "--give" => options.give = number()?,
            _ => return Err(format!("{name} is not an option")),
        }
    }
    if options.listen.is_empty() {
        return Err("--listen must be given".to_owned());
    }
    if options.take == 0 {
        return Err("--take must be above 0".to_owned());
    }
    Ok(options)
}

fn listen(options: &Options) -> io::Result<()> {
    if let Some(path) = options.listen.strip_prefix("unix:") {
        let listener = UnixListener::bind(path)?;
        println!("listening on unix:{path}");
        for stream in listener.incoming() {
            attend(stream?, options);
        }
        return Ok(());
    }
    let listener = TcpListener::bind(&options.listen)?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        // The client closed the connection before it was accepted, so the loop continues with the next connection.
        let Ok(stream) = stream else { continue };
        // With `TCP_NODELAY` the kernel sends each response at once, rather than waiting for more bytes.
        let _ = stream.set_nodelay(true);
        attend(stream, options);
    }
    Ok(())
}

fn attend(mut stream: impl Read + Write + Send + 'static, options: &Options) {
    let (take, give) = (options.take, options.give);
    let thread = std::thread::Builder::new().stack_size(256 * 1024);
    // If the system refuses to start a thread, the connection is closed, which the client detects.
    let _ = thread.spawn(move || exchange(&mut stream, take, give));
}

/// Reads `take` bytes and writes `give` bytes repeatedly, until the client closes the connection.
fn exchange(stream: &mut (impl Read + Write), take: u64, give: u64) -> io::Result<()> {
    let mut block = vec![b'x'; BLOCK_BYTES];
    let mut taken = 0;
    loop {
        let count = stream.read(&mut block)?;
        if count == 0 {
            return Ok(());
        }
        taken += count as u64;
        let mut left = taken / take * give;
        taken %= take;
        while left > 0 {
            let now = left.min(BLOCK_BYTES as u64) as usize;
            stream.write_all(&block[..now])?;
            left -= now as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Both(io::Cursor<Vec<u8>>, Vec<u8>);

    impl Read for Both {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Both {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_exchange_is_answered_once() {
        let mut both = Both(io::Cursor::new(vec![b'a'; 250]), Vec::new());
        exchange(&mut both, 100, 7).expect("an exchange");
        assert_eq!(
            both.1.len(),
            14,
            "two of a hundred; fifty are no exchange yet"
        );
    }

    #[test]
    fn options_are_checked() {
        let parsed = |text: &str| parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(parsed("--listen 127.0.0.1:0 --take 5 --give 6").is_ok());
        for wrong in [
            "--listen",
            "--take 5",
            "--listen x --take 0",
            "--listen x --give y",
            "--x 1",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
