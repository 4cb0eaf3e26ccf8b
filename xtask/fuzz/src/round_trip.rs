//! What our services write to the bus is read back unchanged.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Compared as text, because long numbers lose digits as values.
pub fn survives<T: Serialize + DeserializeOwned>(value: &T) {
    let written = serde_json::to_string(value).expect("our own types can be written");
    let read: T = serde_json::from_str(&written).expect("our own JSON can be read");
    assert_eq!(serde_json::to_string(&read).unwrap(), written);
}
