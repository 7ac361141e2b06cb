"""Which addresses may be asked."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import pytest

from workflows.public_addresses import (
    FetchError,
    checked_target,
    is_public,
    permitted_addresses,
    resolve,
)

LOCAL = ipaddress.ip_address("127.0.0.1")
PUBLIC = ipaddress.ip_address("8.8.8.8")


class TestIsPublic:
    @pytest.mark.parametrize(
        "text",
        [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "fc00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b:1::7f00:1",
            "::ffff:0:7f00:1",
            "2a00:1450:4001:800:0:5efe:7f00:1",
            "2a00:1450:4001:800:200:5efe:a9fe:a9fe",
            "192.88.99.1",
            "3fff::1",
            "5f00::1",
            "::ffff:169.254.169.254",
            "fd00:ec2::254",
        ],
    )
    def test_private_and_reserved(self, text: str) -> None:
        """This machine, private networks, reserved ranges, and IPv6 forms of them are no public
        addresses.
        """
        assert not is_public(ipaddress.ip_address(text))

    @pytest.mark.parametrize(
        "text",
        [
            "8.8.8.8",
            "93.184.216.34",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::",
            "2001:4860:4860::8888",
        ],
    )
    def test_public(self, text: str) -> None:
        """Addresses of the public internet, also inside IPv6 ones."""
        assert is_public(ipaddress.ip_address(text))


class TestResolve:
    def test_a_literal_address(self) -> None:
        """An address stands for itself."""
        assert resolve("127.0.0.1", 80) == [LOCAL]

    def test_a_zone_is_dropped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A link-local address with a zone is read, to be refused later."""
        found = [(socket.AF_INET6, 1, 6, "", ("fe80::1%eth0", 80, 0, 2))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: found)
        assert resolve("router", 80) == [ipaddress.ip_address("fe80::1")]

    def test_an_unknown_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A name that stands for nothing is named in the error."""

        def fail(*arguments: Any, **options: Any) -> Any:
            raise socket.gaierror(-2, "unknown")

        monkeypatch.setattr(socket, "getaddrinfo", fail)
        with pytest.raises(FetchError, match=r"'nowhere\.example' cannot be resolved"):
            resolve("nowhere.example", 80)


class TestPermittedAddresses:
    def test_all_public(self) -> None:
        """The addresses come in the order of the resolver."""
        found = [PUBLIC, ipaddress.ip_address("93.184.216.34")]
        assert permitted_addresses("a.example", 80, resolver=lambda *_: found) == found

    @pytest.mark.parametrize("found", [[], [LOCAL], [PUBLIC, LOCAL]])
    def test_one_private_address_is_enough(self, found: list[Any]) -> None:
        """A name without addresses, or with a private one among public ones, is refused."""
        with pytest.raises(FetchError) as caught:
            permitted_addresses("a.example", 80, resolver=lambda *_: found)
        assert str(caught.value) == (
            "the host 'a.example' does not lie in the public internet; only public addresses are "
            "fetched"
        )


class TestCheckedTarget:
    def test_https_does_not_fall_back_to_http(self) -> None:
        """A redirect from https to http is refused."""
        target = checked_target("https://pictures.example/a")
        with pytest.raises(FetchError, match="redirects from https to an unprotected"):
            target.redirected("http://pictures.example/b")
        assert target.redirected("/b") == "https://pictures.example/b"

    def test_names_beyond_ascii(self) -> None:
        """A host name in other letters is asked for in its ASCII form, IPv6 hosts in brackets."""
        assert checked_target("https://bücher.example/").host_header == "xn--bcher-kva.example"
        target = checked_target("http://[2001:db8::1]:8080/a?b#c")
        assert target.host_header == "[2001:db8::1]:8080"
        asked = target.httpcore_url()
        assert (asked.host, asked.port, asked.target) == (b"2001:db8::1", 8080, b"/a?b")
