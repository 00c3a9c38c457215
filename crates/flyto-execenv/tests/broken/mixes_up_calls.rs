//! Takes a call for a repetition of another one in flight, whose command line is the same.

use std::{
    collections::HashMap,
    ffi::OsString,
    sync::{Arc, Mutex},
};

use flyto_execenv::{Running, Spec, Stdin};

use super::{ControlFault, Fault, break_control, check};

type InFlight = Arc<Mutex<HashMap<Vec<OsString>, (usize, Stdin)>>>;

#[derive(Debug, Default)]
pub(super) struct MixesUpCalls(InFlight);

impl Fault for MixesUpCalls {
    fn spec(&self, mut spec: Spec) -> Spec {
        let mut in_flight = self.0.lock().expect("nobody panics with it");
        let entry = in_flight.entry(spec.args.clone()).or_insert((0, spec.stdin.clone()));
        entry.0 += 1;
        spec.stdin = entry.1.clone();
        spec
    }

    fn running(&self, spec: &Spec, running: Running) -> Running {
        break_control(running, Entry(Arc::clone(&self.0), spec.args.clone()))
    }
}

/// One call in the table, as long as its control lives.
struct Entry(InFlight, Vec<OsString>);

impl ControlFault for Entry {}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut in_flight = self.0.lock().expect("nobody panics with it");
        if let Some(entry) = in_flight.get_mut(&self.1) {
            entry.0 -= 1;
            if entry.0 == 0 {
                in_flight.remove(&self.1);
            }
        }
    }
}

#[test]
fn a_call_gets_the_input_of_another() {
    check::<MixesUpCalls>(&["calls-do-not-mix"]);
}
