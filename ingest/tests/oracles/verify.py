"""Verifies as the Standard Webhooks library for Python does: a line {"secret", "headers", "body"} in, a line true or false out."""

import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    webhook = json.loads(line)
    try:
        Webhook(webhook["secret"]).verify(webhook["body"], webhook["headers"])
        print("true", flush=True)
    except WebhookVerificationError:
        print("false", flush=True)
