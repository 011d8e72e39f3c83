//! Tests the values of a group.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use towtank_probe::Sampler;

use crate::proc::{Made, Proc, group, sample, totals};

#[test]
fn usage_of_a_child_is_counted_once_before_and_after_its_parent_waits_for_it() {
    let proc = Proc::new("once");
    let root = proc.put(Made {
        own: [10, 20, 30, 40],
        io: [1, 2, 3, 4],
        ..Made::new(100, 1, 50)
    });
    let child = proc.put(Made {
        own: [5, 6, 7, 8],
        io: [10, 20, 30, 40],
        ..Made::new(101, 100, 60)
    });
    proc.host(3, 101);
    let mut sampler = proc.sampler(&[("tree", root)], None);
    let both = group(&mut sampler);
    assert_eq!(totals(&both), [150, 260, 37, 48, 11, 22, 33, 44]);
    assert_eq!(
        (&both["processes"], &both["threads"]),
        (&json!(2), &json!(2))
    );
    // Before it ended, the child used one more tick and page fault. The root has waited for it, so the counters of the
    // root now include those of the child, and the totals must not count them twice.
    proc.end(child);
    proc.put(Made {
        children: [6, 6, 8, 8],
        io: [11, 22, 33, 44],
        ..root
    });
    let waited = group(&mut sampler);
    assert_eq!(totals(&waited), [160, 260, 38, 48, 11, 22, 33, 44]);
    assert_eq!(
        (&waited["processes"], &waited["alive"]),
        (&json!(1), &json!(true))
    );
    proc.end(root);
    let over = group(&mut sampler);
    assert_eq!(totals(&over), [160, 260, 38, 48, 11, 22, 33, 44]);
    assert_eq!(
        (&over["processes"], &over["alive"]),
        (&json!(0), &json!(false))
    );
    assert_eq!(
        (&over["root_pid"], &over["root_start_ticks"]),
        (&json!(100), &json!(50))
    );
}

#[test]
fn a_child_that_nobody_waits_for_stays_in_the_totals() {
    let proc = Proc::new("nobody");
    let root = proc.put(Made {
        own: [10; 4],
        io: [1; 4],
        switches: [3, 4],
        ..Made::new(100, 1, 50)
    });
    let child = proc.put(Made {
        own: [5; 4],
        io: [10; 4],
        ran: [1000, 70, 5],
        switches: [30, 40],
        ..Made::new(101, 100, 60)
    });
    let mut sampler = proc.sampler(&[("tree", root)], None);
    for _ in 0..3 {
        let found = group(&mut sampler);
        assert_eq!(totals(&found), [150, 150, 15, 15, 11, 11, 11, 11]);
        assert_eq!(found["voluntary_switches_total"], 33);
        assert_eq!(found["involuntary_switches_total"], 44);
        assert_eq!(found["run_queue_wait_s_total"], 70e-9);
        if proc.0.join("101").exists() {
            proc.end(child);
        }
    }
}

#[test]
fn tasks_of_a_user_are_counted_only_near_the_limit() {
    let proc = Proc::new("tasks");
    let root = proc.put(Made::new(100, 1, 50));
    proc.put(Made {
        user: 33,
        tasks_limit: 200,
        ..Made::new(101, 100, 60)
    });
    proc.put(Made {
        user: 33,
        ..Made::new(900, 1, 60)
    });
    proc.put(Made {
        user: 33,
        ..Made::new(901, 1, 60)
    });
    proc.host(89, 901);
    let mut sampler = proc.sampler(&[("tree", root)], None);
    let found = group(&mut sampler);
    assert_eq!(
        (&found["processes"], &found["user_tasks"]),
        (&json!(2), &Value::Null)
    );
    // The host has 90 tasks, which is 90 % of the lowest limit, 100. User 1000 has 7 threads of 100; user 33 has 21 of
    // 200 and is closer to its limit.
    proc.host(90, 901);
    let found = group(&mut sampler);
    assert_eq!(
        (&found["user_tasks"], &found["user_tasks_limit"]),
        (&json!(21), &json!(200))
    );
    // The limit does not apply to the superuser.
    let single = proc.put(Made {
        user: 0,
        ..Made::new(950, 1, 60)
    });
    let mut sampler = proc.sampler(&[("tree", single)], None);
    let found = group(&mut sampler);
    assert_eq!(
        (&found["user_tasks"], &found["user_tasks_limit"]),
        (&json!(7), &Value::Null)
    );
}

#[test]
fn the_busiest_process_has_the_largest_share_of_a_cpu() {
    let proc = Proc::new("busiest");
    let root = proc.put(Made::new(100, 1, 50));
    let calm = proc.put(Made {
        own: [9; 4],
        ran: [80_000_000, 0, 9],
        ..Made::new(101, 100, 60)
    });
    let busy = proc.put(Made {
        ran: [7_000_000, 2_000_000, 1],
        ..Made::new(102, 100, 60)
    });
    let last = proc.put(Made::new(103, 100, 60));
    let mut sampler = proc.sampler(&[("tree", root)], None);
    let before = sample(&mut sampler);
    proc.put(Made {
        own: [10; 4],
        ran: [90_000_000, 0, 10],
        ..calm
    });
    proc.put(Made {
        own: [4; 4],
        ran: [47_000_000, 12_000_000, 2],
        ..busy
    });
    proc.put(Made {
        own: [1; 4],
        ran: [5_000_000, 0, 1],
        ..last
    });
    let after = sample(&mut sampler);
    let found = &after["groups"]["tree"];
    assert_eq!(found["busiest_process"]["pid"], 102);
    assert_eq!(
        (
            &found["busiest_thread"]["pid"],
            &found["busiest_thread"]["tid"]
        ),
        (&json!(102), &json!(102))
    );
    let of = |key: &str| found["busiest_thread"][key].as_f64().expect("a number");
    // Between the samples, the CPU time grew by 40 ms and the wait for a CPU by 10 ms, so their ratio is 0.25.
    assert!((of("waits") / of("cpus") - 0.25).abs() < 1e-12);
    let ns = |sample: &Value| sample["t_ns"].as_u64().expect("a number") as f64;
    let took = after["probe"]["took_s"].as_f64().expect("a number");
    let longest = (ns(&after) - ns(&before)) / 1e9 + took;
    assert!(of("cpus") >= 0.04 / longest && of("cpus").is_finite());
    let process = found["busiest_process"]["cpus"].as_f64().expect("a number");
    assert!(process >= 0.04 / longest);
}

#[test]
fn sockets_are_those_of_a_member_inside_the_network_of_the_group() {
    let proc = Proc::new("network");
    let networked = |pid: u32, network: u32, sockets: u32| {
        proc.put(Made::new(
            pid,
            if pid == 100 { 1 } else { 100 },
            u64::from(pid),
        ));
        fs::create_dir_all(proc.0.join(format!("{pid}/ns"))).expect("a folder");
        symlink(
            format!("net:[{network}]"),
            proc.0.join(format!("{pid}/ns/net")),
        )
        .expect("a link");
        proc.write(
            &format!("{pid}/net/sockstat"),
            &format!("TCP: inuse {sockets} orphan 0 tw 5 alloc 9 mem 1\n"),
        );
    };
    networked(100, 1, 3);
    let root = Made::new(100, 1, 100);
    let mut alone = proc.sampler(&[("tree", root)], None);
    assert_eq!(
        group(&mut alone)["ports"],
        json!({"network": 1, "sockets": 8})
    );
    networked(101, 2, 40);
    let mut guarded = proc.sampler(&[("tree", root)], None);
    assert_eq!(
        group(&mut guarded)["ports"],
        json!({"network": 2, "sockets": 45})
    );
}

#[test]
fn the_observer_reports_its_own_cpu_time_without_that_of_its_children() {
    let proc = Proc::new("observer");
    let root = proc.put(Made::new(100, 1, 50));
    let observer = proc.put(Made {
        own: [120, 34, 0, 0],
        children: [900; 4],
        ..Made::new(77, 1, 9)
    });
    proc.write("self/statm", "50 20 1 1 0 1 0\n");
    let mut sampler = proc.sampler(&[("tree", root)], Some(observer.pid));
    let found = sample(&mut sampler)["probe"].take();
    assert_eq!(found["observer_cpu_s_total"], 1.54);
    assert_eq!(found["resident_bytes"], 20 * page_bytes(&mut sampler));
}

/// Returns the size of a page, from the resident set of a group of one process with ten pages. [bytes]
fn page_bytes(sampler: &mut Sampler) -> u64 {
    group(sampler)["resident_sets_bytes"]
        .as_u64()
        .expect("a number")
        / 10
}
