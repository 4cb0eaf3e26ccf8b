//! Events of the payment processor: their translation does not depend on the JSON's formatting, and its records parse back.

use domain::ids::ProgramId;
use domain::text::Text;
use domain::tracking::sale::Sale;
use messages::payment::PaymentFact;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use webhook_consumer::stripe::event::Event;
use webhook_consumer::stripe::metadata::MetadataKeys;
use webhook_consumer::stripe::translate::{Untranslated, translate};

use crate::json::unambiguous;
use crate::round_trip::survives;

pub fn run(bytes: &[u8]) {
    let meaning = meaning(bytes);
    let Some(mut written) = unambiguous(bytes) else {
        return;
    };
    assert_eq!(
        self::meaning(written.to_string().as_bytes()),
        meaning,
        "written otherwise"
    );
    if meaning.is_some() && written["data"]["object"].is_object() {
        written["a field of tomorrow"] = json!({ "id": 7 });
        written["data"]["a field of tomorrow"] = json!(null);
        written["data"]["object"]["a field of tomorrow"] = json!([1]);
        assert_eq!(
            self::meaning(written.to_string().as_bytes()),
            meaning,
            "with new fields"
        );
    }
}

/// `None` if it is not an event.
fn meaning(bytes: &[u8]) -> Option<Value> {
    let event = Event::parse(bytes).ok()?;
    assert!(!event.id.as_str().is_empty() && event.created.timestamp() >= 0);
    Some(match translate(&event, &MetadataKeys::new(&[])) {
        None => json!("of no known kind"),
        Some(Err(Untranslated::Ignored(reason))) => json!({ "ignored": reason }),
        Some(Err(Untranslated::Review(reason))) => json!({ "review": reason }),
        Some(Err(Untranslated::Stuck(reason))) => json!({ "stuck": reason }),
        Some(Ok(translated)) => {
            assert!(
                translated.sale.is_some() || translated.is_of_use(),
                "an event without effect is ignored"
            );
            let references: Vec<&str> = translated.references.iter().map(Text::as_str).collect();
            assert!(references.iter().all(|id| !id.is_empty() && !id.contains('\0')));
            if let Some(sale) = &translated.sale {
                assert!(
                    sale.customer_key.is_some() || sale.click_id.is_some(),
                    "a payment without customer is no sale"
                );
            }
            json!({
                "sale": translated.sale.as_ref().map(record::<Sale>),
                "program": translated.program.map(ProgramId::get),
                "account": translated.account.as_ref().map(Text::as_str),
                "references": references,
                "fact": translated.fact.as_ref().map(record::<PaymentFact>),
            })
        }
    })
}

fn record<T: Serialize + DeserializeOwned>(value: &T) -> Value {
    survives(value);
    json!(value)
}
