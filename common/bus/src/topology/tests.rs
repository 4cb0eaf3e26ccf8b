use super::*;

fn topology() -> Topology {
    Topology {
        prefix: "t1".to_owned(),
        max_bytes_others: 1_000_000,
        max_bytes_clicks: 9_000_000,
        replicas: 1,
        ack_wait: Duration::from_secs(10),
    }
}

#[test]
fn what_an_operator_added_stays() {
    let base = stream::Config {
        description: Some("kept".to_owned()),
        max_bytes: 5,
        ..Default::default()
    };
    let config = topology().stream_config(Subject::Sales, base);
    assert_eq!(config.description.as_deref(), Some("kept"));
    assert_eq!(config.max_bytes, 1_000_000);
    assert_eq!(config.name, "T1_TRACKING_SALES");
    assert_eq!(config.subjects, ["t1.tracking.sales"]);
}

#[test]
fn clicks_have_a_size_of_their_own() {
    let size = |subject| {
        topology()
            .stream_config(subject, stream::Config::default())
            .max_bytes
    };
    assert_eq!(size(Subject::Clicks), 9_000_000);
    assert_eq!(size(Subject::Leads), 1_000_000);
}

#[test]
fn differences_name_the_setting() {
    let wanted = topology().stream_config(Subject::Sales, stream::Config::default());
    let existing = stream::Config {
        max_bytes: 5,
        ..wanted.clone()
    };
    assert_eq!(differences(&existing, &wanted), ["max_bytes: 5 becomes 1000000"]);
    assert!(differences(&wanted, &wanted).is_empty());
}

#[test]
fn a_cluster_without_a_leader_is_waited_for_and_a_refusal_is_final() {
    let lookup = |code, err_code| {
        let error = serde_json::json!({ "code": code, "err_code": err_code });
        TopologyError::Lookup {
            stream: "T1_TRACKING_SALES".to_owned(),
            source: GetStreamError::new(GetStreamErrorKind::JetStream(
                serde_json::from_value(error).unwrap(),
            )),
        }
    };
    assert!(is_transient(&lookup(503, 10_008)));
    assert!(!is_transient(&lookup(400, 10_039)));
}

#[test]
fn replies_travel_outside_the_streams() {
    let subject = topology().reply_subject(Uuid::from_u128(1));
    assert_eq!(subject, "t1.replies.00000000000000000000000000000001");
    assert!(
        Subject::ALL
            .iter()
            .all(|noun| topology().subject(*noun) != subject)
    );
}
