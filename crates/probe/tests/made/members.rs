//! Tests which processes belong to a group, and the totals that remain when processes leave the group.

use serde_json::{Value, json};
use towtank_probe::Sampler;
use towtank_probe::control::Command;

use crate::proc::{Made, Proc, group, replace, sample, totals};

#[test]
fn the_list_of_processes_is_read_again_after_a_process_was_started() {
    let proc = Proc::new("started");
    let root = proc.put(Made::new(100, 1, 50));
    proc.host(2, 100);
    let mut sampler = proc.sampler(&[("tree", root)], None);
    assert_eq!(group(&mut sampler)["processes"], 1);
    proc.put(Made::new(101, 100, 60));
    assert_eq!(
        group(&mut sampler)["processes"],
        1,
        "no process id was assigned"
    );
    proc.host(3, 101);
    assert_eq!(group(&mut sampler)["processes"], 2);
    // Process 102 is a grandchild of the root and a child of a member. Process 103 belongs to another session, and not
    // to the group.
    proc.put(Made::new(102, 101, 70));
    proc.put(Made::new(103, 1, 70));
    proc.host(5, 103);
    assert_eq!(group(&mut sampler)["processes"], 3);
}

#[test]
fn a_process_id_that_was_used_again_is_no_member() {
    let proc = Proc::new("again");
    let root = proc.put(Made {
        own: [10; 4],
        ..Made::new(100, 1, 50)
    });
    let child = proc.put(Made {
        own: [5; 4],
        ..Made::new(101, 100, 60)
    });
    proc.host(3, 101);
    let mut sampler = proc.sampler(&[("tree", root)], None);
    assert_eq!(totals(&group(&mut sampler))[0], 150);
    proc.end(child);
    proc.end(root);
    // The kernel assigns process ids from the lowest again, so other processes now have these ids.
    proc.put(Made {
        own: [900; 4],
        ..Made::new(100, 1, 500)
    });
    proc.put(Made {
        own: [900; 4],
        ..Made::new(101, 1, 500)
    });
    proc.host(3, 90);
    for _ in 0..2 {
        let found = group(&mut sampler);
        assert_eq!(totals(&found)[..4], [150, 150, 15, 15]);
        assert_eq!(
            (&found["processes"], &found["alive"]),
            (&json!(0), &json!(false))
        );
    }
}

#[test]
fn totals_continue_if_a_younger_root_takes_over() {
    let proc = Proc::new("younger");
    let root = proc.put(Made {
        own: [10; 4],
        io: [3; 4],
        ..Made::new(100, 1, 50)
    });
    let child = proc.put(Made {
        own: [5; 4],
        io: [4; 4],
        ..Made::new(101, 100, 60)
    });
    proc.host(3, 101);
    let mut sampler = proc.sampler(&[("tree", root)], None);
    assert_eq!(totals(&group(&mut sampler)), [150, 150, 15, 15, 7, 7, 7, 7]);
    // The child becomes the root and stays a member; the old root leaves.
    replace(&mut sampler, child);
    let found = group(&mut sampler);
    assert_eq!(totals(&found), [150, 150, 15, 15, 7, 7, 7, 7]);
    assert_eq!(
        (&found["processes"], &found["root_pid"]),
        (&json!(1), &json!(101))
    );
    assert_eq!(found["root_start_ticks"], 60);
    proc.put(Made {
        own: [800; 4],
        io: [800; 4],
        ..root
    });
    assert_eq!(totals(&group(&mut sampler)), [150, 150, 15, 15, 7, 7, 7, 7]);
    // A root with the same start time is not older, so the totals continue.
    let other = proc.put(Made {
        own: [2; 4],
        io: [5; 4],
        ..Made::new(300, 1, 60)
    });
    let below = proc.put(Made {
        own: [1; 4],
        ..Made::new(301, 300, 61)
    });
    proc.host(5, 301);
    replace(&mut sampler, other);
    let found = group(&mut sampler);
    assert_eq!(totals(&found), [180, 180, 18, 18, 12, 12, 12, 12]);
    assert_eq!(
        (&found["processes"], &found["alive"]),
        (&json!(2), &json!(true))
    );
    proc.end(below);
    assert_eq!(totals(&group(&mut sampler))[..4], [180, 180, 18, 18]);
}

#[test]
fn totals_begin_anew_if_an_older_root_takes_over() {
    let proc = Proc::new("older");
    let parent = proc.put(Made {
        own: [1; 4],
        children: [7; 4],
        ..Made::new(100, 1, 50)
    });
    let root = proc.put(Made {
        own: [10; 4],
        ..Made::new(101, 100, 51)
    });
    let mut sampler = proc.sampler(&[("tree", root)], None);
    assert_eq!(totals(&group(&mut sampler))[..4], [100, 100, 10, 10]);
    replace(&mut sampler, parent);
    let found = group(&mut sampler);
    assert_eq!(totals(&found)[..4], [180, 180, 18, 18]);
    assert_eq!(
        (&found["processes"], &found["root_pid"]),
        (&json!(2), &json!(100))
    );
}

#[test]
fn traces_of_members_show_who_belongs_to_the_group() {
    let proc = Proc::new("traces");
    proc.put(Made {
        image: 7,
        ..Made::new(90, 1, 10)
    });
    let root = proc.put(Made {
        image: 8,
        ..Made::new(100, 90, 50)
    });
    let other = proc.put(Made {
        image: 9,
        ..Made::new(200, 90, 50)
    });
    proc.host(4, 200);
    let mut sampler = proc.sampler(&[("tree", root), ("other", other)], None);
    let both = |sampler: &mut Sampler| {
        let groups = sample(sampler)["groups"].take();
        ["tree", "other"].map(|name| groups[name]["processes"].as_u64().expect("a number"))
    };
    assert_eq!(both(&mut sampler), [1, 1]);
    // The parents of these processes have ended. Process 301 has the memory layout of the root, so it belongs to the
    // group. Process 302 has the layout of the shell that started both groups. Process 303 is older than the root.
    proc.put(Made {
        image: 8,
        ..Made::new(301, 1, 70)
    });
    proc.put(Made {
        image: 7,
        ..Made::new(302, 1, 70)
    });
    proc.put(Made {
        image: 8,
        ..Made::new(303, 1, 49)
    });
    proc.host(7, 303);
    assert_eq!(both(&mut sampler), [2, 1]);
    // Process 310 is a member and leads a session. Another process of this session has lost its parent.
    let leader = proc.put(Made {
        session: 310,
        ..Made::new(310, 301, 80)
    });
    proc.put(Made {
        session: 310,
        ..Made::new(311, 1, 81)
    });
    proc.host(9, 311);
    assert_eq!(both(&mut sampler), [4, 1]);
    proc.end(leader);
    assert_eq!(both(&mut sampler), [3, 1]);
}

#[test]
fn a_group_that_is_dropped_has_no_values() {
    let proc = Proc::new("dropped");
    let (one, two) = (
        proc.put(Made::new(100, 1, 50)),
        proc.put(Made::new(200, 1, 50)),
    );
    let mut sampler = proc.sampler(&[("tree", one), ("other", two)], None);
    sampler.follow(&Command::Drop("tree".into()));
    let groups = sample(&mut sampler)["groups"].take();
    assert_eq!(groups["tree"], Value::Null);
    assert_eq!(groups["other"]["processes"], 1);
}
