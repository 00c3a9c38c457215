//! What one side writes, the other reads; what is no record is none.

use flyto_supervision::{
    Bound, MAX_BOUNDS, Order, Reached, Report, ReportKind, SelfMount, Setup, SetupFlags,
    SharedMemory, Stage, Start, StartFlags,
};

#[test]
fn what_is_written_is_read() {
    let all = [
        SelfMount { read_only: false, device: 1, inode: u64::MAX, path: c"/a/.git" },
        SelfMount { read_only: true, device: u64::MAX, inode: 2, path: c"/a/.git/hooks" },
    ];
    let mut mounts = Vec::new();
    all.iter().for_each(|it| it.write(&mut mounts));
    let setup = Setup {
        flags: SetupFlags::USER_NAMESPACE.with(SetupFlags::CGROUP),
        uid_map: b"0 0 1",
        gid_map: b"",
        filter: &[1; 16],
        cookie: [7, u64::MAX],
        mounts: &mounts,
        shared_memory: SharedMemory { size_bytes: 64 << 20, rights: 3 },
    };
    let mut record = Vec::new();
    setup.write(&mut record);
    assert_eq!(Setup::read(&record), Some(setup));
    assert!(SelfMount::all(&mounts).eq(all.map(Some)));
    for n in 1..mounts.len() {
        let cut = Setup { mounts: &mounts[..n], ..setup };
        record.clear();
        cut.write(&mut record);
        let is_whole = n == 1 + 16 + all[0].path.count_bytes() + 1;
        assert_eq!(Setup::read(&record), is_whole.then_some(cut), "{n}");
    }

    for order in [
        Order::Signal { signal: 15, to_tree: true },
        Order::Signal { signal: 9, to_tree: false },
        Order::End { grace_ms: 2000 },
    ] {
        assert_eq!(Order::read(&order.to_bytes()), Some(order));
    }

    let reached = [Reached::Nothing, Reached::Cpu, Reached::Memory, Reached::Deadline];
    for (i, stage) in Stage::ALL.into_iter().enumerate() {
        let report = Report {
            stage,
            reached: reached[i % reached.len()],
            confirmed: false,
            errno: 2,
            status: 0x100,
            leaked: 7,
            max_rss_kib: 1 << 40,
            user_us: 3,
            system_us: u64::MAX,
            covers_tree: true,
            ..Report::new(ReportKind::Ended)
        };
        assert_eq!(stage as usize, i);
        assert_eq!(Report::read(&report.to_bytes()), Some(report));
    }
}

fn start<'a>(text: &'a [u8], n_args: usize, n_env: usize) -> Start<'a> {
    let mut bounds = [Bound::default(); MAX_BOUNDS];
    bounds[0] = Bound { resource: 6, soft: 10, hard: 20 };
    let flags = StartFlags::NEW_SESSION;
    Start {
        flags,
        cpu_ns: 5,
        memory_bytes: 9,
        deadline_ns: 1 << 40,
        grace_ms: 2_000,
        bounds,
        n_bounds: 1,
        n_args,
        n_env,
        text,
    }
}

fn written(start: &Start<'_>) -> Vec<u8> {
    let mut record = Vec::new();
    start.write_head(&mut record);
    record.extend_from_slice(start.text);
    record
}

#[test]
fn a_start_is_read_as_written_and_its_text_must_be_whole() {
    let whole = start(b"/\0/bin/x\0x\0\0A=1\0", 2, 1);
    assert_eq!(Start::read(&written(&whole)), Some(whole));
    for (text, n_args, n_env) in [
        (&b"/\0/bin/x\0x"[..], 1, 0),
        (b"/\0/bin/x\0x\0", 2, 0),
        (b"/\0/bin/x\0x\0", 0, 0),
        (b"", 0, 0),
        (b"/\0/bin/x\0x\0", usize::MAX, 1),
    ] {
        assert_eq!(Start::read(&written(&start(text, n_args, n_env))), None, "{text:?}");
    }
}

#[test]
fn what_is_cut_off_is_no_record() {
    let record = written(&start(b"/\0/bin/x\0x\0", 1, 0));
    for n in 0..record.len() {
        assert_eq!(Start::read(&record[..n]), None, "{n}");
    }
    let report = Report::new(ReportKind::Ready).to_bytes();
    for n in 0..report.len() {
        assert_eq!(Report::read(&report[..n]), None, "{n}");
    }
    assert_eq!(Order::read(&[3, 9, 0, 0, 0, 0, 0, 0, 0, 0]), None);
}
