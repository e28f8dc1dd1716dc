"""What a server says it serves: the model, where it was loaded from, and whose server it is."""

import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from healthgym.errors import ConfigError, nearest
from healthgym.rollout.endpoint import Endpoint, EndpointFailed, EndpointRefused, Patience, checked_url

logger = logging.getLogger(__name__)

FIRST_LOOK = Patience(timeout_s=60.0, total_s=60.0, retries=2, first_wait_s=0.5)
"""How long a server is waited for before anything is known of it."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """What a server says it serves.

    id: the model's name there.
    root: the folder or name it was loaded from.
    owned_by: often the kind of server.
    weights: name of the weights that a trainer pushed, for servers of `healthgym vllm-serve`.
    version: of the server.
    """

    id: str
    root: str = ""
    max_model_len: int | None = None
    owned_by: str = ""
    weights: str = ""
    version: str = ""


def api_root(url: str) -> str:
    """Return the address under which the protocol's paths begin."""
    url = checked_url(url)
    for ending in ("/chat/completions", "/completions", "/models"):
        url = url.removesuffix(ending)
    return url if re.search(r"/v\d", urlsplit(url).path) else f"{url}/v1"


def server_root(endpoint: Endpoint) -> str:
    """Return the address of the server's other paths."""
    return endpoint.url.rsplit("/v", 1)[0]


def look(endpoint: Endpoint, wanted: str | None) -> Served:
    """Return what a server serves.

    Raises:
        ConfigError: It serves another model than the one wanted, or several and none was named.
        EndpointFailed: It cannot be reached.
    """
    try:
        answer = endpoint.ask("GET", "/models", patience=FIRST_LOOK)
    except (EndpointRefused, EndpointFailed) as error:
        if isinstance(error, EndpointFailed) and error.status is None:
            raise
        if error.status in (401, 403) or wanted is None:
            raise ConfigError(f"The endpoint does not tell which models it serves: {error}") from error
        answer = {"data": []}
    listed = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) and "id" in one for one in listed):
        raise ConfigError(
            f"{endpoint.url}/models answers, but with no list of models. Is it an OpenAI-compatible server?"
        )
    if not listed and wanted is not None:
        logger.warning("%s lists no models; whether it serves %s shows in its answers alone", endpoint.url, wanted)
        return Served(id=wanted)
    by_id = {str(one["id"]): one for one in listed}
    if wanted is None and len(by_id) != 1:
        raise ConfigError(f"{endpoint.url} serves {len(by_id)} models; name one.{nearest('', by_id)}")
    name = wanted if wanted is not None else next(iter(by_id))
    if name not in by_id:
        raise ConfigError(f"{endpoint.url} does not serve {name!r}.{nearest(name, by_id)}")
    one = by_id[name]
    length = one.get("max_model_len")
    owner = str(one.get("owned_by") or "")
    return Served(
        id=name,
        root=str(one.get("root") or ""),
        max_model_len=length if isinstance(length, int) else None,
        owned_by=owner,
        weights=pushed_weights(endpoint) if owner == "vllm" else "",
        version=_version(endpoint) if owner == "vllm" else "",
    )


def pushed_weights(endpoint: Endpoint) -> str:
    """Return the name of the weights a trainer pushed to a server of `healthgym vllm-serve`; empty elsewhere.

    Raises:
        EndpointFailed: The server cannot be reached.
    """
    path, patience = f"{server_root(endpoint)}/collective_rpc", replace(FIRST_LOOK, retries=0)
    try:
        answer = endpoint.ask("POST", path, {"method": "healthgym_weights"}, patience=patience)
    except EndpointRefused:
        return ""
    except EndpointFailed as error:
        if error.status is None:
            raise
        return ""  # a server that knows the path and not the method
    results = answer.get("results") if isinstance(answer, Mapping) else None
    return str(results[0].get("version") or "") if results and isinstance(results[0], Mapping) else ""


def _version(endpoint: Endpoint) -> str:
    with suppress(EndpointRefused, EndpointFailed):
        answer = endpoint.ask("GET", f"{server_root(endpoint)}/version", patience=replace(FIRST_LOOK, retries=0))
        return str(answer.get("version") or "") if isinstance(answer, Mapping) else ""
    return ""
