"""Signs as Stripe's library for Python does: a line {"body", "secret", "timestamp"} in, a line with the header out."""

import json
import sys

from stripe import WebhookSignature

for line in sys.stdin:
    to_sign = json.loads(line)
    header = WebhookSignature.generate_signature_header(
        to_sign["body"], to_sign["secret"], to_sign["timestamp"]
    )
    print(header, flush=True)
