//! Helpers shared by the tests of executors.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use towtank_drivers::Watch;

/// A folder that is deleted when the value is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("towtank-drivers-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An implementation of `Watch` for drivers that use no sockets.
pub struct NoSockets;

impl Watch for NoSockets {
    fn watch(&self, _: BorrowedFd<'_>, _: u64) -> io::Result<()> {
        unreachable!("these sessions have no sockets")
    }
}
