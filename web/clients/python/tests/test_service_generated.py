"""A client that openapi-python-client makes of the description, against a service."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from owner import setting
from vectors import ROOT

pytestmark = pytest.mark.service

NAME = "referral_tracking_client"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Any]]:
    """Returns what imports a module of the client."""
    directory = tmp_path_factory.mktemp("generated")
    settings = directory / "settings.yaml"
    settings.write_text("post_hooks: []\n")
    command = [str(Path(sys.executable).with_name("openapi-python-client")), "generate", "--config", str(settings)]
    command += ["--path", str(ROOT / "docs/openapi.json"), "--output-path", str(directory / "client")]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    left_out = re.findall("(?:WARNING parsing|Unable to process schema) .*", run.stdout + run.stderr)
    assert left_out == []
    sys.path.insert(0, str(directory / "client"))
    yield lambda module: importlib.import_module(f"{NAME}.{module}")
    sys.path.pop(0)


def test_click_lead_sale_and_refund(generated: Callable[[str], Any]) -> None:
    models = generated("models")
    client = generated("client").AuthenticatedClient(setting("BASE_URL"), setting("DEMO_API_KEY"))

    def track(noun: str, **fields: Any) -> Any:
        body = getattr(models, f"{noun.capitalize()}Request")(**fields)
        return generated(f"api.tracking.{noun}").sync_detailed(client=client, body=body)

    customer, order = f"generated {uuid.uuid4()}", f"generated {uuid.uuid4()}"
    click = track("click", affiliate_url=f"https://shop.example/?aff={setting('DEMO_AFF_A')}").parsed
    assert isinstance(click, models.RecordedClick)
    lead = track("lead", click_id=click.click_id, customer_key=customer).parsed
    assert isinstance(lead, models.RecordedLead)
    items = [{"sku": "starter-kit", "quantity": 1}]
    sale = {"transaction_id": order, "amount_cents": 4900, "customer_key": customer, "line_items": items}
    recorded = track("sale", **sale).parsed
    assert isinstance(recorded, models.RecordedSale)
    assert isinstance(recorded.commission_id, int)
    again = track("sale", **sale)
    assert again.status_code == 409
    assert again.parsed.error.message.startswith("Duplicate transaction_id")
    refund = track("refund", transaction_id=order).parsed
    assert isinstance(refund, models.AppliedRefund)
    assert refund.status == "reversed"
    assert isinstance(track("refund", transaction_id=order).parsed, models.SkippedRefund)
