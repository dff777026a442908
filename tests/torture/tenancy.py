"""A random model of several tenants over every route of a server: nobody sees, changes or loses another's documents.

Each tenant's texts carry a mark that no other text has. Whatever a tenant is answered must not contain the mark of
another, and what a tenant has must be what the model says.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from serving import Running
from torture import Budget, Row

TENANTS = ("amber", "birch", "cedar")
COLLECTIONS = ("default", "second")
_LONGEST = 120.0  # seconds until a job is called stuck
STREAMS = ("/v1/jobs/events", "/v1/jobs/{job_id}/events")
_IDS = {"document_id": "documents", "job_id": "jobs", "key_id": "keys"}


@dataclass
class Tenant:
    """One tenant: its client, the mark of its texts, and what the model says it has."""

    name: str
    client: httpx.Client
    mark: str
    documents: dict[str, tuple[str, str]] = field(default_factory=dict)  # id → source and collection
    jobs: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


class Tenancy:
    """Steps of the model. The same seed takes the same steps."""

    def __init__(self, server: Running, seed: int, row: Row) -> None:
        self._chance = random.Random(seed)
        self._row = row
        self._description = server.client.get("/openapi.json").json()
        self._operations = [
            (method, path, operation)
            for path, methods in self._description["paths"].items()
            for method, operation in methods.items()
        ]
        self._tenants = []
        for name in TENANTS:
            key, kept = server.app.state.keys.create(name, scopes=("read", "write", "admin"))
            spare = server.app.state.keys.create(name, scopes=("read",))[1].id
            self._tenants.append(Tenant(name, server.with_key(key), f"zq{name}mark", keys=[kept.id, spare]))

    def run(self, budget: Budget) -> None:
        for number in budget.rounds():
            tenant = self._chance.choice(self._tenants)
            self._chance.choices((self._add, self._find, self._any_route), (2, 2, 6))[0](tenant)
            self._row.trials += 1
            if number % 100 == 99:
                self.compare()
        self.compare()

    # ── steps

    def _add(self, tenant: Tenant) -> None:
        filename = f"{self._chance.randrange(8)}.txt"
        text = f"The {tenant.mark} number {self._chance.randrange(10**9)} stands on the shelf."
        collection = self._chance.choice(COLLECTIONS)
        body = {"text": text, "filename": filename, "collection": collection, "source": f"model:{filename}"}
        answer = self._ask(tenant, "POST", "/v1/documents", json=body)
        if answer is None or answer.status_code != 202:
            return
        job = answer.json()["jobs"][0]["id"]
        tenant.jobs = [*tenant.jobs[-20:], job]
        self._settled(tenant, job, body)

    def _settled(self, tenant: Tenant, job: str, body: dict[str, Any]) -> None:
        end = time.monotonic() + _LONGEST
        while time.monotonic() < end:
            answer = self._ask(tenant, "GET", f"/v1/jobs/{job}")
            if answer is None or answer.status_code != 200:
                return
            if answer.json()["state"] in ("ready", "failed"):
                break
            time.sleep(0.005)
        else:
            self._row.note("stuck", f"job {job} of {tenant.name}")
            return
        found = answer.json()
        if found["state"] == "failed":
            self._row.note("lost", f"{tenant.name}: {found['error']}")
            return
        place = (body["source"], body["collection"])
        tenant.documents = {one: known for one, known in tenant.documents.items() if known != place}
        tenant.documents[found["document_id"]] = place

    def _find(self, tenant: Tenant) -> None:
        asker = self._chance.choice((tenant, self._other(tenant)))
        answer = self._ask(tenant, "POST", "/v1/search", json={"query": f"{asker.mark} number", "limit": 50})
        if answer is None or answer.status_code != 200:
            return
        found = {hit["document_id"] for hit in answer.json()["hits"] if tenant.mark in hit["text"]}
        if asker is tenant and tenant.documents and not found:
            self._row.note("lost", f"{tenant.name} finds none of {len(tenant.documents)} documents")
        if unknown := found - set(tenant.documents):
            self._row.note("wrong", f"{tenant.name} finds {sorted(unknown)}, which it does not have")

    def _any_route(self, tenant: Tenant) -> None:
        """Any operation the server describes, about things of its own, of another tenant, or of nobody."""
        method, path, operation = self._chance.choice(self._operations)
        owner = self._chance.choice((tenant, self._other(tenant), None))
        address, foreign = path, False
        for name in [part.split("}")[0].split(":")[0] for part in path.split("{")[1:]]:
            known = list(getattr(owner, _IDS[name], ())) if owner and name in _IDS else []
            if owner is tenant and name == "key_id":
                known = known[1:]  # its own key it needs
            value = self._chance.choice(known) if known else self._chance.choice((*COLLECTIONS, "d0", "1"))
            foreign = foreign or (bool(known) and owner is not tenant)
            address = address.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
        answer = self._ask(tenant, method.upper(), address, is_stream=path in STREAMS, **self._body(operation))
        if answer is None:
            return
        if foreign and answer.status_code < 300:
            self._row.note("leaked", f"{tenant.name}: {method} {address} of {owner and owner.name} answers {answer}")
        elif answer.status_code < 300:
            self._forget(tenant, method, path, address)

    def _body(self, operation: dict[str, Any]) -> dict[str, Any]:
        """The example of a body and of the query, as the server describes them."""
        given: dict[str, Any] = {}
        media = operation.get("requestBody", {}).get("content", {})
        if "application/json" in media:
            given["json"] = self._example(media["application/json"])
        elif "multipart/form-data" in media:
            given["files"] = {"file": ("", b"")}  # no document: those of the model come by another way
        query = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
        named = {"q": "shelf", "rag": self._chance.choice(("true", "false")), "start": 0, "end": 5}
        given["params"] = {one["name"]: named[one["name"]] for one in query if one["name"] in named}
        return given

    def _example(self, media: dict[str, Any]) -> Any:
        schema = media["schema"]
        if "$ref" in schema:
            schema = self._description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return media.get("example") or schema["examples"][0] if schema.get("examples") else {}

    def _forget(self, tenant: Tenant, method: str, path: str, address: str) -> None:
        """What a step changed in the model itself."""
        last = address.rpartition("/")[2]
        if method == "delete" and path.endswith("{document_id}"):
            tenant.documents.pop(last, None)
        elif method == "delete" and path == "/v1/collections/{name}":
            tenant.documents = {one: place for one, place in tenant.documents.items() if place[1] != last}
        elif method == "delete" and path.endswith("{job_id}"):
            tenant.jobs = [job for job in tenant.jobs if job != last]

    # ── asking and judging

    def _other(self, tenant: Tenant) -> Tenant:
        return self._chance.choice([one for one in self._tenants if one is not tenant])

    def _ask(
        self, tenant: Tenant, method: str, address: str, *, is_stream: bool = False, **given: Any
    ) -> httpx.Response | None:
        case = f"{tenant.name}: {method} {address}"
        try:
            with tenant.client.stream(method, address, timeout=60, **given) as answer:
                if not is_stream:
                    answer.read()
        except httpx.TimeoutException:
            self._row.note("stuck", case)
            return None
        except httpx.TransportError as error:
            self._row.note("crashed", f"{case} {error!r}")
            return None
        if answer.status_code >= 500 and answer.status_code not in (501, 503):
            self._row.note("crashed", f"{case} {answer.status_code}")
        text = "" if is_stream else answer.content.decode("utf-8", "replace")
        asked = json.dumps(given, default=str)
        for other in self._tenants:
            if other is not tenant and other.mark in text and other.mark not in asked:
                self._row.note("leaked", f"{case} shows {other.mark}")
        return answer

    def compare(self) -> None:
        """What every tenant has, against the model. Documents that other routes made are not of the model."""
        for tenant in self._tenants:
            answer = self._ask(tenant, "GET", "/v1/documents?limit=1000")
            if answer is None or answer.status_code != 200:
                self._row.note("crashed", f"{tenant.name} cannot list its documents")
                continue
            listed = {one["id"] for one in answer.json()["documents"] if one["source"].startswith("model:")}
            for one in set(tenant.documents) - listed:
                self._row.note("lost", f"{tenant.name}: {one} {tenant.documents[one]}")
            for one in listed - set(tenant.documents):
                self._row.note("wrong", f"{tenant.name}: {one} is listed")


def tenancy(name: str, opened: Callable[[], Any], *, budget: Budget, seed: int) -> Row:
    """Steps of the model on a server that `opened` gives as a context."""
    row = Row(name)
    with opened() as server:
        Tenancy(server, seed, row).run(budget)
    return row
