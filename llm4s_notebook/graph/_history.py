"""What is done to a thread outside runs: fork, edit of its state, seed, giving a turn up, delete (R6.31-R6.36).

Each is one claim that is freed in the commit that makes the change, so none of them can meet a run half-way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from ..checkpoint import (
    Append,
    CheckpointDraft,
    Checkpointer,
    CheckpointStatus,
    Clock,
    Commit,
    Entries,
    EventDraft,
    EventRecord,
    PatchOp,
    Set,
    Truncate,
    Unset,
    whole,
)
from ..errors import (
    CheckpointConflict,
    CheckpointNotFound,
    ConfigError,
    NothingToRecover,
    ThreadExists,
    ThreadNotFound,
    UndeclaredWrite,
    UnknownStateKey,
)
from . import _ids, events
from ._check import encode_operation, refuse_routes
from ._codec import encode_json
from ._command import Command
from ._compiled import CompiledGraph
from ._config import ClaimPolicy
from ._drafts import Drafts
from ._execution import Execution
from ._key import StateKey
from ._plan import Plan
from ._refs import NodeRef
from ._snapshot import birth_of, entries_of, open_body, settled_of
from ._state import Write, apply_writes

_NEVER_RAN = "updateState"
AnyGraph = CompiledGraph[Any, Any]
GiveBack = Callable[[str, int], Awaitable[None]]
"""Frees the thread's claim of that token, now or, where the store fails, before the runtime's next call on the thread; never raises."""


def difference(base: Entries, target: Entries) -> tuple[PatchOp, ...]:
    """The patch that turns the entries `base` into `target`; equal beginnings of lists stay (D17)."""
    patch: list[PatchOp] = [Unset(section, name) for section, name in base if (section, name) not in target]
    for (section, name), entry in target.items():
        before = base.get((section, name))
        if isinstance(entry, bytes):
            if before != entry:
                patch.append(Set(section, name, entry))
        elif not isinstance(before, list):
            patch.extend([Unset(section, name)] if before is not None else [])
            patch.append(Append(section, name, tuple(entry)))
        else:
            same = 0
            while same < len(before) and same < len(entry) and before[same] == entry[same]:
                same += 1
            if same < len(before):
                patch.append(Truncate(section, name, same))
            if same < len(entry):
                patch.append(Append(section, name, tuple(entry[same:])))
    return tuple(patch)


async def retracting_patch(
    checkpointer: Checkpointer, thread_id: str, settled: str | None, execution: Execution, birth_id: str
) -> tuple[str | None, tuple[PatchOp, ...]]:
    """Parent and patch of a closing checkpoint whose turn is retracted: against the newest settled one, or from nothing (R6.36, D17)."""
    base = await checkpointer.checkpoint(thread_id, settled) if settled is not None else None
    target = entries_of(execution, birth_id)
    if base is None:
        return None, whole(target)
    return base.id, difference(base.entries, target)


class History:
    """The changes; `publish` is told the events of each, `give_back` frees the claim of one that came to nothing."""

    def __init__(
        self,
        checkpointer: Checkpointer,
        claims: ClaimPolicy,
        clock: Clock,
        new_id: Callable[[], str],
        publish: Callable[[str, Iterable[EventRecord]], None],
        give_back: GiveBack,
    ) -> None:
        self._checkpointer = checkpointer
        self._claims = claims
        self._clock = clock
        self._new_id = new_id
        self._publish = publish
        self._give_back = give_back

    async def fork(self, source: str, checkpoint_id: str, target: str) -> None:
        """Raises: ConfigError; CheckpointNotFound; RestoreRejected; ThreadExists; ThreadBusy (R6.32)."""
        if source == target:
            raise ConfigError(field="target", problems=["a thread cannot be forked onto itself"])
        checkpoint = await self._checkpointer.checkpoint(source, checkpoint_id)
        if checkpoint is None:
            raise CheckpointNotFound(thread_id=source, checkpoint_id=checkpoint_id)
        await self._check_new(target)
        entries = dict(checkpoint.entries)
        entries[("meta", "birth")] = encode_json(_ids.new_birth_id())
        run_id = self._new_id()
        id = _ids.checkpoint_id(run_id, 1)
        body = {name: value for name, value in open_body(checkpoint.header).items() if name != "settled"}
        header = checkpoint.header.replaced(
            id=id,
            parent_id=None,
            thread_id=target,
            run_id=run_id,
            created_at=self._clock.now(),
            body=encode_json(body),
            journal=b"[]",
        )
        told = EventDraft(run_id, events.ThreadForked(source, checkpoint_id), self._clock.now(), id)
        await self._make(
            target, run_id, Commit(token=0, checkpoints=(CheckpointDraft(header, whole(entries)),), events=(told,), release=True)
        )

    async def seed(self, thread_id: str, graph: AnyGraph, update: Command) -> str:
        """Raises: ConfigError; UnknownStateKey; ThreadExists; StateUpdateFailed; ThreadBusy (R6.34)."""
        refuse_routes(update, "update")
        writes = bind_known(graph.plan, update)
        await self._check_new(thread_id)
        applied = apply_writes(graph.plan.keys, {}, writes)
        execution = Execution(graph.plan, 0, applied.slots, (), {}, {}, {})
        run_id = self._new_id()
        drafts = Drafts(graph.plan, thread_id, run_id, self._clock)
        patch = whole(entries_of(execution, _ids.new_birth_id()))
        draft = drafts.checkpoint(CheckpointStatus.COMPLETED, execution, patch, parent=None, settled=None)
        told = drafts.event(events.ThreadSeeded(), draft.header.id)
        await self._make(thread_id, run_id, Commit(token=0, checkpoints=(draft,), events=(told,), release=True))
        return draft.header.id

    async def update_state(self, thread_id: str, graph: AnyGraph, expected: str, update: Command, as_node: NodeRef[Any] | None) -> str:
        """R6.33.

        Raises: ConfigError; UndeclaredWrite or UnknownStateKey; ThreadNotFound; CheckpointConflict; ThreadBusy; RestoreRejected;
        StateUpdateFailed.
        """
        refuse_routes(update, "update")
        plan = graph.plan
        if as_node is not None and not isinstance(as_node, NodeRef):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            raise ConfigError(field="as_node", problems=[f"{as_node!r} is no node: give what the builder returned for it"])
        if as_node is not None and (as_node.owner is not plan.owner or as_node.id not in plan.nodes):
            raise ConfigError(field="as_node", problems=[f"node '{as_node.id}' is of another graph"])
        writes = bind_known(plan, update, as_node.id if as_node is not None else None)
        run_id = self._new_id()
        await self._expect(thread_id, expected)
        claim = await self._checkpointer.claim(thread_id, run_id, self._claims.ttl)
        try:
            latest = await self._checkpointer.latest(thread_id)
            if latest is None or latest.checkpoint.id != expected:
                raise CheckpointConflict(thread_id=thread_id, expected=expected, actual=latest.checkpoint.id if latest else None)
            before = latest.checkpoint
            restored = graph.restored(before)
            applied = apply_writes(plan.keys, restored.execution.slots, writes)
            execution = restored.execution.replaced(slots=applied.slots, superstep=restored.execution.superstep + 1)
            drafts = Drafts(plan, thread_id, run_id, self._clock)
            patch = (*restored.rewrite, *applied.patch)
            draft = drafts.checkpoint(before.status, execution, patch, parent=before.id, settled=settled_of(before.header))
            carried = tuple(write.replaced(checkpoint_id=draft.header.id) for write in latest.writes)
            told = drafts.event(events.StateUpdated(as_node.id if as_node is not None else None), draft.header.id)
            commit = Commit(token=claim.token, checkpoints=(draft,), writes=carried, events=(told,), release=True)
            self._publish(thread_id, await self._checkpointer.commit(thread_id, commit))
        except BaseException:
            await self._give_back(thread_id, claim.token)
            raise
        return draft.header.id

    async def abandon(self, thread_id: str, graph: AnyGraph, update: Command) -> str:
        """Close a waiting or unfinished turn as a block would: its checkpoints leave the history, the thread is usable (R6.36).

        Raises: ConfigError; UnknownStateKey; ThreadNotFound; NothingToRecover where the last turn is settled; RestoreRejected;
        StateUpdateFailed; ThreadBusy.
        """
        refuse_routes(update, "update")
        plan = graph.plan
        writes = bind_known(plan, update)
        run_id = self._new_id()
        head = await self._checkpointer.head(thread_id)
        if head.checkpoint_id is None or head.status is None:
            raise ThreadNotFound(thread_id=thread_id)
        if head.status.settled:
            raise NothingToRecover(thread_id=thread_id)
        claim = await self._checkpointer.claim(thread_id, run_id, self._claims.ttl)
        try:
            latest = await self._checkpointer.latest(thread_id)
            if latest is None or latest.checkpoint.status.settled:
                raise NothingToRecover(thread_id=thread_id)
            before = latest.checkpoint
            execution = graph.restored(before).execution
            applied = apply_writes(plan.keys, execution.slots, writes)
            over = Execution(plan, execution.superstep + 1, applied.slots, (), {}, {}, {})
            parent, patch = await retracting_patch(self._checkpointer, thread_id, settled_of(before.header), over, birth_of(before))
            drafts = Drafts(plan, thread_id, run_id, self._clock)
            draft = drafts.checkpoint(CheckpointStatus.FAILED, over, patch, parent=parent, settled=None, after=before.id)
            told = drafts.event(events.RunFailed("Abandoned"), draft.header.id)
            commit = Commit(token=claim.token, checkpoints=(draft,), events=(told,), retract=True, release=True)
            self._publish(thread_id, await self._checkpointer.commit(thread_id, commit))
        except BaseException:
            await self._give_back(thread_id, claim.token)
            raise
        return draft.header.id

    async def delete_thread(self, thread_id: str) -> None:
        """Raises: ThreadBusy while a run holds it (R6.35). An unknown thread is fine."""
        claim = await self._checkpointer.claim(thread_id, self._new_id(), self._claims.ttl)
        try:
            await self._checkpointer.delete_thread(thread_id)
        except BaseException:
            await self._give_back(thread_id, claim.token)
            raise

    async def _expect(self, thread_id: str, expected: str) -> None:
        """Refuse what cannot succeed before a claim is taken."""
        head = await self._checkpointer.head(thread_id)
        if head.checkpoint_id is None:
            raise ThreadNotFound(thread_id=thread_id)
        if head.claim is None and head.checkpoint_id != expected:
            raise CheckpointConflict(thread_id=thread_id, expected=expected, actual=head.checkpoint_id)

    async def _check_new(self, thread_id: str) -> None:
        if (await self._checkpointer.head(thread_id)).checkpoint_id is not None:
            raise ThreadExists(thread_id=thread_id)

    async def _make(self, thread_id: str, holder: str, commit: Commit) -> None:
        try:
            _, records = await self._checkpointer.claim_and_commit(thread_id, holder, self._claims.ttl, commit)
        except CheckpointConflict as error:
            raise ThreadExists(thread_id=thread_id) from error
        self._publish(thread_id, records)


def bind_known(plan: Plan, update: Command, as_node: str | None = None) -> list[Write]:
    """The update as JSON text, given from outside a run.

    Raises: ConfigError for a text where a key belongs; UndeclaredWrite outside the node's write set, under the task id
    `updateState`; UnknownStateKey; EncodeError.
    """
    for operation in update.updates:
        key = operation.key
        if not isinstance(key, StateKey):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            raise ConfigError(field="update", problems=[f"{key!r} is no state key: give the StateKey that the graph was built with"])
        known = plan.keys.get(key.id)
        if as_node is not None:
            declared = plan.nodes[as_node].writes.get(key.id)
            if declared is None or declared != key:
                raise UndeclaredWrite(node_id=as_node, task_id=_NEVER_RAN, key=key.id)
        if known is None or known != key:
            raise UnknownStateKey(key=key.id)
    return [encode_operation(operation) for operation in update.updates]
