//! Events of the payment processor: what an event means depends on what it says, not on how it is written, and what it means
//! survives on its way to the worker.

use domain::ids::ProgramId;
use domain::sale::Sale;
use domain::text::Text;
use messages::payment::PaymentFact;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use webhook_consumer::stripe::event::Event;
use webhook_consumer::stripe::metadata::MetadataKeys;
use webhook_consumer::stripe::translate::{Untranslated, translate};

use crate::json::unambiguous;

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

/// `None` for what is no event.
fn meaning(bytes: &[u8]) -> Option<Value> {
    let event = Event::parse(bytes).ok()?;
    assert!(!event.id.as_str().is_empty() && event.created.timestamp() >= 0);
    Some(match translate(&event, &MetadataKeys::new(&[])) {
        None => json!("of no known kind"),
        Some(Err(Untranslated::Ignored(reason))) => json!({ "ignored": reason }),
        Some(Err(Untranslated::Review(reason))) => json!({ "review": reason }),
        Some(Err(Untranslated::Stuck(reason))) => json!({ "stuck": reason }),
        Some(Ok(told)) => {
            assert!(
                told.sale.is_some() || told.is_of_use(),
                "what tells nothing is ignored"
            );
            let references: Vec<&str> = told.references.iter().map(Text::as_str).collect();
            assert!(references.iter().all(|id| !id.is_empty() && !id.contains('\0')));
            if let Some(sale) = &told.sale {
                assert!(
                    sale.customer_key.is_some() || sale.click_id.is_some(),
                    "a payment of nobody is no sale"
                );
            }
            json!({
                "sale": told.sale.as_ref().map(survives::<Sale>),
                "program": told.program.map(ProgramId::get),
                "account": told.account.as_ref().map(Text::as_str),
                "references": references,
                "fact": told.fact.as_ref().map(survives::<PaymentFact>),
            })
        }
    })
}

fn survives<T: Serialize + DeserializeOwned>(told: &T) -> Value {
    let written = json!(told);
    let read: T = serde_json::from_str(&written.to_string()).expect("our own JSON can be read");
    assert_eq!(json!(read), written);
    written
}
