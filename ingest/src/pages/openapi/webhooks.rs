//! The `webhooks` of the description: one for each type of event, as an endpoint receives it.

use domain::ids::ProgramId;
use domain::programs::outbound_event::OutboundEventType;
use messages::outbound_event::commission::{
    CommissionChanged, CommissionEvent, CommissionPaid, CommissionReversed,
};
use messages::outbound_event::lead::LeadCreated;
use messages::outbound_event::partner::PartnerEvent;
use messages::outbound_event::payout::{PayoutEvent, PayoutFailed};
use messages::outbound_event::processor_event::ProcessorEventNeedsReview;
use messages::outbound_event::refund::SaleRefunded;
use messages::outbound_event::sale::SaleRecorded;
use messages::outbound_event::webhook_endpoint::EndpointDisabled;
use messages::outbound_event::{OutboundEvent, example_time};
use utoipa::openapi::path::{OperationBuilder, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{
    ContentBuilder, HttpMethod, KnownFormat, ObjectBuilder, PathItem, Paths, PathsBuilder, Ref, Required,
    ResponseBuilder, SchemaFormat, Type,
};
use utoipa::{OpenApi, ToSchema};

/// The schemas of the events' `data`.
#[derive(OpenApi)]
#[openapi(components(schemas(
    LeadCreated,
    SaleRecorded,
    SaleRefunded,
    CommissionEvent,
    CommissionChanged,
    CommissionReversed,
    CommissionPaid,
    PayoutEvent,
    PayoutFailed,
    PartnerEvent,
    ProcessorEventNeedsReview,
    EndpointDisabled,
)))]
struct Schemas;

/// Adds the webhooks, and the schemas of their data.
pub fn describe(api: &mut utoipa::openapi::OpenApi) {
    api.merge(Schemas::openapi());
    let webhooks = OutboundEventType::ALL
        .into_iter()
        .fold(PathsBuilder::new(), |paths, event_type| {
            paths.path(event_type.as_str(), webhook(event_type))
        });
    api.webhooks = Some(Paths::from(webhooks));
}

fn webhook(event_type: OutboundEventType) -> PathItem {
    let event = OutboundEvent::example(event_type, ProgramId::new(1));
    // A body that cannot be serialized becomes null. No body is null, so the test of the examples finds it.
    let example = event.body(example_time()).unwrap_or_default();
    let content = ContentBuilder::new()
        .schema(Some(body(event_type)))
        .example(serde_json::from_str(&example).ok())
        .build();
    let request = RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content("application/json", content);
    let received = ResponseBuilder::new()
        .description("Received. Any other answer is a failure, and the event is sent again.");
    let gone = ResponseBuilder::new().description("The endpoint is disabled.");
    let operation = OperationBuilder::new()
        .operation_id(Some(format!("on_{}", event_type.as_str().replace('.', "_"))))
        .summary(Some(summary(event_type)))
        .tag("webhooks")
        .parameters(Some(headers()))
        .request_body(Some(request.build()))
        .response("2XX", received.build())
        .response("410", gone.build());
    PathItem::new(HttpMethod::Post, operation.build())
}

fn body(event_type: OutboundEventType) -> ObjectBuilder {
    let name = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([event_type.as_str()]));
    let timestamp = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("When it happened: ISO 8601 in UTC."));
    let is_test = ObjectBuilder::new().schema_type(Type::Boolean).description(Some(
        "True of a test event, which never happened; absent otherwise.",
    ));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("type", name)
        .required("type")
        .property("timestamp", timestamp)
        .required("timestamp")
        .property("data", Ref::from_schema_name(data(event_type)))
        .required("data")
        .property("is_test", is_test)
}

fn data(event_type: OutboundEventType) -> std::borrow::Cow<'static, str> {
    match event_type {
        OutboundEventType::LeadCreated => LeadCreated::name(),
        OutboundEventType::SaleRecorded => SaleRecorded::name(),
        OutboundEventType::SaleRefunded => SaleRefunded::name(),
        OutboundEventType::CommissionCreated | OutboundEventType::CommissionApproved => {
            CommissionEvent::name()
        }
        OutboundEventType::CommissionAdjusted | OutboundEventType::CommissionRejected => {
            CommissionChanged::name()
        }
        OutboundEventType::CommissionReversed => CommissionReversed::name(),
        OutboundEventType::CommissionPaid => CommissionPaid::name(),
        OutboundEventType::PayoutCreated | OutboundEventType::PayoutSettled => PayoutEvent::name(),
        OutboundEventType::PayoutFailed => PayoutFailed::name(),
        OutboundEventType::PartnerApplied
        | OutboundEventType::PartnerEnrolled
        | OutboundEventType::PartnerSuspended => PartnerEvent::name(),
        OutboundEventType::ProcessorEventNeedsReview => ProcessorEventNeedsReview::name(),
        OutboundEventType::EndpointDisabled => EndpointDisabled::name(),
    }
}

const fn summary(event_type: OutboundEventType) -> &'static str {
    match event_type {
        OutboundEventType::LeadCreated => "A lead was created",
        OutboundEventType::SaleRecorded => "A sale was recorded",
        OutboundEventType::SaleRefunded => "A sale was refunded, in part or wholly",
        OutboundEventType::CommissionCreated => "A partner earned a commission",
        OutboundEventType::CommissionApproved => "A commission was approved",
        OutboundEventType::CommissionAdjusted => "A commission was adjusted by hand",
        OutboundEventType::CommissionRejected => "A commission was rejected",
        OutboundEventType::CommissionReversed => "All or a part of a commission was taken back",
        OutboundEventType::CommissionPaid => "A commission was paid",
        OutboundEventType::PayoutCreated => "Commissions were marked as paid together",
        OutboundEventType::PayoutSettled => "A payout reached its partners; not sent yet",
        OutboundEventType::PayoutFailed => "A payout failed; not sent yet",
        OutboundEventType::PartnerApplied => "A partner joined, and waits for approval",
        OutboundEventType::PartnerEnrolled => "A partner was approved",
        OutboundEventType::PartnerSuspended => "A partner was suspended",
        OutboundEventType::ProcessorEventNeedsReview => {
            "An event of the payment processor waits for a person"
        }
        OutboundEventType::EndpointDisabled => "A webhook endpoint was disabled",
    }
}

fn headers() -> [utoipa::openapi::path::Parameter; 3] {
    [
        ("webhook-id", "`evt_` and a UUID: the same whenever this event is sent."),
        ("webhook-timestamp", "Of this attempt: seconds since 1970."),
        (
            "webhook-signature",
            "By the Standard Webhooks specification: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`; several, separated by \
             spaces, while a secret is replaced.",
        ),
    ]
    .map(|(name, description)| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::True)
            .description(Some(description))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .build()
    })
}
