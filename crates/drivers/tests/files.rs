//! Tests all operations of the file driver through an executor. The driver must not access files outside its folder.

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Folder, NoSockets};
use towtank_drivers::{
    Answer, Call, Content, Digest, Done, Executor, FailureKind, FileAction, Operation, Orders,
    Server, Task,
};

/// A session of the file driver and its folder.
struct Bench {
    executor: Executor,
    rung: Mutex<std::sync::mpsc::Receiver<()>>,
    /// `true` if the last call was made in the thread of the test, without a call thread.
    was_at_once: bool,
}

const ACTIONS: [FileAction; 13] = [
    FileAction::Create,
    FileAction::Open,
    FileAction::Close,
    FileAction::Read,
    FileAction::Write,
    FileAction::Append,
    FileAction::Put,
    FileAction::Sync,
    FileAction::Stat,
    FileAction::List,
    FileAction::Rename,
    FileAction::MakeFolder,
    FileAction::Delete,
];

impl Bench {
    fn new(root: &Path, direct: bool) -> Self {
        Self::keeping(root, direct, true)
    }

    fn keeping(root: &Path, direct: bool, keeps_content: bool) -> Self {
        let tasks: Vec<Task> = (0..)
            .zip(ACTIONS)
            .map(|(number, action)| Task {
                number,
                operation: Operation::File { action },
                keeps_rows: true,
                rows_bytes_at_most: 4096,
                keeps_content,
            })
            .collect();
        let server = Server::File {
            root: root.to_owned(),
            direct,
        };
        let (waker, rung) = channel();
        let wake = move || waker.send(()).expect("a receiver");
        let executor = Executor::new(
            vec![Some((server, Vec::new()))],
            tasks.into(),
            NoSockets,
            wake,
        );
        Self {
            executor,
            rung: Mutex::new(rung),
            was_at_once: false,
        }
    }

    fn done(
        &mut self,
        action: FileAction,
        path: &str,
        numbers: (Option<u64>, Option<u64>),
        to: Option<&str>,
    ) -> Done {
        self.order(action, path, numbers, to);
        self.take()
    }

    /// Passes a call to the executor, which may execute the call immediately.
    fn order(
        &mut self,
        action: FileAction,
        path: &str,
        numbers: (Option<u64>, Option<u64>),
        to: Option<&str>,
    ) {
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let number = |number: Option<u64>| number.map(|number| number.to_string().into_bytes());
        let task = ACTIONS
            .iter()
            .position(|known| *known == action)
            .expect("an action");
        let call = Call {
            generation: 1,
            task: task as u32,
            location: 0,
            values: vec![
                bytes(path),
                number(numbers.0),
                number(numbers.1),
                to.and_then(bytes),
            ],
            left_ns: Arc::default(),
            timeout_ns: 1_000_000_000,
            is_single: false,
        };
        self.executor.order(0, 0, Orders::Call(call));
        self.was_at_once = self.executor.is_busy();
    }

    /// Waits for the result of the call and returns it.
    fn take(&mut self) -> Done {
        if !self.was_at_once {
            let rung = self.rung.lock().expect("the waker");
            rung.recv().expect("a result");
        }
        let mut all = Vec::new();
        self.executor.take(&mut all);
        all.pop().expect("one result")
    }

    fn answer(&mut self, action: FileAction, path: &str, size: Option<u64>) -> Answer {
        let done = self.done(action, path, (None, size), None);
        done.result
            .unwrap_or_else(|failed| panic!("{action:?} {path}: {failed:?}"))
    }

    fn refusal(
        &mut self,
        action: FileAction,
        path: &str,
        to: Option<&str>,
    ) -> (FailureKind, String) {
        let failed = self
            .done(action, path, (None, Some(1)), to)
            .result
            .expect_err("no");
        (failed.kind, failed.reason)
    }
}

#[test]
fn files_are_made_written_read_renamed_and_taken_away() {
    let folder = Folder::new();
    let mut bench = Bench::new(&folder.0, false);
    bench.answer(FileAction::MakeFolder, "a", None);
    bench.answer(FileAction::Create, "a/one", None);
    assert_eq!(
        bench
            .answer(FileAction::Append, "a/one", Some(3000))
            .affected,
        3000
    );
    let written = bench.done(FileAction::Write, "a/one", (Some(5000), Some(100)), None);
    assert_eq!(written.meter.bytes_out, 100);
    bench.answer(FileAction::Sync, "a/one", None);
    let about = bench.answer(FileAction::Stat, "a/one", None);
    assert_eq!(
        about.rows,
        [[Some(b"5100".to_vec()), Some(b"file".to_vec())]]
    );
    let read = bench.done(FileAction::Read, "a/one", (Some(4900), Some(1000)), None);
    assert_eq!(
        read.meter.bytes_in, 200,
        "the read ends at the end of the file"
    );
    assert!(read.meter.first_byte_ns.is_some());
    let renamed = bench.done(FileAction::Rename, "a/one", (None, None), Some("two"));
    renamed.result.expect("a new path");
    assert_eq!(
        bench.answer(FileAction::Append, "two", Some(1)).affected,
        1,
        "the renamed file is still open"
    );
    assert_eq!(
        std::fs::metadata(folder.0.join("two"))
            .expect("a file")
            .len(),
        5101
    );
    let names = bench.answer(FileAction::List, ".", None);
    assert_eq!(names.row_count, 2);
    bench.answer(FileAction::Delete, "two", None);
    assert_eq!(
        bench.refusal(FileAction::Stat, "two", None),
        (FailureKind::Refused, "ENOENT".to_owned())
    );
}

#[test]
fn nothing_outside_of_the_folder_is_reached() {
    let (folder, outside) = (Folder::new(), Folder::new());
    std::fs::write(outside.0.join("secret"), "x").expect("a file");
    std::os::unix::fs::symlink(&outside.0, folder.0.join("link")).expect("a link");
    std::os::unix::fs::symlink(outside.0.join("secret"), folder.0.join("file")).expect("a link");
    let mut bench = Bench::new(&folder.0, false);
    let absolute = outside.0.join("secret");
    let absolute = absolute.to_str().expect("a path");
    for path in ["../x", "a/../../x", absolute] {
        for action in [FileAction::Read, FileAction::Create, FileAction::Delete] {
            assert_eq!(
                bench.refusal(action, path, None).0,
                FailureKind::Internal,
                "{path}"
            );
        }
    }
    for path in ["link/secret", "file"] {
        for action in [
            FileAction::Read,
            FileAction::Open,
            FileAction::Append,
            FileAction::Create,
        ] {
            let (kind, reason) = bench.refusal(action, path, None);
            assert_eq!(kind, FailureKind::Refused, "{path}: {reason}");
            assert!(reason == "ELOOP" || reason == "EXDEV", "{path}: {reason}");
        }
    }
    for action in [FileAction::Delete, FileAction::MakeFolder, FileAction::List] {
        assert_eq!(
            bench.refusal(action, "link/secret", None).0,
            FailureKind::Refused
        );
    }
    std::fs::write(folder.0.join("own"), "x").expect("a file");
    let moved = bench.refusal(FileAction::Rename, "own", Some("link/own"));
    assert_eq!(moved.0, FailureKind::Refused);
    let left: Vec<_> = std::fs::read_dir(&outside.0).expect("a folder").collect();
    assert_eq!(left.len(), 1);
    assert_eq!(
        std::fs::read(outside.0.join("secret")).expect("a file"),
        b"x"
    );
}

#[test]
fn a_folder_that_is_not_there_is_a_failure_to_connect() {
    let mut bench = Bench::new(Path::new("/no/such/folder"), false);
    assert_eq!(
        bench.refusal(FileAction::Stat, "x", None).0,
        FailureKind::Connect
    );
}

#[test]
fn a_read_of_the_page_cache_is_made_at_once_and_is_no_other() {
    let folder = Folder::new();
    let mut bench = Bench::keeping(&folder.0, false, false);
    bench.answer(FileAction::Create, "one", None);
    bench.answer(FileAction::Append, "one", Some(70_000));
    // The call thread puts the session back shortly after it returns the response, so the test tries again until the
    // session is idle.
    let is_back = (0..1000).any(|_| {
        bench.done(FileAction::Read, "one", (None, Some(1)), None);
        bench.was_at_once
    });
    assert!(is_back);
    // Columns: offset of the read, size of the read, expected number of bytes, and `true` if the read is small enough
    // for the load thread.
    for (from, size, found, is_little) in [
        (Some(100), Some(4096), 4096, true),
        (None, Some(65_536), 65_536, true),
        (Some(69_000), Some(4096), 1000, true),
        (Some(80_000), Some(1), 0, true),
        (Some(69_000), None, 1000, true),
        (None, Some(65_537), 65_537, false),
        (None, None, 70_000, false),
    ] {
        let read = bench.done(FileAction::Read, "one", (from, size), None);
        let case = format!("{from:?} {size:?}");
        assert_eq!(read.result.expect(&case), Answer::default(), "{case}");
        assert_eq!(read.meter.bytes_in, found, "{case}");
        assert_eq!(read.meter.first_byte_ns.is_some(), found > 0, "{case}");
        assert!(read.is_open && !read.is_held);
        assert_eq!(bench.was_at_once, is_little, "{case}");
    }
    let refused = bench.refusal(FileAction::Read, "none", None);
    assert_eq!(refused, (FailureKind::Refused, "ENOENT".to_owned()));
    let refused = bench.refusal(FileAction::Read, "../one", None);
    assert_eq!(refused.0, FailureKind::Internal);
    bench.answer(FileAction::Close, "one", None);
    std::os::unix::fs::symlink("one", folder.0.join("link")).expect("a link");
    let read = bench.done(FileAction::Read, "one", (None, Some(10)), None);
    assert_eq!(read.meter.bytes_in, 10);
    let refused = bench.refusal(FileAction::Read, "link", None);
    assert_eq!(refused, (FailureKind::Refused, "ELOOP".to_owned()));
}

/// Opening a pipe blocks until the pipe has a writer. The call runs in a call thread, so that the load thread
/// is not blocked.
#[test]
fn a_read_of_a_pipe_keeps_nobody_waiting_but_its_own_session() {
    let folder = Folder::new();
    let mut bench = Bench::keeping(&folder.0, false, false);
    bench.answer(FileAction::Create, "one", None);
    let pipe = folder.0.join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let has_ordered = Arc::new(AtomicBool::new(false));
    let ordered = Arc::clone(&has_ordered);
    let writer = std::thread::spawn(move || {
        let waiting = (0..6_000).find(|_| {
            std::thread::sleep(Duration::from_millis(10));
            ordered.load(Ordering::SeqCst)
        });
        // With a writer, the driver can open the pipe. A pipe cannot be read at an offset, so the call of the driver
        // then fails.
        std::fs::File::options()
            .write(true)
            .open(pipe)
            .expect("a reader");
        waiting.is_some()
    });
    bench.order(FileAction::Read, "pipe", (None, Some(10)), None);
    has_ordered.store(true, Ordering::SeqCst);
    assert!(!bench.was_at_once);
    bench.take();
    assert!(
        writer.join().expect("the writer"),
        "the order returned before there was a writer"
    );
}

#[test]
fn direct_output_is_aligned() {
    let folder = Folder::new();
    let mut bench = Bench::new(&folder.0, true);
    let made = bench.done(FileAction::Create, "one", (None, None), None);
    if made.result.is_err() {
        // This file system does not support direct input and output (neither does tmpfs in older kernels), so the test
        // ends here.
        return;
    }
    assert_eq!(
        bench.answer(FileAction::Append, "one", Some(8192)).affected,
        8192
    );
    let read = bench.done(FileAction::Read, "one", (Some(4096), Some(4096)), None);
    assert_eq!(read.meter.bytes_in, 4096);
}

#[test]
fn what_is_put_is_there_whole_and_read_back_with_the_same_digest() {
    let folder = Folder::new();
    let mut bench = Bench::new(&folder.0, false);
    bench.answer(FileAction::MakeFolder, "a", None);
    let mut contents = Vec::new();
    // Sizes of the files: more than one block, a length that is not a multiple of 8 bytes, and zero. [B]
    for (path, size) in [("a/one", 2_500_003), ("two", 13), ("a/one", 0)] {
        let put = bench.answer(FileAction::Put, path, Some(size));
        assert_eq!(put.affected, size);
        let reported = put.content.expect("a content");
        let mut digest = Digest::default();
        digest.update(&std::fs::read(folder.0.join(path)).expect("a file"));
        assert_eq!(reported, Content::from(&digest));
        assert_eq!(reported.bytes, size);
        assert_eq!(
            bench.answer(FileAction::Read, path, None).content,
            Some(reported.clone())
        );
        contents.push(reported.sha256);
    }
    contents.sort();
    contents.dedup();
    assert_eq!(contents.len(), 3, "no two files are alike");
    let part = bench.answer(FileAction::Read, "two", Some(5));
    assert_eq!(part.content, None, "a partial read has no digest");
    for place in [folder.0.clone(), folder.0.join("a")] {
        let names = std::fs::read_dir(place).expect("a folder").flatten();
        let left: Vec<_> = names
            .filter(|file| file.file_name().as_encoded_bytes().starts_with(b".put"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn what_cannot_be_put_leaves_what_was_there_and_nothing_beside() {
    let folder = Folder::new();
    let mut bench = Bench::new(&folder.0, false);
    std::fs::create_dir_all(folder.0.join("full/inside")).expect("a folder");
    let refused = bench.refusal(FileAction::Put, "full", None);
    assert_eq!(refused, (FailureKind::Refused, "EISDIR".to_owned()));
    let names: Vec<_> = std::fs::read_dir(&folder.0).expect("a folder").collect();
    assert_eq!(names.len(), 1);
    let absent = bench.done(FileAction::Read, "none", (None, None), None);
    assert!(absent.result.expect_err("no").states_absence());
    let nowhere = bench.done(FileAction::Put, "none/one", (None, Some(1)), None);
    assert!(nowhere.result.is_err());
}
