"""The API fuzzed from its own schema: no 5xx, and answers as documented."""

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hardening.damage import FULL, TRIED
from serve.running import ADMIN, another, client_of

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)

EXAMPLES = 6 if FULL == 1 else 18 * FULL  # of each operation


def test_answers_are_as_documented(tmp_path):
    with client_of(tmp_path) as (client, service):
        another(service)
        schema = schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) >= 17
        for operation in operations:
            fuzz(operation, str(client.base_url))


def fuzz(operation, address):
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy())
    def check(case):
        TRIED["generated requests without a server error"] += 1
        case.call_and_validate(base_url=address, headers=ADMIN, checks=CHECKS)

    check()
