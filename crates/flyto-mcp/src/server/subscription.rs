//! Changes of the list of tools, told to the clients that want to know.
//!
//! A change is told once, however many tools it is about: the client asks for the list again. Changes that come while one is
//! being told are told as one more.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json, value::to_raw_value};

use super::{
    fault::Fault,
    message::{Id, Notification},
    params::Filter,
    peer::Peer,
};

/// Most subscriptions of one client. One is enough for all that there is to hear.
const MAX_SUBSCRIPTIONS: usize = 16;
/// The key of the subscription in the `_meta` of what is sent for it.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// The subscriptions of a client of the new era.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<Vec<(Id, Filter)>>);

impl Subscriptions {
    /// Opens one by the id of its request.
    ///
    /// # Errors
    ///
    /// There are too many, or the id is in use.
    pub(crate) fn open(&self, id: &Id, filter: Filter) -> Result<(), Fault> {
        let mut open = self.open_ones();
        if open.iter().any(|(it, _)| it == id) {
            return Err(Fault::invalid_request("a request with this id is in flight"));
        }
        if open.len() >= MAX_SUBSCRIPTIONS {
            let why = format!("there are {MAX_SUBSCRIPTIONS} subscriptions already");
            return Err(Fault::invalid_request(why));
        }
        open.push((id.clone(), filter));
        Ok(())
    }

    /// Whether a subscription has this id.
    pub(crate) fn is_open(&self, id: &Id) -> bool {
        self.open_ones().iter().any(|(it, _)| it == id)
    }

    /// Closes one that the client takes back; nothing more is sent for it.
    pub(crate) fn close(&self, id: &Id) {
        self.open_ones().retain(|(it, _)| it != id);
    }

    fn open_ones(&self) -> MutexGuard<'_, Vec<(Id, Filter)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peer {
    /// Tells the client that its subscription is open, and what it will hear of.
    pub(crate) async fn acknowledge(&self, id: &Id) {
        let open = self.session.subscriptions.open_ones().clone();
        let Some((_, filter)) = open.iter().find(|(it, _)| it == id) else { return };
        let heard =
            if filter.tools_list_changed { json!({"toolsListChanged": true}) } else { json!({}) };
        let params = json!({"notifications": heard, "_meta": subscription(id)});
        let message = Notification::new("notifications/subscriptions/acknowledged", params);
        let _ = self.outbox.send(&message).await;
    }

    /// Tells the client that the list of tools is another one.
    pub(crate) async fn tell_changes(&self) {
        const METHOD: &str = "notifications/tools/list_changed";
        if self.server.options.discovery {
            // The list is the two tools, whatever they find.
            return;
        }
        if self.is_legacy() {
            let _ = self.outbox.send(&Notification::new(METHOD, json!({}))).await;
        }
        let open = self.session.subscriptions.open_ones().clone();
        for (id, _) in open.iter().filter(|(_, filter)| filter.tools_list_changed) {
            let params = json!({"_meta": subscription(id)});
            let _ = self.outbox.send(&Notification::new(METHOD, params)).await;
        }
    }

    /// Ends every subscription in order, as a server does that is about to end.
    pub(crate) async fn end_subscriptions(&self) {
        let open = std::mem::take(&mut *self.session.subscriptions.open_ones());
        for (id, _) in open {
            let mut meta = self.server.result_meta();
            meta[SUBSCRIPTION_KEY] = json!(id);
            let result = to_raw_value(&json!({"resultType": "complete", "_meta": meta}));
            let result = result.map_err(|err| Fault::unwritable(&err));
            self.answer(Some(&id), &result).await;
        }
    }
}

fn subscription(id: &Id) -> Value {
    json!({SUBSCRIPTION_KEY: id})
}
