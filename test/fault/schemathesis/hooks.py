"""What Schemathesis has not: whom it must leave alone, and a check that the schemas of requests have every rule."""

import os

import schemathesis

ADMINISTRATOR = os.environ["KEYTURN_ADMINISTRATOR"]
NOBODY = "00000000-0000-4000-8000-000000000000"


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """It uses ids of responses in requests, and must not delete the user that it calls as."""
    if isinstance(case.body, dict) and case.body.get("userId") == ADMINISTRATOR:
        case.body = {**case.body, "userId": NOBODY}


@schemathesis.check
def described_rules(ctx, response, case):
    """What is valid by its schema can be decoded, and breaks no rule of the proto files."""
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    details = {detail["type"]: detail.get("debug", {}) for detail in response.json().get("details", [])}
    violations = details.get("google.rpc.BadRequest", {}).get("fieldViolations", [])
    # Only violations of rules in the proto files have a reason.
    broken = [violation for violation in violations if "reason" in violation]
    assert not broken, f"the schema lacks a rule: {broken}"
    is_undecodable = details.get("google.rpc.ErrorInfo", {}).get("reason") == "INVALID_ARGUMENT" and not violations
    assert not is_undecodable, f"the schema has another form: {response.text}"
