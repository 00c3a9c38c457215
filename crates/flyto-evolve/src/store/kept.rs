//! What a store keeps beside tools: proposals that wait, findings that a person acknowledged, and a key.
//!
//! Each is one small file that is written anew under another name and then renamed, with the lock held.

use std::collections::BTreeMap;

use flyto_security::Fingerprint;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;

use super::{
    Damaged, PENDING, QUARANTINE, Recovered, RecoveredKind, Status, Store, StoreError, Version,
    record,
};
use crate::{DefinitionHash, Proposal, ProposalSource, definition::file_name_fault};

/// The most proposals of one tool that wait: of agents, and apart from these, of people.
pub const MAX_PENDING_OF_TOOL: usize = 8;
/// The most proposals of a store that wait: of agents, and apart from these, of people.
pub const MAX_PENDING: usize = 200;

/// How many files in `pending/` that are no proposals are set aside at once: each is recorded, which waits for the disk.
const MAX_SET_ASIDE: usize = 32;

/// Why a proposal is in `quarantine`, in the name of its file.
const UNUSABLE: &str = "unusable.proposal";

const ACKS: &str = "acks.json";
const KEY: &str = "fingerprint.key";
const KEY_BYTES: usize = 32;
/// The largest file of this kind, in bytes.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// A proposal that waits for a person.
///
/// It went through all checks when it was staged, and goes through them again when it is taken up, for the tools and the
/// rules may be others by then. Its texts were looked through for secrets, and it holds none that a person would have to
/// decide about.
///
/// ```
/// use flyto_evolve::Store;
///
/// # let temp = tempfile::tempdir()?;
/// let store = Store::new(temp.path().join("evolution"));
/// for it in store.pending()? {
///     println!("{} waits since {}, proposed by {}", it.id, it.at, it.proposed_by);
/// }
/// assert!(store.pending_one("none").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Pending {
    /// By what it is named: the name of the tool and the first digits of the hash.
    pub id: String,
    /// The definition as a file holds it.
    pub definition: String,
    /// Its hash.
    pub sha256: DefinitionHash,
    /// The version on which it is based; `None` where the tool is new.
    pub base: Option<u64>,
    /// By which session, agent or person it was proposed.
    pub proposed_by: String,
    /// Since when it waits, in RFC 3339.
    pub at: String,
    /// Why it is no duplicate, in the words of its author.
    #[serde(default)]
    pub distinct_because: Option<String>,
    /// Where it came from, for one that was imported.
    #[serde(default)]
    pub imported_from: Option<String>,
    /// Whether a person proposed it.
    #[serde(default)]
    pub is_of_person: bool,
    /// The run-time tools that the steps of a composite called when it was proposed, with the hashes of their texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, DefinitionHash>,
}

/// A finding of which a person said that it is no secret.
///
/// It names the text by its fingerprint under the key of the store, so that the text itself is in no file, and holds for no
/// other text: there are no patterns here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Acknowledgement {
    /// Which text it is, under the key of the store.
    pub fingerprint: Fingerprint,
    /// The rule that found it.
    pub rule: String,
    /// By which person.
    pub by: String,
    /// When, in RFC 3339.
    pub at: String,
    /// Why it is no secret.
    pub reason: String,
}

/// The name of the tool that a proposal with this id is of.
fn tool_of(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |it| it.0)
}

impl Pending {
    /// Whether a person made it, or imported it: no tool for agents imports one.
    fn comes_from_person(&self) -> bool {
        self.is_of_person || self.imported_from.is_some()
    }

    /// The proposal that waits.
    #[must_use]
    pub fn proposal(&self) -> Proposal {
        let mut res = Proposal::new(&self.definition, &self.proposed_by);
        res.base = self.base;
        res.waits_as = Some(self.id.clone());
        res.tools_before = Some(self.tools.clone()).filter(|it| !it.is_empty());
        res.distinct_because.clone_from(&self.distinct_because);
        match &self.imported_from {
            Some(from) => res.source = ProposalSource::Imported { from: from.clone() },
            None if self.is_of_person => res.source = ProposalSource::Person,
            None => {}
        }
        res
    }
}

impl Store {
    /// Keeps a proposal for a person. The same text waits once. Where there is no room, the oldest proposal whose base has
    /// gone by gives way, since no answer can save it.
    ///
    /// Proposals of agents and those that a person made or imported are counted apart, so that an agent cannot keep a person's
    /// own proposal out.
    ///
    /// # Errors
    ///
    /// [`StoreError::Waiting`] where [`MAX_PENDING_OF_TOOL`] of the tool wait already, or [`MAX_PENDING`] in all, of agents or
    /// of people as this one, and none of them is outdated;
    /// [`StoreError::NoSpace`], [`StoreError::Locked`], [`StoreError::Io`] and [`StoreError::InvalidName`].
    pub fn stage(&self, pending: &Pending) -> Result<(), StoreError> {
        let path = self.pending_path(&pending.id)?;
        let _lock = self.lock()?;
        let mut waiting = self.told("list", PENDING, self.files().names(PENDING))?;
        let waited = waiting.iter().any(|it| it.strip_suffix(".json") == Some(&pending.id));
        let tool = |id: &str| id.rsplit_once('-').map_or("", |it| it.0).to_owned();
        let is_of_person = pending.comes_from_person();
        waiting.retain(|it| match it.strip_suffix(".json") {
            // A file that cannot be read takes no place of a person.
            Some(id) if id != pending.id => {
                self.pending_one(id).is_ok_and(|it| it.comes_from_person()) == is_of_person
            }
            _ => false,
        });
        let name = tool(&pending.id);
        let of_tool: Vec<String> = waiting.iter().filter(|it| tool(it) == name).cloned().collect();
        let is_full = of_tool.len() >= MAX_PENDING_OF_TOOL;
        let has_given_way = is_full && self.make_room(&of_tool, &pending.id)?;
        if is_full && !has_given_way {
            return Err(StoreError::Waiting { name: Some(name), limit: MAX_PENDING_OF_TOOL });
        }
        let is_full = waiting.len() - usize::from(has_given_way) >= MAX_PENDING;
        if is_full && !self.make_room(&waiting, &pending.id)? {
            return Err(StoreError::Waiting { name: None, limit: MAX_PENDING });
        }
        let text = serde_json::to_string_pretty(pending).expect("all its keys are texts");
        self.replace(&path, text.as_bytes())?;
        let content = json!({"id": pending.id, "sha256": pending.sha256});
        let told = self.log().and_then(|it| Ok(it.event("", "staged", &content)?));
        if told.is_err() && !waited {
            // The caller hears that nothing waits.
            self.told("remove", &path, self.files().remove(&path))?;
        }
        told.map(drop)
    }

    /// Removes the oldest of these proposals whose base is not the version of its tool any more, and says whether there was
    /// one. The lock is held.
    fn make_room(&self, files: &[String], id: &str) -> Result<bool, StoreError> {
        let mut oldest: Option<Pending> = None;
        for file in files {
            let found = file.strip_suffix(".json").map(|it| self.pending_one(it));
            let Some(Ok(pending)) = found else { continue };
            let name = pending.id.rsplit_once('-').map_or("", |it| it.0);
            let is_outdated = self.last(name)?.map(|it| it.number) != pending.base;
            if is_outdated && oldest.as_ref().is_none_or(|it| pending.at < it.at) {
                oldest = Some(pending);
            }
        }
        let Some(oldest) = oldest else { return Ok(false) };
        let body = json!({"id": oldest.id, "base": oldest.base, "sha256": oldest.sha256, "gives_way_to": id});
        self.log()?.event("", "outdated", &body)?;
        let path = self.pending_path(&oldest.id)?;
        self.told("remove", &path, self.files().remove(&path))?;
        Ok(true)
    }

    /// The proposals that wait, the oldest first.
    ///
    /// A file that is none of them is left out; see [`damaged_proposals`](Self::damaged_proposals). So is one that was saved by a
    /// process that was stopped before it removed the file, which [`recover`](Self::recover) does.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] where the directory cannot be listed, which [`Loaded::damaged`](crate::Loaded::damaged) tells as well.
    pub fn pending(&self) -> Result<Vec<Pending>, StoreError> {
        let mut res = Vec::new();
        for file in self.told("list", PENDING, self.files().names(PENDING))? {
            if let Some(id) = file.strip_suffix(".json")
                && let Ok(pending) = self.pending_one(id)
                && self.decided_by(&pending).is_none()
            {
                res.push(pending);
            }
        }
        res.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(res)
    }

    /// The version by which a proposal was decided whose file lies in its place still; `None` where it waits.
    ///
    /// Only one version is based on the one that the proposal is based on. It names the proposal, also where a person edited the
    /// text, or has its text. What cannot be read tells nothing.
    fn decided_by(&self, pending: &Pending) -> Option<u64> {
        let name = tool_of(&pending.id);
        let is_behind = |it: &u64| pending.base.is_none_or(|base| *it > base);
        let numbers = self.numbers(name).ok()?.into_iter().filter(is_behind);
        let mut versions = numbers.filter_map(|it| self.version(name, it).ok());
        let next = versions.find(|it| it.parent == pending.base)?;
        let is_its_text = next.status == Status::Active && next.hash() == pending.sha256;
        let is_it = next.decides.as_ref() == Some(&pending.id) || is_its_text;
        is_it.then_some(next.number)
    }

    /// Takes proposals off the list whose text was saved by a process that was stopped then. The lock is held.
    pub(super) fn take_decided_off(&self) -> Result<Vec<Recovered>, StoreError> {
        let mut res = Vec::new();
        for file in self.told("list", PENDING, self.files().names(PENDING))? {
            let found = file.strip_suffix(".json").and_then(|it| self.pending_one(it).ok());
            let Some(pending) = found else { continue };
            let Some(version) = self.decided_by(&pending) else { continue };
            self.remove_pending(&pending.id)?;
            let name = tool_of(&pending.id).to_owned();
            let kind = RecoveredKind::ProposalSaved { id: pending.id, version };
            self.log()?.event("", "recovered", &json!({"tool": name, "what": kind}))?;
            res.push(Recovered { name, kind });
        }
        Ok(res)
    }

    /// Proposals that cannot be shown or answered, since their files are damaged: those that were set aside, too. The name of
    /// a file begins with the id.
    ///
    /// ```
    /// # let temp = tempfile::tempdir()?;
    /// # let store = flyto_evolve::Store::new(temp.path().join("evolution"));
    /// for it in store.damaged_proposals()? {
    ///     eprintln!("{}: {}; propose it again", it.path.display(), it.why);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn damaged_proposals(&self) -> Result<Vec<Damaged>, StoreError> {
        let pending = self.damaged_pending()?.into_iter();
        let mut res = pending.map(|it| it.1.of_one_file()).collect::<Result<Vec<_>, _>>()?;
        let aside = self.told("list", QUARANTINE, self.files().names(QUARANTINE))?;
        let aside = aside.iter().filter(|it| it.contains(&format!(".json.{UNUSABLE}.")));
        res.extend(aside.map(|it| Damaged {
            path: self.path(&format!("{QUARANTINE}/{it}")),
            why: "it was damaged when it was set aside".to_owned(),
        }));
        Ok(res)
    }

    /// The ids of proposals in their place whose files cannot be used, with why.
    pub(super) fn damaged_pending(&self) -> Result<Vec<(String, StoreError)>, StoreError> {
        let mut res = Vec::new();
        for file in self.told("list", PENDING, self.files().names(PENDING))? {
            if let Some(id) = file.strip_suffix(".json")
                && let Err(err @ (StoreError::Damaged { .. } | StoreError::Io { .. })) =
                    self.pending_one(id)
            {
                res.push((id.to_owned(), err));
            }
        }
        Ok(res)
    }

    /// Sets aside the proposals whose files cannot be used, up to 32 of them; the next ones are for the next time, which is added
    /// to `damaged`. One that the system does not give may be intact, so it stays where it is and is added, too. The lock is held.
    pub(super) fn set_damaged_pending_aside(
        &self,
        damaged: &mut Vec<Damaged>,
    ) -> Result<Vec<Recovered>, StoreError> {
        let mut res = Vec::new();
        let mut n_left = 0;
        for (id, err) in self.damaged_pending()? {
            let StoreError::Damaged { why, .. } = err else {
                damaged.push(err.of_one_file()?);
                continue;
            };
            if res.len() >= MAX_SET_ASIDE {
                n_left += 1;
                continue;
            }
            let aside = self.quarantine(&self.pending_path(&id)?, UNUSABLE)?;
            let name = tool_of(&id).to_owned();
            let kind = RecoveredKind::ProposalSetAside { id, path: self.path(&aside), why };
            self.log()?.event("", "recovered", &json!({"tool": name, "what": kind}))?;
            res.push(Recovered { name, kind });
        }
        if n_left > 0 {
            let why = format!(
                "{n_left} more files in it are no proposals; {MAX_SET_ASIDE} are set aside each time that the tools are loaded"
            );
            damaged.push(Damaged { path: self.path(PENDING), why });
        }
        Ok(res)
    }

    /// The names of the tools of which a proposal waits, as the names of its files tell them.
    pub(crate) fn waiting_names(&self) -> Result<Vec<String>, StoreError> {
        let files = self.told("list", PENDING, self.files().names(PENDING))?;
        let name = |it: &String| Some(it.strip_suffix(".json")?.rsplit_once('-')?.0.to_owned());
        Ok(files.iter().filter_map(name).collect())
    }

    /// One proposal that waits.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Damaged`] where the file is not what was staged, [`StoreError::Io`].
    pub fn pending_one(&self, id: &str) -> Result<Pending, StoreError> {
        let path = self.pending_path(id)?;
        let damaged = |why: String| StoreError::Damaged { path: self.path(&path), why };
        let bytes = match self.files().read(&path, MAX_BYTES) {
            // A link, a directory, or too large.
            Err(err) if err.kind() == std::io::ErrorKind::Other => {
                return Err(damaged(err.to_string()));
            }
            other => self.told("read", &path, other)?,
        };
        let Some(bytes) = bytes else {
            return Err(StoreError::NotFound { name: id.to_owned(), version: None });
        };
        let pending: Pending =
            serde_json::from_slice(&bytes).map_err(|err| damaged(err.to_string()))?;
        if pending.id != id {
            return Err(damaged(format!("it says that it is {:?}", pending.id)));
        }
        let definition = record::definition_of(id, &pending.definition).map_err(&damaged)?;
        let (recorded, found) = (pending.sha256, definition.hash());
        if recorded != found {
            let (recorded, found) = (recorded.short(), found.short());
            let why = format!("its text was changed: recorded is {recorded}, found {found}");
            return Err(damaged(why));
        }
        // The person answers with the id, so it has to name this text with these tools.
        if found.with_tools(&pending.tools).proposal_id(&definition.name) != id {
            return Err(damaged("its id is that of another text, or of other tools".to_owned()));
        }
        Ok(pending)
    }

    /// Removes a proposal that waited, after a decision.
    ///
    /// # Errors
    ///
    /// [`StoreError::Decided`] where it waits no longer, else as [`stage`](Self::stage).
    pub fn unstage(&self, id: &str) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        self.check_waits(id)?;
        self.remove_pending(id)
    }

    /// Removes the file of a proposal, by the caller that has the lock.
    pub(super) fn remove_pending(&self, id: &str) -> Result<(), StoreError> {
        let path = self.pending_path(id)?;
        self.told("remove", &path, self.files().remove(&path))?;
        self.told("write to the disk", PENDING, self.files().sync_dir(PENDING))
    }

    /// Whether a proposal waits, at this moment.
    ///
    /// # Errors
    ///
    /// [`StoreError::Decided`] where it does not, with the last version of the tool where that is what was proposed.
    pub(crate) fn check_waits(&self, id: &str) -> Result<(), StoreError> {
        self.pending_path(id)?;
        let files = self.told("list", PENDING, self.files().names(PENDING))?;
        let is_there = files.iter().any(|it| it.strip_suffix(".json") == Some(id));
        let found = if is_there { self.pending_one(id).ok() } else { None };
        let decided = found.and_then(|it| self.decided_by(&it));
        if is_there && decided.is_none() {
            return Ok(());
        }
        let name = tool_of(id).to_owned();
        let is_it = |it: &Version| {
            let tools = it.approval.as_ref().map(|it| it.tools.clone()).unwrap_or_default();
            it.hash().with_tools(&tools).proposal_id(&name) == id
        };
        let version = decided.or(self.last(&name)?.filter(is_it).map(|it| it.number));
        Err(StoreError::Decided { what: format!("the proposal {id:?}"), name, version })
    }

    fn pending_path(&self, id: &str) -> Result<String, StoreError> {
        match file_name_fault(id) {
            Some(why) => Err(StoreError::InvalidName { name: id.to_owned(), why }),
            None => Ok(format!("{PENDING}/{id}.json")),
        }
    }

    /// The findings that persons acknowledged.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`], and [`StoreError::Damaged`] where the file cannot be read: it is never taken for an empty
    /// one.
    pub fn acknowledgements(&self) -> Result<Vec<Acknowledgement>, StoreError> {
        let bytes = self.told("read", ACKS, self.files().read(ACKS, MAX_BYTES))?;
        let Some(bytes) = bytes else { return Ok(Vec::new()) };
        let damaged = |err: serde_json::Error| StoreError::Damaged {
            path: self.path(ACKS),
            why: err.to_string(),
        };
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    /// Records that a person says of a finding that it is no secret. It holds for that very text, in any tool. This is for
    /// a person alone: no tool of an agent leads here.
    ///
    /// ```
    /// use flyto_evolve::Store;
    /// use flyto_security::Fingerprint;
    ///
    /// # let temp = tempfile::tempdir()?;
    /// let store = Store::new(temp.path().join("evolution"));
    /// let fingerprint = Fingerprint([7; 32]); // as a finding tells it
    /// store.acknowledge(fingerprint, "generic-api-key", "ada", "an identifier of a test system")?;
    /// assert_eq!(store.acknowledgements()?[0].fingerprint, fingerprint);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`stage`](Self::stage) and of [`acknowledgements`](Self::acknowledgements).
    pub fn acknowledge(
        &self,
        fingerprint: Fingerprint,
        rule: &str,
        by: &str,
        reason: &str,
    ) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut all = self.acknowledgements()?;
        if all.iter().any(|it| it.fingerprint == fingerprint) {
            return Ok(());
        }
        let ack = Acknowledgement {
            fingerprint,
            rule: rule.to_owned(),
            by: by.to_owned(),
            at: flyto_audit::Timestamp::now().to_string(),
            reason: reason.to_owned(),
        };
        self.log()?.event("", "acknowledged", &ack)?;
        all.push(ack);
        let text = serde_json::to_string_pretty(&all).expect("all its keys are texts");
        self.replace(ACKS, text.as_bytes())
    }

    /// The key of the fingerprints, which is made where it does not exist.
    ///
    /// # Errors
    ///
    /// Those of [`stage`](Self::stage), and [`StoreError::Damaged`] where the file is no key.
    pub fn fingerprint_key(&self) -> Result<Vec<u8>, StoreError> {
        if let Some(key) = self.read_key()? {
            return Ok(key);
        }
        let _lock = self.lock()?;
        if let Some(key) = self.read_key()? {
            return Ok(key);
        }
        let mut key = vec![0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|err| StoreError::Damaged {
            path: self.path(KEY),
            why: format!("the system has no random numbers: {err}"),
        })?;
        self.replace(KEY, &key)?;
        Ok(key)
    }

    /// HMAC-SHA-256 (RFC 2104) of a text under the key of the store, for this use of it: equal texts have equal ones, and
    /// without the key none can be tried out.
    pub(crate) fn keyed_hash(&self, usage: &str, text: &[u8]) -> Result<String, StoreError> {
        let key = self.fingerprint_key()?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes a key of any length");
        mac.update(usage.as_bytes());
        mac.update(&[0]);
        mac.update(text);
        Ok(mac.finalize().into_bytes().iter().map(|it| format!("{it:02x}")).collect())
    }

    fn read_key(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let key = self.told("read", KEY, self.files().read(KEY, MAX_BYTES))?;
        match key {
            Some(key) if key.len() != KEY_BYTES => {
                let why = format!("it has {} bytes, and a key has {KEY_BYTES}", key.len());
                Err(StoreError::Damaged { path: self.path(KEY), why })
            }
            key => Ok(key),
        }
    }
}
