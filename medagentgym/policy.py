"""Where credentialed patient records may go: to models, and to the package index of the sandbox, whose requests name what the code chooses.

PhysioNet's data use terms restrict sending records to model services. A task on such records runs with models on this machine, on hosts listed under
`data_policy.private_hosts`, and with hosted services for which `data_policy.acknowledged` states on what basis they may have the records. Reports,
which people pass on, quote no questions, answers and golds of such a task; these stay with the episodes in the private working folder.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from medagentgym.config import Config, ModelConfig
from medagentgym.configuration import models_in_use
from medagentgym.credentials import base_url
from medagentgym.endpoints import endpoint_host, ip_address, is_loopback
from medagentgym.errors import UserError
from medagentgym.tasks.registry import get_task_class, task_names


def check_data_policy(config: Config, *, credentialed: bool) -> list[dict[str, Any]]:
    """Refuse to send credentialed records to a service for which nothing permits it.

    Returns, for the run to record, one entry for each model, and one for the package index where boxes are shown one: `model` (its key), `endpoint`
    (host), `permitted_by` (`not credentialed`, `loopback`, `private host` or `acknowledged`) and `basis` (None, or what was acknowledged). Raises
    `UserError` that says what to write in the configuration.
    """
    permissions = [_permit(config, key, model, credentialed) for key, model in models_in_use(config)]
    if config.sandbox.network != "none":
        permissions.append(_permit_address(config, "sandbox.package_index", config.sandbox.package_index, credentialed))
    return permissions


def may_be_quoted(config: Config) -> bool:
    """Whether questions, answers and golds may stand in reports: not those of credentialed records, nor of a task that is no longer installed."""
    if config.task in task_names():
        return not get_task_class(config.task).is_credentialed(config)
    return config.data.credentialed is False


def _permit(config: Config, key: str, model: ModelConfig, credentialed: bool) -> dict[str, Any]:
    where = f"{config.config_path}: " if config.config_path else ""
    address = base_url(model, config.credentials_path)
    if address is None:
        if not credentialed:
            return {"model": key, "endpoint": None, "permitted_by": "not credentialed", "basis": None}
        needed = "port or base_url" if model.model_type == "vLLM" else "base_url, or AZURE_OPENAI_ENDPOINT in the credentials"
        raise UserError(f"{where}{key}: says not where the model is; give {needed}")
    return _permit_address(config, key, address, credentialed, address_key=f"{key}.base_url")


def _permit_address(config: Config, key: str, address: str, credentialed: bool, *, address_key: str | None = None) -> dict[str, Any]:
    where = f"{config.config_path}: " if config.config_path else ""
    host = endpoint_host(address, address_key or key)
    entry = {"model": key, "endpoint": host, "basis": None}
    if not credentialed:
        return {**entry, "permitted_by": "not credentialed"}
    if is_loopback(host):
        return {**entry, "permitted_by": "loopback"}
    if any(_is_listed(host, listed) for listed in config.data_policy.private_hosts):
        return {**entry, "permitted_by": "private host"}
    for statement in config.data_policy.acknowledged:
        if endpoint_host(statement.endpoint, "data_policy.acknowledged") == host:
            return {**entry, "permitted_by": "acknowledged", "basis": statement.basis}
    advice = f'data_policy: {{acknowledged: [{{endpoint: "{host}", basis: "<agreement or terms that permit it>"}}]}}'
    raise UserError(
        f"{where}{key}: would send credentialed records of {config.task} to {host}; if your data use agreement permits that, write {advice}, "
        "or list a host of your own under data_policy.private_hosts"
    )


def _is_listed(host: str, listed: str) -> bool:
    """Whether a host is the listed one, or an address in the listed network (`10.0.0.0/8`)."""
    address = ip_address(host)
    if "/" in listed and "://" not in listed and address is not None:
        try:
            return address in ipaddress.ip_network(listed.strip())
        except ValueError as error:
            raise UserError(f"data_policy.private_hosts: {listed} is neither a host nor a network ({error})") from None
    return endpoint_host(listed, "data_policy.private_hosts") == host
