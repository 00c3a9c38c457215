//! execenv
