//! exectool
