//! One program, from its record to the proof that nothing of it is left.

use core::{
    ffi::c_void,
    sync::atomic::{AtomicBool, Ordering},
};

use flyto_supervision::{Order, Reached, Report, ReportKind, Stage, Start, StartFlags};

use crate::{
    bare::{
        clone3,
        child::{Attempt, Failed},
        sys::{self, CloneArgs, MadeBy, address, clone, errno},
    },
    cpu::TreeTime,
    end::{end_all, sweep, sweep_for_good},
    exit, failure,
    files::Held,
    memory::{Pages, file_size},
    process::{
        Descriptor, Polled, SIGCONT, SIGKILL, SIGTERM, Used, Wait, now_ns, poll, reap, signal, wait_for,
    },
    setup::SupervisorContext,
    shared_memory::Mounted,
    socket::{Asked, Message, SOCKET, order, report},
    start::with_launch,
    tree::{Load, continue_stopped, load, signal_tree},
    trial::untrue,
};

/// How often a tree is looked at that has a bound on its memory or CPU time: every 20 ms. A look costs
/// some 20 µs for each process.
const LOOK_NS: u64 = 20_000_000;

/// How often stopped processes are woken while a grace lasts: every 100 ms.
const CONTINUE_NS: u64 = 100_000_000;

/// How long after its time the first process of a namespace is killed, if it has not ended its program: 1 s.
const BACKSTOP_NS: u64 = 1_000_000_000;

/// Runs the program of a message. Returns when the supervisor can take the next one.
pub(crate) fn serve(context: &SupervisorContext, message: Message<'_>) {
    match &context.namespace {
        Some(stack) => serve_in_namespace(context, stack, message),
        None => run(context, message),
    }
}

fn run(context: &SupervisorContext, message: Message<'_>) {
    if let Err(failed) = attempt(context, message) {
        tell_failure(failed);
    }
}

/// Starts the program, and stays with it until nothing of it is left. What the child reads before its
/// program is in place is in frames from here on, or in the message.
fn attempt(context: &SupervisorContext, message: Message<'_>) -> Result<(), Failed> {
    let bad = Failed { stage: Stage::Message, errno: errno::BADMSG };
    let received = now_ns();
    let Message { record, descriptors, is_cut } = message;
    if is_cut {
        return Err(Failed { stage: Stage::Message, errno: errno::MFILE });
    }
    let given = descriptors.as_slice();
    // One byte says that the record is a file, which came as the last descriptor.
    let file;
    let (record, given) = match (record, given.split_last()) {
        ([0], Some((last, others))) => {
            let memory = |errno| Failed { stage: Stage::Memory, errno };
            file = file_size(*last).and_then(|it| Pages::of_file(*last, it)).map_err(memory)?;
            (file.bytes(), others)
        }
        _ => (record, given),
    };
    let wanted = Start::read(record).ok_or(bad)?;
    with_launch(context, &wanted, given, |launch| {
        let reports_start = wanted.flags.has(StartFlags::REPORT_START);
        // To wait for a program to be in place is two more changes of the process that runs, which
        // are not needed. But Linux spares a child that is waited for when memory runs out, and ends with
        // another one all that share its memory: where its cgroup has little, it is waited for.
        let is_waited_for = reports_start || context.cgroup.is_some();
        let time = TreeTime::begin(context.cgroup_time.as_ref(), wanted.cpu_ns > 0);
        // Before the program: a file that it makes while this process does not run would be older than the call, and
        // what it holds until the first look would count for no call.
        let held = if wanted.memory_bytes > 0 { Held::new().ok() } else { None };
        let attempt = Attempt::new(launch, if is_waited_for { clone::VFORK } else { 0 });
        // SAFETY: the record was checked, the descriptors are open, and all of it stays until no child
        // is left.
        let leader = unsafe { attempt.start() }?;
        // The child has copies. Ours would keep its streams from ending.
        let held_input = match (wanted.flags.has(StartFlags::HELD_INPUT), given.last()) {
            (true, Some(input)) => Some(descriptors.close_but(*input)),
            _ => {
                descriptors.close();
                None
            }
        };
        if reports_start && attempt.failed().is_none() {
            report(&Report { pid: leader as u32, ..Report::new(ReportKind::Started) });
        }
        let call = Call {
            leader,
            attempt: &attempt,
            cpu_ns: wanted.cpu_ns,
            memory_bytes: wanted.memory_bytes,
            deadline: match wanted.deadline_ns {
                0 => None,
                after => Some(received.saturating_add(after)),
            },
            now_ns: Some(received),
            grace_ms: wanted.grace_ms,
            status: None,
            used: Used::default(),
            time,
            held,
            held_input,
            reached: Reached::Nothing,
            leaked: 0,
            cgroup_is_spent: false,
        };
        call.attend(context);
        Ok(())
    })
}

struct Call<'a> {
    leader: i32,
    attempt: &'a Attempt<'a>,
    cpu_ns: u64,
    memory_bytes: u64,
    /// When the supervisor ends the tree without an order. The host orders that a moment before, unless it is
    /// stopped.
    deadline: Option<u64>,
    /// The time of the receipt, until the first wait: it is some 50 µs ago then, which that wait may be longer.
    now_ns: Option<u64>,
    grace_ms: u32,
    /// How the program ended, once it was waited for.
    status: Option<u32>,
    used: Used,
    time: TreeTime<'a>,
    /// Where memory is bounded: what the tree holds without having it mapped.
    held: Option<Held>,
    /// The other end of the program's stdin, until its call begins: with the host's alone, the end of a host that is
    /// killed would be the end of the input before this process has ended the tree.
    held_input: Option<Descriptor>,
    reached: Reached,
    /// Processes that outlived the program and were killed.
    leaked: u32,
    /// Whether what is started in the programs' cgroup from now on would be killed at once.
    cgroup_is_spent: bool,
}

/// What is left after a look at children that ended.
#[derive(PartialEq, Eq)]
enum Left {
    NoProcess,
    Processes,
}

impl Call<'_> {
    fn attend(mut self, context: &SupervisorContext) {
        loop {
            let [socket, host] = [SOCKET, context.host].map(Polled::readable);
            let mut polled = [socket, host, context.ends.polled()];
            let looks = self.cpu_ns > 0 || self.memory_bytes > 0;
            poll(&mut polled, self.pause_ns(looks));
            let [asked, is_alone, died] = polled.map(|it| it.happened != 0);
            if is_alone {
                end_all(context);
            }
            // Orphans that have ended would fill the tree's places if they were not waited for.
            if died && self.collect(context) == Left::NoProcess {
                return self.tell_end(context, true);
            }
            if self.status.is_some() {
                report(&Report { status: self.status(), ..Report::new(ReportKind::Exited) });
                return self.attend_rest(context);
            }
            if asked {
                match order() {
                    Asked::Order(Order::End { grace_ms }) => return self.end(context, grace_ms),
                    Asked::Order(Order::Signal { signal: number, to_tree }) => {
                        match to_tree {
                            true if number == SIGCONT && self.held_input.is_some() => {
                                self.begin_call(context);
                            }
                            true => signal_tree(context, number),
                            false => signal(self.leader, number),
                        }
                    }
                    Asked::Nothing => {}
                    Asked::HungUp => end_all(context),
                }
            }
            if looks && self.is_over(context) {
                return self.kill(context);
            }
            if self.is_late() {
                self.reached = Reached::Deadline;
                let grace_ms = self.grace_ms;
                return self.end(context, grace_ms);
            }
        }
    }

    /// Its call begins: its input is the host's alone, its CPU time counts from here on, and what was stopped meanwhile goes on. To a
    /// process that was not, SIGCONT could mean something else.
    fn begin_call(&mut self, context: &SupervisorContext) {
        self.held_input = None;
        if self.cpu_ns > 0 {
            let load = load(context, self.time.seen(), None);
            self.cpu_ns = self.cpu_ns.saturating_add(self.used_ns(&load));
        }
        continue_stopped(context);
    }

    /// How long to wait for something to happen.
    fn pause_ns(&mut self, looks: bool) -> Option<u64> {
        let look = looks.then_some(LOOK_NS);
        let now = self.now_ns.take();
        let left = self.deadline.map(|it| it.saturating_sub(now.unwrap_or_else(now_ns)));
        match (look, left) {
            (Some(look), Some(left)) => Some(look.min(left)),
            (look, left) => look.or(left),
        }
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|it| now_ns() >= it)
    }

    /// The program has ended, others have not. They are left alone until the host has read what it
    /// wants to of their output.
    fn attend_rest(mut self, context: &SupervisorContext) {
        loop {
            let [socket, host] = [SOCKET, context.host].map(Polled::readable);
            let mut polled = [socket, host, context.ends.polled()];
            let looks = self.cpu_ns > 0 || self.memory_bytes > 0;
            poll(&mut polled, self.pause_ns(looks));
            let [asked, is_alone, died] = polled.map(|it| it.happened != 0);
            if is_alone {
                end_all(context);
            }
            if died {
                self.collect(context);
            }
            if asked {
                match order() {
                    Asked::Order(Order::End { .. }) => return self.kill(context),
                    Asked::Order(Order::Signal { signal: number, to_tree: true }) => {
                        signal_tree(context, number);
                    }
                    Asked::Order(Order::Signal { .. }) | Asked::Nothing => {}
                    Asked::HungUp => end_all(context),
                }
            }
            if looks {
                self.collect(context);
                if self.is_over(context) {
                    // The next order finds nothing, and says so.
                    let swept = sweep(context, self.leader, &mut self.used);
                    if !swept.confirmed {
                        sweep_for_good(context);
                    }
                    self.leaked += swept.killed;
                    self.cgroup_is_spent = swept.cgroup_is_spent;
                    self.cpu_ns = 0;
                    self.memory_bytes = 0;
                }
            }
            if self.is_late() {
                return self.kill(context);
            }
        }
    }

    /// Waits for every child that has ended.
    fn collect(&mut self, context: &SupervisorContext) -> Left {
        // First: a child that ends from now on is reported again.
        context.ends.clear();
        loop {
            match reap(-1, &mut self.used) {
                Wait::Reaped(reaped) if reaped.pid == self.leader && self.status.is_none() => {
                    self.status = Some(reaped.status);
                }
                Wait::Reaped(_) => {}
                Wait::Alive => return Left::Processes,
                Wait::None => return Left::NoProcess,
            }
        }
    }

    /// Asks everything to end, gives it time, and kills what is left. Bounds hold meanwhile: a tree that is over one
    /// has no more time.
    fn end(mut self, context: &SupervisorContext, grace_ms: u32) {
        if grace_ms == 0 {
            return self.kill(context);
        }
        let until = now_ns() + u64::from(grace_ms) * 1_000_000;
        signal_tree(context, SIGTERM);
        signal_tree(context, SIGCONT);
        let looks = self.cpu_ns > 0 || self.memory_bytes > 0;
        let pause_ns = if looks { LOOK_NS } else { CONTINUE_NS };
        let mut continue_at = now_ns() + CONTINUE_NS;
        loop {
            let now = now_ns();
            if now >= until {
                return self.kill(context);
            }
            let [socket, host] = [SOCKET, context.host].map(Polled::readable);
            let mut polled = [socket, host, context.ends.polled()];
            poll(&mut polled, Some((until - now).min(pause_ns)));
            let [asked, is_alone, died] = polled.map(|it| it.happened != 0);
            if is_alone {
                end_all(context);
            }
            if died && self.collect(context) == Left::NoProcess {
                return self.tell_end(context, true);
            }
            if asked {
                match order() {
                    Asked::Order(Order::End { grace_ms: 0 }) => return self.kill(context),
                    Asked::Order(Order::Signal { signal: SIGKILL, to_tree: true }) => {
                        return self.kill(context);
                    }
                    Asked::Order(_) | Asked::Nothing => {}
                    Asked::HungUp => end_all(context),
                }
            }
            if looks && self.is_over(context) {
                return self.kill(context);
            }
            if now_ns() >= continue_at {
                // Stopped since, or stopped again: it hears of the request only once it goes on.
                signal_tree(context, SIGCONT);
                continue_at = now_ns() + CONTINUE_NS;
            }
        }
    }

    fn kill(mut self, context: &SupervisorContext) {
        let was_over = self.status.is_some();
        let swept = sweep(context, self.leader, &mut self.used);
        self.status = self.status.or(swept.leader);
        // What was killed together with the program did not outlive it.
        self.leaked += if was_over { swept.killed } else { 0 };
        self.cgroup_is_spent |= swept.cgroup_is_spent;
        self.tell_end(context, swept.confirmed);
        if !swept.confirmed {
            end_all(context);
        }
    }

    /// Whether the tree is over one of its bounds; remembers which.
    fn is_over(&mut self, context: &SupervisorContext) -> bool {
        let load = load(context, self.time.seen(), self.held.as_mut());
        if self.cpu_ns > 0 && self.used_ns(&load) > self.cpu_ns {
            self.reached = Reached::Cpu;
        } else if self.memory_bytes > 0 && load.memory_bytes > self.memory_bytes {
            self.reached = Reached::Memory;
        }
        self.reached != Reached::Nothing
    }

    /// The CPU time of the tree: the larger of what was waited for with what is alive, and what the cgroup or all looks tell.
    fn used_ns(&self, load: &Load) -> u64 {
        let used_ns = (self.used.user_us + self.used.system_us) * 1_000 + load.cpu_ns;
        used_ns.max(self.time.now_us() * 1_000)
    }

    /// A program that could not be waited for counts as killed: nothing else ends one unseen.
    fn status(&self) -> u32 {
        self.status.unwrap_or(SIGKILL)
    }

    fn tell_end(&mut self, context: &SupervisorContext, confirmed: bool) {
        self.time.complete(&mut self.used);
        if let Some(failed) = self.attempt.failed().filter(|_| confirmed) {
            return tell_failure(failed);
        }
        IS_TOLD.store(true, Ordering::Relaxed);
        // The next program is not to find what this one has left, which goes with the supervisor. To remove it would
        // take a walk through directories that a program has made.
        let is_untouched = context.shared_memory.as_ref().is_none_or(Mounted::is_untouched);
        let end = Report {
            status: self.status(),
            reached: self.reached,
            confirmed,
            serves_on: confirmed && !self.cgroup_is_spent && is_untouched,
            leaked: self.leaked,
            ..Report::new(ReportKind::Ended)
        };
        report(&self.used.add_to(end));
    }
}

fn tell_failure(failed: Failed) {
    IS_TOLD.store(true, Ordering::Relaxed);
    report(&failure(failed));
}

/// Whether the first process of a namespace has told the host how it ended, or was about to.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// What both processes see of each other.
struct Shared<'a> {
    context: &'a SupervisorContext,
    message: Option<Message<'a>>,
}

/// Runs the program below a first process of a new PID namespace, which shares memory and descriptors
/// with this one.
///
/// When that process ends, by itself or by `SIGKILL`, the kernel ends all others of the namespace
/// (pid_namespaces(7)). It dies with the supervisor, and it hears itself when the host is gone.
///
/// That process keeps the deadline of its program, and this one keeps it for a process that is traced or stopped:
/// [`BACKSTOP_NS`] later. A record that came as a file is not looked into for that.
fn serve_in_namespace(context: &SupervisorContext, stack: &Pages, message: Message<'_>) {
    let backstop = Start::read(message.record).filter(|it| it.deadline_ns > 0).map(|it| {
        let grace_ns = u64::from(it.grace_ms) * 1_000_000;
        now_ns().saturating_add(it.deadline_ns).saturating_add(grace_ns).saturating_add(BACKSTOP_NS)
    });
    let mut shared = Shared { context, message: Some(message) };
    let args = CloneArgs {
        flags: clone::VM | clone::FILES | clone::NEWPID,
        exit_signal: u64::from(sys::SIGCHLD),
        stack: address(stack.bytes()) as u64,
        stack_size: stack.bytes().len() as u64,
        ..CloneArgs::default()
    };
    IS_TOLD.store(false, Ordering::Relaxed);
    // SAFETY: the stack and all that `shared` leads to stay until that process has ended, which is
    // waited for below, and this process touches none of it before.
    let pid = match unsafe { clone3::make(&args, context.cookie, first, (&raw mut shared).cast()) } {
        Ok(pid) => pid,
        Err(errno) => return report(&failure(Failed { stage: Stage::Namespace, errno })),
    };
    let mut used = Used::default();
    let time = TreeTime::begin(context.cgroup_time.as_ref(), false);
    let ended = loop {
        let mut polled = [Polled::readable(context.host), Polled::hung_up(SOCKET), context.ends.polled()];
        poll(&mut polled, backstop.map(|it| it.saturating_sub(now_ns())));
        let [is_alone, hung_up, died] = polled.map(|it| it.happened != 0);
        if is_alone || hung_up || backstop.is_some_and(|it| now_ns() >= it) {
            // That process knows it too, unless a program traces it, as root may.
            signal(pid, SIGKILL);
            break wait_for(pid, &mut used);
        }
        if died {
            context.ends.clear();
            match reap(pid, &mut used) {
                Wait::Alive => {}
                ended => break ended,
            }
        }
    };
    if !matches!(ended, Wait::Reaped(reaped) if reaped.status == 0) {
        // It was killed, and everything in its namespace with it. What it had open is open still, in
        // this process. A host that has been told does not need a second report.
        if !IS_TOLD.load(Ordering::Relaxed) {
            time.complete(&mut used);
            let is_late = backstop.is_some_and(|it| now_ns() >= it);
            let end = Report {
                status: SIGKILL,
                reached: if is_late { Reached::Deadline } else { Reached::Nothing },
                serves_on: false,
                ..Report::new(ReportKind::Ended)
            };
            report(&used.add_to(end));
        }
        exit(0);
    }
}

const PR_SET_PDEATHSIG: usize = 1;

extern "C" fn first(shared: *mut c_void, _: MadeBy) -> ! {
    let shared = shared.cast::<Shared<'_>>();
    // SAFETY: numbers. The supervisor has one thread, so its end is the end of that thread.
    let _ =
        unsafe { sys::numbers(sys::number::PRCTL, &[PR_SET_PDEATHSIG, SIGKILL as usize, 0, 0, 0]) };
    // SAFETY: asks for a number.
    if unsafe { sys::numbers(sys::number::GETPID, &[]) } != Ok(1) {
        // The system said that it made a namespace.
        tell_failure(untrue(Stage::Namespace));
        exit(1);
    }
    // SAFETY: the supervisor lends it to us and waits for our end.
    let (context, message) = unsafe { ((*shared).context, (*shared).message.take()) };
    if let Some(message) = message {
        run(context, message);
    }
    exit(0)
}
