//! What ZeptoClaw's `category` says about a tool.

use flyto_diagnostics::{ObjectReader, Reported};
use flyto_tools::{Metadata, PermissionClass};

/// A kind of tool in ZeptoClaw's terms.
#[derive(Clone, Copy, Debug)]
pub(super) enum Category {
    FilesystemRead,
    FilesystemWrite,
    Network,
    Shell,
    Other,
    Messaging,
    Destructive,
}

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

pub(super) fn read(reader: &mut ObjectReader<'_, '_>) -> Result<Option<Category>, Reported> {
    reader.optional_one_of("category", &NAMES)
}

impl Category {
    /// Adds what the category says to what the tool says itself in keys of their own, which count.
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
