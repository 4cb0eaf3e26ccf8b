//! A management key's settings as requests change them and answers show them.

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ProgramId;
use domain::people::management_key::KeySettings;
use domain::people::permission::{ProgramScope, Scopes};
use messages::instant::{as_instant, instant};
use serde_json::{Value, json};
use storage::people::management_keys::StoredKey;

use crate::http::field::{Field, if_present, refused};
use crate::management::prelude::*;

/// The default lifetime of a new key.
const NEW_KEY_LASTS: TimeDelta = TimeDelta::days(365);

/// What is there is changed; what is not stays as it is.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct KeyChanges {
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, max_length = 120)]
    name: Option<Field<String>>,
    /// `*` for all, or some of `program:list`, `program:read`, `program:create`, `program:update`, `program:delete`,
    /// `program:go_live`, `program:regenerate-token`, `dashboard:view`, `events:read`. A new key has the first two unless said otherwise.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1)]
    scopes: Option<Field<Vec<String>>>,
    /// Ids of the programs the key is limited to; null is every one of the workspace.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1)]
    program_scope: Option<Field<Vec<Value>>>,
    /// ISO 8601, in the future; null is never. A new key ends after a year unless said otherwise.
    #[serde(default, deserialize_with = "if_present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Field<String>>,
}

impl KeyChanges {
    /// The settings of a new key.
    pub fn of_new_key(mut self, now: DateTime<Utc>) -> Result<KeySettings, ApiError> {
        let name = self.name.take().unwrap_or_default();
        let settings = KeySettings {
            name: name.required_name("name", "name is required")?,
            scopes: Scopes::reading(),
            program_scope: ProgramScope::new(None::<Vec<ProgramId>>),
            expires_at: Some(now + NEW_KEY_LASTS),
        };
        self.apply(settings, now)
    }

    /// The settings after the changes, or the refusal of the first invalid change.
    pub fn apply(self, mut settings: KeySettings, now: DateTime<Utc>) -> Result<KeySettings, ApiError> {
        if let Some(name) = self.name {
            settings.name = name.required_name("name", "name is required")?;
        }
        // A null must not grant all scopes: it changes nothing.
        let scopes = self.scopes.unwrap_or_default();
        if let Some(scopes) = listed(scopes, "scopes", "must be a list of scopes")? {
            settings.scopes = Scopes::parse(scopes.iter().map(String::as_str))
                .map_err(|unknown| ApiError::bad_request(format!("scopes names no scope: {unknown}")))?;
        }
        if let Some(program_scope) = self.program_scope {
            let rule = "must be a list of program ids, or null";
            let programs = listed(program_scope, "program_scope", rule)?;
            let ids = |programs: Vec<Value>| programs.iter().map(program_id).collect::<Option<Vec<_>>>();
            let programs = programs
                .map(|programs| ids(programs).ok_or_else(|| refused("program_scope", rule)))
                .transpose()?;
            settings.program_scope = ProgramScope::new(programs);
        }
        if let Some(expires_at) = self.expires_at {
            settings.expires_at = expires_at.time_to_come("expires_at", now)?;
        }
        Ok(settings)
    }
}

/// `None` for null. An empty list is refused: such a key could do nothing.
fn listed<T>(field: Field<Vec<T>>, name: &str, rule: &str) -> Result<Option<Vec<T>>, ApiError> {
    match field {
        Field::Absent => Ok(None),
        Field::Given(items) if items.is_empty() => Err(refused(name, "must not be empty")),
        Field::Given(items) => Ok(Some(items)),
        Field::WrongType => Err(refused(name, rule)),
    }
}

/// The contract writes program ids as strings here; numbers are accepted too.
fn program_id(item: &Value) -> Option<ProgramId> {
    let id = match item {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64(),
    };
    id.map(ProgramId::new)
}

/// A management key as answers show it: the masked form only.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyView {
    id: i64,
    workspace_id: i64,
    name: String,
    #[schema(pattern = "^affk_")]
    prefix: String,
    key_masked: String,
    scopes: Vec<&'static str>,
    /// Ids of the programs it is limited to; null is every one of the workspace.
    program_scope: Option<Vec<String>>,
    /// `active` or `revoked`.
    status: &'static str,
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    /// With whose right it works, and with whose right it ends.
    created_by: Creator,
    /// To the hour; null: never so far.
    #[schema(format = DateTime)]
    last_used_at: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Creator {
    id: i64,
    name: String,
}

impl From<StoredKey> for KeyView {
    fn from(key: StoredKey) -> Self {
        let settings = &key.settings;
        Self {
            id: key.key_id.get(),
            workspace_id: key.workspace_id.get(),
            name: settings.name.as_str().to_owned(),
            scopes: settings.scopes.names(),
            program_scope: shown(&settings.program_scope),
            status: key.status.as_str(),
            expires_at: settings.expires_at.map(instant),
            prefix: key.prefix,
            key_masked: key.key_masked,
            created_at: key.created_at,
            created_by: Creator {
                id: key.created_by.get(),
                name: key.creator_name,
            },
            last_used_at: key.last_used_at.map(instant),
        }
    }
}

/// The settings as the audit log shows them.
pub fn described(settings: &KeySettings) -> Value {
    json!({
        "name": settings.name.as_str(),
        "scopes": settings.scopes.names(),
        "program_scope": shown(&settings.program_scope),
        "expires_at": settings.expires_at.map(instant),
    })
}

fn shown(program_scope: &ProgramScope) -> Option<Vec<String>> {
    let ids = program_scope.ids()?;
    Some(ids.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use domain::name::Name;

    use super::*;

    fn applied(body: &Value) -> Result<KeySettings, ApiError> {
        let changes: KeyChanges = serde_json::from_str(&body.to_string()).unwrap();
        let before = KeySettings {
            name: Name::parse("Backend").unwrap(),
            scopes: Scopes::parse(["program:read"]).unwrap(),
            program_scope: ProgramScope::new(Some([ProgramId::new(7)])),
            expires_at: None,
        };
        changes.apply(before, DateTime::UNIX_EPOCH)
    }

    #[test]
    fn what_is_not_there_stays_and_a_null_never_widens_the_scopes() {
        let same = applied(&json!({ "scopes": null })).unwrap();
        assert_eq!(same, applied(&json!({})).unwrap());
        assert_eq!(same.scopes.names(), ["program:read"]);
        assert_eq!(
            applied(&json!({ "program_scope": null }))
                .unwrap()
                .program_scope
                .ids(),
            None
        );
    }

    #[test]
    fn programs_are_named_by_strings_or_numbers() {
        let scope = applied(&json!({ "program_scope": ["8", 9] }))
            .unwrap()
            .program_scope;
        assert_eq!(scope.ids(), Some(vec![8, 9]));
        for wrong in [json!([]), json!("8"), json!([1.5]), json!(["x"]), json!([[8]])] {
            assert!(applied(&json!({ "program_scope": wrong })).is_err());
        }
    }
}
