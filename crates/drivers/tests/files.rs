//! The driver of files, by its executor: what it does, and that nothing outside of its folder is reached.

mod common;

use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use common::Folder;
use towtank_drivers::{
    Answer, Call, Content, Digest, Done, Executor, FailureKind, FileAction, Operation, Orders,
    Server, Task,
};

/// One session below a folder.
struct Bench {
    executor: Executor,
    rung: Mutex<std::sync::mpsc::Receiver<()>>,
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
        let tasks: Vec<Task> = (0..)
            .zip(ACTIONS)
            .map(|(number, action)| Task {
                number,
                operation: Operation::File { action },
                keeps_rows: true,
                rows_bytes_at_most: 4096,
                keeps_content: true,
            })
            .collect();
        let server = Server::File {
            root: root.to_owned(),
            direct,
        };
        let (bell, rung) = channel();
        let wake = move || bell.send(()).expect("somebody who waits");
        let executor = Executor::start(vec![Some((server, Vec::new()))], tasks.into(), wake);
        Self {
            executor: executor.expect("threads"),
            rung: Mutex::new(rung),
        }
    }

    fn done(
        &self,
        action: FileAction,
        path: &str,
        numbers: (Option<u64>, Option<u64>),
        to: Option<&str>,
    ) -> Done {
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let number = |number: Option<u64>| number.map(|number| number.to_string().into_bytes());
        let task = ACTIONS
            .iter()
            .position(|one| *one == action)
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
            connect_timeout_ns: 1_000_000_000,
            timeout_ns: 1_000_000_000,
            is_single: false,
        };
        self.executor.order(0, 0, Orders::Call(call));
        self.rung
            .lock()
            .expect("the bell")
            .recv()
            .expect("a result");
        let mut all = Vec::new();
        self.executor.take(&mut all);
        all.pop().expect("one result")
    }

    fn answer(&self, action: FileAction, path: &str, size: Option<u64>) -> Answer {
        let done = self.done(action, path, (None, size), None);
        done.result
            .unwrap_or_else(|failed| panic!("{action:?} {path}: {failed:?}"))
    }

    fn refusal(&self, action: FileAction, path: &str, to: Option<&str>) -> (FailureKind, String) {
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
    let bench = Bench::new(&folder.0, false);
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
    assert_eq!(read.meter.bytes_in, 200, "up to its end");
    assert!(read.meter.first_byte_ns.is_some());
    let renamed = bench.done(FileAction::Rename, "a/one", (None, None), Some("two"));
    renamed.result.expect("a new path");
    assert_eq!(
        bench.answer(FileAction::Append, "two", Some(1)).affected,
        1,
        "it is open still"
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
    let bench = Bench::new(&folder.0, false);
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
    let bench = Bench::new(Path::new("/no/such/folder"), false);
    assert_eq!(
        bench.refusal(FileAction::Stat, "x", None).0,
        FailureKind::Connect
    );
}

#[test]
fn direct_output_is_aligned() {
    let folder = Folder::new();
    let bench = Bench::new(&folder.0, true);
    let made = bench.done(FileAction::Create, "one", (None, None), None);
    if made.result.is_err() {
        // A file system without direct input and output, as tmpfs was.
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
    let bench = Bench::new(&folder.0, false);
    bench.answer(FileAction::MakeFolder, "a", None);
    let mut contents = Vec::new();
    // More than one block, no whole number of words, nothing.
    for (path, size) in [("a/one", 2_500_003), ("two", 13), ("a/one", 0)] {
        let put = bench.answer(FileAction::Put, path, Some(size));
        assert_eq!(put.affected, size);
        let told = put.content.expect("a content");
        let mut digest = Digest::default();
        digest.update(&std::fs::read(folder.0.join(path)).expect("a file"));
        assert_eq!(told, Content::from(&digest));
        assert_eq!(told.bytes, size);
        assert_eq!(
            bench.answer(FileAction::Read, path, None).content,
            Some(told.clone())
        );
        contents.push(told.sha256);
    }
    contents.sort();
    contents.dedup();
    assert_eq!(contents.len(), 3, "no two files are alike");
    let part = bench.answer(FileAction::Read, "two", Some(5));
    assert_eq!(part.content, None, "a part is no content");
    for place in [folder.0.clone(), folder.0.join("a")] {
        let names = std::fs::read_dir(place).expect("a folder").flatten();
        let left: Vec<_> = names
            .filter(|one| one.file_name().as_encoded_bytes().starts_with(b".put"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn what_cannot_be_put_leaves_what_was_there_and_nothing_beside() {
    let folder = Folder::new();
    let bench = Bench::new(&folder.0, false);
    std::fs::create_dir_all(folder.0.join("full/inside")).expect("a folder");
    let refused = bench.refusal(FileAction::Put, "full", None);
    assert_eq!(refused, (FailureKind::Refused, "EISDIR".to_owned()));
    let names: Vec<_> = std::fs::read_dir(&folder.0).expect("a folder").collect();
    assert_eq!(names.len(), 1);
    let absent = bench.done(FileAction::Read, "none", (None, None), None);
    assert!(absent.result.expect_err("no").tells_absence());
    let nowhere = bench.done(FileAction::Put, "none/one", (None, Some(1)), None);
    assert!(nowhere.result.is_err());
}
