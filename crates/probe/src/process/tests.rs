use super::*;

#[test]
fn a_name_may_hold_brackets_and_blanks() {
    let content =
        b"77 (a) b (c) S 5 77 6 0 -1 4194560 10 11 12 13 14 15 16 17 20 0 3 0 4242 1 2 3\n";
    let stat = Stat::parse(content).expect("a whole line");
    assert_eq!((stat.parent, stat.session, stat.state), (5, 6, b'S'));
    assert_eq!(stat.own, [14, 15, 10, 12]);
    assert_eq!(stat.children, [16, 17, 11, 13]);
    assert_eq!((stat.threads, stat.start_ticks), (3, 4242));
    assert!(!stat.image.is_known());
}

#[test]
fn an_image_survives_a_fork_and_no_exec() {
    let image = |pid: &str| {
        let content = fs::read(format!("/proc/{pid}/stat")).expect("a process that lives");
        Stat::parse(&content).expect("a whole line").image
    };
    let mut child = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("cat of coreutils");
    // The kernel sets the addresses of the layout one after the other. Once `echo` has written its output, `exec`
    // is complete.
    let mut echo = [0];
    let mut input = child.stdin.take().expect("piped");
    io::Write::write_all(&mut input, b".").expect("a pipe");
    let mut output = child.stdout.take().expect("piped");
    io::Read::read_exact(&mut output, &mut echo).expect("an echo");
    let (ours, other) = (image("self"), image(&child.id().to_string()));
    drop(input);
    child.wait().expect("our own child");
    assert!(ours.is_known() && other.is_known() && ours != other);
}

#[test]
fn half_a_line_is_no_stat() {
    assert_eq!(Stat::parse(b"77 (a) S 5 77 6 0 -1 4194560 10"), None);
    assert_eq!(Stat::parse(b""), None);
    assert_eq!(Stat::parse(b"77 (a"), None);
}

#[test]
fn soft_limits_are_read() {
    let content =
        b"Limit                     Soft Limit           Hard Limit           Units     \n\
        Max processes             63432                63432                processes \n\
        Max open files            1024                 524288               files     \n";
    assert_eq!(parse_limit(content, "Max open files"), Some(1024));
    assert_eq!(parse_limit(content, "Max processes"), Some(63432));
    let unlimited = b"Max processes unlimited unlimited processes\n";
    assert_eq!(parse_limit(unlimited, "Max processes"), None);
    assert_eq!(parse_limit(unlimited, "Max open files"), None);
}

#[test]
fn our_own_limit_is_known_with_our_own_files() {
    let proc = Path::new("/proc");
    let (mut buffer, count) = (Buffer::default(), FileCount::detect(proc));
    let mut reader = ProcessReader::new(proc, std::process::id());
    let usage = reader.read(&mut buffer, count, None).expect("we live");
    let (open, limit) = (usage.open_files, usage.open_files_limit);
    assert!(open.is_some() && open <= limit, "{open:?} of {limit:?}");
}

#[test]
fn growth_holds_the_cpu_time_of_a_thread_that_has_ended() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let worker = std::thread::spawn(move || {
        let ran_ns = || {
            let content = fs::read("/proc/thread-self/schedstat").expect("our own thread");
            text::fields(&content).next().and_then(text::number)
        };
        let _ = wait.recv();
        while ran_ns() < Some(60_000_000) {}
    });
    let proc = Path::new("/proc");
    let (mut buffer, count) = (Buffer::default(), FileCount::detect(proc));
    let mut reader = ProcessReader::new(proc, std::process::id());
    let before = reader.read(&mut buffer, count, None).expect("we live");
    assert_eq!(before.growth, None);
    drop(release);
    worker.join().expect("the worker ends");
    let now = reader
        .read(&mut buffer, count, Some(&before))
        .expect("we live");
    let growth = now.growth.expect("known although a thread has ended");
    // User time and system time are each rounded to ticks of 10 ms. The tolerance is for this rounding.
    assert!(growth.cpu_ns >= 30_000_000, "{growth:?}");
}

#[test]
fn both_ways_to_count_files_agree() {
    let proc = Path::new("/proc/self/fd");
    let counted = FileCount::Entries.count(proc).expect("our own files");
    assert!(counted >= 3);
    assert_eq!(
        FileCount::Entries.count(Path::new("/proc/self/no-such-fd")),
        Some(0)
    );
}

#[test]
fn threads_of_a_quiet_process_are_read_in_every_fourth_sample() {
    let mut reader = ProcessReader::new(Path::new("/no/such/proc"), 1);
    let growth = Growth::between((0, 0, 1), (0, 0, 2));
    let last = Usage {
        growth,
        ..Usage::default()
    };
    let (idle, mut busy) = (Stat::default(), Stat::default());
    busy.own[0] = 1;
    let quiet: Vec<bool> = (0..8).map(|_| reader.is_quiet(&last, &idle)).collect();
    assert_eq!(quiet, [true, true, true, false, true, true, true, false]);
    let forked = Stat {
        threads: 2,
        ..Stat::default()
    };
    assert!(!reader.is_quiet(&last, &busy) && !reader.is_quiet(&last, &forked));
    assert!(
        !reader.is_quiet(&Usage::default(), &idle),
        "without two readings, no growth is known"
    );
}
