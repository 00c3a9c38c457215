//! Durations on the wire: a number of seconds, as people and other languages read them.
//!
//! For `#[serde(with)]` and its kin. A duration is written as a number with a fraction; one that is
//! negative, not finite, or too large for a [`Duration`] is an error of the reader.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    duration.as_secs_f64().serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(reader)?).map_err(D::Error::custom)
}

/// `None` is `null`, unless the field leaves it out.
pub(crate) fn serialize_option<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    duration.map(|it| it.as_secs_f64()).serialize(serializer)
}

pub(crate) fn deserialize_option<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<Duration>, D::Error> {
    Option::<f64>::deserialize(reader)?
        .map(|seconds| Duration::try_from_secs_f64(seconds).map_err(D::Error::custom))
        .transpose()
}
