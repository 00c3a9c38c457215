//! What ZeptoClaw's `category` says about a tool.
//!
//! ZeptoClaw has one word for what a tool does, and Flyto has a permission class and hints. The
//! word sets those of them that the tool does not set itself, so that an old manifest gets a
//! gate that fits.

use flyto_diagnostics::{ObjectReader, Reported};
use flyto_tools::{Metadata, PermissionClass};

/// A kind of tool in ZeptoClaw's terms.
///
/// Words that lead to the same permission class and hints are one variant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Category {
    FilesystemRead,
    FilesystemWrite,
    Network,
    Shell,
    /// `hardware` and `memory`, which have no class of their own.
    Other,
    Messaging,
    Destructive,
}

/// The nine words of ZeptoClaw, compared exactly.
const NAMES: [(&str, Category); 9] = [
    ("filesystem_read", Category::FilesystemRead),
    ("filesystem_write", Category::FilesystemWrite),
    ("network_read", Category::Network),
    ("network_write", Category::Network),
    ("shell", Category::Shell),
    ("hardware", Category::Other),
    ("memory", Category::Other),
    ("messaging", Category::Messaging),
    ("destructive", Category::Destructive),
];

/// Reads `category`.
///
/// # Errors
///
/// [`Reported`] when it is no string or another word; the tool is refused then.
pub(super) fn read(reader: &mut ObjectReader<'_, '_>) -> Result<Option<Category>, Reported> {
    reader.optional_one_of("category", &NAMES)
}

impl Category {
    /// What a word stands for.
    pub(super) fn named(word: &str) -> Option<Self> {
        NAMES.into_iter().find(|it| it.0 == word).map(|it| it.1)
    }

    /// Adds what the category says to what the tool says itself in keys of their own, which count.
    /// `says_itself` tells whether the tool has a key. A hint that is already set stays: a tool
    /// that says `"read_only": false` keeps it in the category `filesystem_read`.
    pub(super) fn apply(self, metadata: &mut Metadata, says_itself: impl Fn(&str) -> bool) {
        let class = match self {
            Self::FilesystemRead | Self::FilesystemWrite => PermissionClass::FILE,
            Self::Network => PermissionClass::WEBFETCH,
            Self::Shell | Self::Destructive => PermissionClass::BASH,
            Self::Other | Self::Messaging => PermissionClass::GENERIC,
        };
        if !says_itself("permission_class") {
            metadata.permission_class = class;
        }
        match self {
            Self::FilesystemRead => _ = metadata.read_only.get_or_insert(true),
            Self::Destructive => _ = metadata.destructive.get_or_insert(true),
            Self::Messaging if !says_itself("requires_checkpoint") => {
                metadata.requires_checkpoint = true;
            }
            _ => {}
        }
    }
}
