//! The tools of a server, page by page.
//!
//! One bad definition costs itself: it is left out with a sentence that says why. A list without end, a page that repeats its
//! cursor, and a name that comes twice are faults of the list, and what was read until then is used.

use std::{collections::HashSet, sync::Arc};

use flyto_tools::SchemaChecker;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tokio::task::spawn_blocking;

use super::{
    definition::Definition,
    peer::{Peer, RequestError},
};

/// Most pages that are asked for.
const MAX_PAGES: usize = 100;

/// Bytes of all pages, at most: 8 MiB. Of a longer list, the tools on the pages before are used.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// Faults of single tools that are told; the others are counted.
const MAX_FAULTS: usize = 10;

/// What a server lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Listed {
    /// The tools that can be used, in the order of the server, no two with one name.
    pub(super) tools: Vec<Definition>,
    /// What is wrong with the others, in words.
    pub(super) faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Page {
    tools: Vec<Box<RawValue>>,
    #[serde(default)]
    next_cursor: Option<String>,
}

/// Reads the definitions of a page, and compiles their schemas. That may take a second, and so it takes no thread of the
/// runtime.
///
/// # Errors
///
/// The runtime ends.
async fn read_all(
    tools: Vec<Box<RawValue>>,
    mut checker: SchemaChecker,
) -> Result<(Vec<Result<Definition, String>>, SchemaChecker), RequestError> {
    let read = move || {
        let read = tools.into_iter().map(|it| {
            let tool = Definition::parse(&it)?;
            tool.check_schemas(&mut checker).map(|()| tool)
        });
        (read.collect(), checker)
    };
    spawn_blocking(read).await.map_err(|err| {
        RequestError::Closed(format!("its list of tools cannot be read: {err}").into())
    })
}

/// Lists the tools of a server: at most `max_tools`. A tool that cannot be used costs itself.
///
/// # Errors
///
/// A page cannot be had or read.
pub(super) async fn list(peer: &Arc<Peer>, max_tools: usize) -> Result<Listed, RequestError> {
    let mut res = Listed::default();
    let (mut names, mut n_faults) = (HashSet::new(), 0);
    let mut fault = |res: &mut Listed, what: String| {
        n_faults += 1;
        if n_faults <= MAX_FAULTS {
            res.faults.push(what);
        }
    };
    let (mut n_bytes, mut checker) = (0, SchemaChecker::new());
    let mut cursor: Option<String> = None;
    'pages: for n_pages in 1..=MAX_PAGES {
        let named = cursor.as_ref().map(|it| json!(it).to_string());
        let members: Vec<_> = named.iter().map(|it| ("cursor", it.as_str())).collect();
        let answer = peer.request("tools/list", &members).await?;
        n_bytes += answer.get().len();
        if n_bytes > MAX_LIST_BYTES {
            fault(&mut res, format!("its list of tools has more than {MAX_LIST_BYTES} bytes"));
            break;
        }
        let page: Page = serde_json::from_str(answer.get()).map_err(|err| {
            RequestError::Closed(format!("its list of tools cannot be read: {err}").into())
        })?;
        let read;
        (read, checker) = read_all(page.tools, checker).await?;
        for definition in read {
            match definition {
                Err(why) => fault(&mut res, why),
                Ok(tool) if !names.insert(tool.name.clone()) => {
                    fault(&mut res, format!("{} is listed twice", tool.name.escape_debug()));
                }
                Ok(_) if res.tools.len() >= max_tools => {
                    fault(&mut res, format!("it has more than {max_tools} tools"));
                    break 'pages;
                }
                Ok(tool) => res.tools.push(tool),
            }
        }
        match page.next_cursor {
            Some(_) if n_pages == MAX_PAGES => {
                fault(&mut res, format!("its list of tools has more than {MAX_PAGES} pages"));
            }
            Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
            Some(_) => {
                fault(&mut res, "its list of tools has no end".to_owned());
                break;
            }
            None => break,
        }
    }
    if n_faults > MAX_FAULTS {
        res.faults.push(format!("and {} more", n_faults - MAX_FAULTS));
    }
    Ok(res)
}
