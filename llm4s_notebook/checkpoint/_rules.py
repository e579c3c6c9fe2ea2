"""The checks that stand before a change in every store (R6.19), free of storage: a store tells what it holds."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..errors import CheckpointConflict, ConfigError, InvalidCommit, StaleClaim, UnsupportedCheckpointFormat
from ._types import FORMAT_VERSION, Commit, RetentionPolicy


def check_claimed(thread_id: str, token: int, current: int | None) -> None:
    """Raises: StaleClaim when `token` is not the thread's current claim; its expiry alone does not matter (R6.7, R6.19(1))."""
    if current is None or token != current:
        raise StaleClaim(token=token, current=current, thread_id=thread_id)


def check_commit(
    thread_id: str, commit: Commit, *, latest: str | None, settled: str | None, latest_token: int | None, known: Callable[[str], bool]
) -> None:
    """Check everything R6.19 names behind the token. `settled` is the newest settled checkpoint, `latest_token` what the latest one was
    written under, `known` looks an id up in the history.

    Raises: CheckpointConflict (2), InvalidCommit (3, 4, 5), in this order.
    """
    resulting = latest
    if commit.checkpoints:
        expected = settled if commit.retract else latest
        first = commit.checkpoints[0].header
        if first.parent_id != expected or commit.parent_token not in (None, latest_token):
            raise CheckpointConflict(thread_id=thread_id, expected=first.parent_id, actual=expected)
        seen: set[str] = set()
        for draft in commit.checkpoints:
            header = draft.header
            if seen and header.parent_id != resulting:
                raise InvalidCommit(
                    reason=f"checkpoint '{header.id}' names '{header.parent_id}' as its parent, not '{resulting}'", thread_id=thread_id
                )
            if header.thread_id != thread_id:
                raise InvalidCommit(reason=f"checkpoint '{header.id}' is of thread '{header.thread_id}'", thread_id=thread_id)
            if header.created_at.tzinfo is None:
                raise InvalidCommit(reason=f"the time of checkpoint '{header.id}' has no zone", thread_id=thread_id)
            if header.format != FORMAT_VERSION:
                raise InvalidCommit(
                    reason=f"checkpoint '{header.id}' is of format {header.format}, not {FORMAT_VERSION}", thread_id=thread_id
                )
            if header.id in seen or known(header.id):
                raise InvalidCommit(reason=f"checkpoint '{header.id}' is in the history already", thread_id=thread_id)
            seen.add(header.id)
            resulting = header.id
    for write in commit.writes:
        if resulting is None or write.checkpoint_id != resulting:
            raise InvalidCommit(
                reason=f"the write of task '{write.task_id}' names '{write.checkpoint_id}', not '{resulting}'", thread_id=thread_id
            )
    if commit.retract and not commit.checkpoints:
        raise InvalidCommit(reason="retracting a turn needs the checkpoint that closes it", thread_id=thread_id)
    for event in commit.events:
        if not event.event.durable:
            raise InvalidCommit(reason=f"{type(event.event).__name__} is a live event, which is never stored", thread_id=thread_id)
        if event.timestamp.tzinfo is None:
            raise InvalidCommit(reason=f"the time of an event {type(event.event).__name__} has no zone", thread_id=thread_id)


def check_format(found: object) -> None:
    """Raises: UnsupportedCheckpointFormat for a number this version does not read, or none (R6.5)."""
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= FORMAT_VERSION:
        raise UnsupportedCheckpointFormat(found=found, supported=FORMAT_VERSION)


def check_ttl(ttl: float) -> None:
    """Raises: ConfigError unless a lease of `ttl` seconds can be granted."""
    if not math.isfinite(ttl) or ttl <= 0:
        raise ConfigError(field="ttl", problems=[f"a lease lasts a positive number of seconds, not {ttl!r}"])


def check_limit(limit: int) -> None:
    """Raises: ConfigError for a page of less than one (R6.31)."""
    if limit < 1:
        raise ConfigError(field="limit", problems=[f"a page has at least 1 item, not {limit!r}"])


def check_policy(policy: RetentionPolicy) -> None:
    """Raises: ConfigError naming every negative number of the policy."""
    given = {"max_age": policy.max_age, "max_checkpoints": policy.max_checkpoints, "max_events": policy.max_events}
    problems = [f"{name} is {value!r}, below zero" for name, value in given.items() if value is not None and not value >= 0]
    if problems:
        raise ConfigError(field="policy", problems=problems)
