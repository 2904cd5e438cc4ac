"""Tokens: what was signed opens, what was changed or is old does not."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.serve.events.signer import BadSignature, Expired, Signer, new_page_id

SECRET = b"0123456789abcdef0123456789abcdef"


def test_the_signature_is_hmac_sha256_by_hand():
    page = "ab" * 16
    token = Signer(SECRET, lifetime=100).sign(page, now=50.0)
    whole = hmac.new(SECRET, b"4:page32:" + page.encode() + b"3:150", hashlib.sha256).digest()
    assert token == f"{page}.150.{base64.urlsafe_b64encode(whole).decode().rstrip('=')}"


def test_a_page_s_token_opens_until_it_expires():
    signer, page = Signer(SECRET, lifetime=10), new_page_id()
    token = signer.sign(page, now=100.0)
    assert signer.open(token, now=110.0) == page
    with pytest.raises(Expired, match="expired 5 s ago; search again"):
        signer.open(token, now=115.0)
    assert signer.open(signer.sign(page)) == page


@given(at=st.integers(0, 200), to=st.characters(max_codepoint=255))
def test_no_changed_token_opens(at, to):
    signer = Signer(SECRET, lifetime=10)
    token = signer.sign("0" * 32, now=100.0)
    at %= len(token)
    changed = token[:at] + to + token[at + 1 :]
    if changed != token:
        with pytest.raises(BadSignature):
            signer.open(changed, now=100.0)


@given(st.text())
def test_no_other_text_opens(text):
    with pytest.raises(BadSignature):
        Signer(SECRET).open(text)


def test_other_secrets_and_purposes_do_not_open():
    token = Signer(SECRET).sign("0" * 32)
    for other in (Signer(SECRET[::-1]), Signer(SECRET, purpose="admin")):
        with pytest.raises(BadSignature, match="not signed here"):
            other.open(token)


def test_a_page_cannot_lend_its_signature_to_another_split():
    """Parts are signed with their lengths: moving the dot is another message."""
    signer = Signer(SECRET)
    page, expiry, signature = signer.sign("0" * 31 + "1", now=1.0).split(".")
    with pytest.raises(BadSignature):
        signer.open(f"{page[:-1]}.1{expiry}.{signature}", now=1.0)


def test_users_are_keys_that_do_not_tell_who():
    signer = Signer(SECRET)
    assert signer.user_key("ada") == signer.user_key("ada") != signer.user_key("bob")
    assert signer.user_key("ada") != Signer(SECRET[::-1]).user_key("ada")
    assert signer.user_key("ada") == hmac.new(SECRET, b"4:user3:ada", hashlib.sha256).hexdigest()[:32]


def test_secrets_are_long_and_never_shown():
    with pytest.raises(ValueError, match="at least 16 bytes, got 5"):
        Signer(b"short")
    with pytest.raises(ValueError, match="above 0"):
        Signer(SECRET, lifetime=0)
    with pytest.raises(ValueError, match="no dots"):
        Signer(SECRET).sign("a.b")
    assert "0123" not in repr(Signer(SECRET))


def test_page_ids_are_random():
    assert len({new_page_id() for _ in range(100)}) == 100
    assert len(new_page_id()) == 32
