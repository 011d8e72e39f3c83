//! Compares the output for recorded kernel files with the exact expected text. `tests/data/recorded` contains the files
//! of a virtual machine with Linux 6.18 and a tree of two processes. `minimal` contains the files of an old, small
//! kernel.

use std::path::{Path, PathBuf};

use towtank_probe::{GroupRoot, Options, Roots, Sampler};

fn options(name: &str, pid: u32) -> Options {
    let data = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let roots = Roots {
        proc: data.join("proc"),
        sys: data.join("sys"),
    };
    Options {
        groups: vec![GroupRoot {
            name: "content".into(),
            pid,
        }],
        roots,
        ..Options::default()
    }
}

/// Returns the part of a sample that does not depend on the clock or on the probe itself.
fn body(sample: &str) -> &str {
    let start = sample
        .find("\"host\":")
        .expect("a sample describes the host");
    let end = sample
        .rfind(",\"probe\":")
        .expect("a sample describes the probe");
    &sample[start..end]
}

#[test]
fn a_recorded_host_and_group() {
    let mut sampler = Sampler::new(&options("recorded", 4100));
    let expected = include_str!("data/recorded/expected.txt").replace('\n', "");
    assert_eq!(body(sampler.sample(0)), expected);
    // The same files give the same totals, so nothing is counted twice. Values of memory are missing, since their next
    // measurement is not due yet.
    let round = "\"memory_bytes\":6041600,\"memory_anonymous_bytes\":4423680,";
    let busiest = "\"open_files\":6,\"busiest_process\":{\"pid\":4100,\"cpus\":0.0},\
                   \"busiest_thread\":{\"pid\":4100,\"tid\":4103,\"cpus\":0.0,\"waits\":0.0},";
    let again = expected
        .replace(round, "")
        .replace("\"open_files\":6,", busiest);
    assert_eq!(body(sampler.sample(0)), again);
}

#[test]
fn what_a_kernel_lacks_is_left_out() {
    let mut sampler = Sampler::new(&options("minimal", 50));
    assert_eq!(
        body(sampler.sample(0)),
        "\"host\":{\"cpu_user_s_total\":10.2,\"cpu_system_s_total\":3.0,\"cpu_idle_s_total\":400.0,\
         \"context_switches_total\":12345,\"processes_running\":2,\
         \"memory_total_bytes\":512000000,\"memory_cached_bytes\":51200000},\
         \"cpus\":[{\"busy_s_total\":8.1,\"idle_s_total\":200.0},{},{\"busy_s_total\":5.1,\"idle_s_total\":200.0}],\
         \"networks\":{\"eth0\":{\"receive_bytes_total\":100,\"transmit_bytes_total\":200,\
         \"receive_packets_total\":2,\"transmit_packets_total\":4,\"errors_total\":6,\"drops_total\":9}},\
         \"groups\":{\"content\":{\"cpu_user_s_total\":101.1,\"cpu_system_s_total\":0.92,\"resident_sets_bytes\":2048000,\
         \"page_faults_total\":1012,\"major_page_faults_total\":10,\
         \"threads\":2,\"processes\":2,\"processes_alive\":2,\"open_files\":0,\"root_pid\":50,\"root_start_ticks\":777,\"alive\":true}}"
    );
}

#[test]
fn a_group_without_a_process_is_not_alive_and_tells_nothing() {
    let mut sampler = Sampler::new(&options("minimal", 99));
    assert!(body(sampler.sample(0)).ends_with("\"groups\":{\"content\":{\"alive\":false}}"));
}

#[test]
fn the_header_describes_the_host() {
    let options = options("recorded", 4100);
    let mut sampler = Sampler::new(&options);
    let header: serde_json::Value =
        serde_json::from_str(sampler.header(&options.groups)).expect("JSON");
    assert_eq!(header["schema"], "towtank/probe/1");
    assert_eq!(header["host"]["name"], "tank");
    assert_eq!(header["host"]["cpu_model"], "Intel(R) Xeon(R) Processor");
    assert_eq!(header["host"]["memory_bytes"], 25_276_510_208_u64);
    assert_eq!(header["groups"]["content"]["pid"], 4100);
    assert!((header["interval_s"].as_f64().expect("a number") - 1.0).abs() < f64::EPSILON);
}

#[test]
fn recorded_files_are_all_there() {
    for file in [
        "recorded/proc/4102/task/4102/status",
        "recorded/sys/block/vda/dev",
        "minimal/proc/stat",
    ] {
        let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(file);
        assert!(path.is_file(), "{}", path.display());
    }
}
