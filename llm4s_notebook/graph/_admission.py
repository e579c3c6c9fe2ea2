"""Every refusal before anything changed, and the claim that ends them (R4.17-R4.22). *Why is the thread busy?* Look here.

The checks come in the order of R4.20 and the first to fail is reported: breakpoint nodes; the input; the thread's status; its
restore; the answers; the store's claim.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from ..checkpoint import (
    CheckpointDraft,
    Checkpointer,
    CheckpointStatus,
    Claim,
    Clock,
    Commit,
    EventDraft,
    EventRecord,
    PatchOp,
    PendingWrite,
    Set,
    whole,
)
from ..errors import (
    CheckpointConflict,
    CheckpointWriteFailed,
    InvalidResume,
    NothingToRecover,
    NotSuspended,
    ThreadBusy,
)
from . import _ids, events
from ._admitted import Admitted
from ._answer import Answers
from ._breakpoint import check_breakpoints, held_before
from ._compiled import CompiledGraph
from ._config import ClaimPolicy, Durability, RunConfig
from ._context import RunVoice
from ._drafts import Drafts
from ._execution import Execution, Task
from ._frontier import Advance, advance, answered
from ._history import GiveBack
from ._interrupt import continuations, given_answers
from ._journal import journal_of
from ._outcome import Ending, TaskResult
from ._record import task_record
from ._reuse import reused_results
from ._snapshot import birth_of, meta_entries, settled_of
from ._standing import Held, Standing
from ._superstep import Superstep

AnyGraph = CompiledGraph[Any, Any]


class Admission:
    """Admits runs to one store. `publish` is told the claim's events; `give_back` frees a claim that came to nothing."""

    def __init__(
        self,
        checkpointer: Checkpointer,
        claims: ClaimPolicy,
        clock: Clock,
        new_id: Callable[[], str],
        standing: Standing,
        publish: Callable[[str, Iterable[EventRecord]], None],
        give_back: GiveBack,
    ) -> None:
        self._checkpointer = checkpointer
        self._claims = claims
        self._clock = clock
        self._new_id = new_id
        self._standing = standing
        self._publish = publish
        self._give_back = give_back

    # -- the three ways in -------------------------------------------------------------------------------------------

    async def start(self, thread_id: str, graph: AnyGraph, input: Any, config: RunConfig) -> Admitted:
        """Raises: ConfigError; EncodeError; ThreadBusy; IncompleteRun; PendingInterrupts; RestoreRejected; CheckpointWriteFailed."""
        plan = graph.plan
        check_breakpoints(plan, config)
        data = plan.nodes[plan.entry].codec.encode(input)
        held = self._standing.held(thread_id)
        if held is not None and held.graph is graph and held.status.settled:
            try:
                return await self._begin(thread_id, graph, data, held, config)
            except ThreadBusy:  # perhaps the thread has moved on: what is to be said is found in the store
                pass
            except CheckpointWriteFailed:
                await self._checkpointer.head(thread_id)  # of a store that cannot even be read, that is what is said
                raise
        before = await self._standing.settled(thread_id, graph)
        return await self._begin(thread_id, graph, data, before, config)

    async def _begin(self, thread_id: str, graph: AnyGraph, data: bytes, before: Held | None, config: RunConfig) -> Admitted:
        """Claim a new thread, or one whose last turn is over; refused by the store where it is not as it is in `before`."""
        plan = graph.plan
        if before is None:
            execution = graph.begin(data, 0, {})
            birth_id, settled, parent = _ids.new_birth_id(), None, None
            patch: tuple[PatchOp, ...] = whole(meta_entries(plan, birth_id))
        else:
            execution = graph.begin(data, before.execution.superstep, before.execution.slots)
            birth_id, settled, parent = before.birth_id, before.settled, before.checkpoint_id
            patch = before.rewrite
        run_id = config.run_id or self._new_id()
        entry = execution.frontier[0]
        drafts = Drafts(plan, thread_id, run_id, self._clock)
        now = self._clock.now()
        patch = (*patch, Set("task", entry.id, task_record(plan, entry)))
        claim = drafts.checkpoint(CheckpointStatus.RUNNING, execution, patch, parent=parent, settled=settled, now=now)
        told = [drafts.event(events.RunStarted(config.principal), claim.header.id, now)]
        checkpoints = [claim]
        began = execution.superstep
        following = await self._entered(execution, config, thread_id, run_id, birth_id, claim.header.id)
        if following is not None:
            advanced, results = following
            now = self._clock.now()
            journal = journal_of(plan, results, advanced, inline=False)
            execution = advanced.execution
            draft = drafts.checkpoint(
                CheckpointStatus.RUNNING, execution, advanced.patch, parent=claim.header.id, settled=settled, journal=journal, now=now
            )
            for result in results:
                told += drafts.task_events(claim.header.id, result, now)
            told.append(drafts.event(events.CheckpointCommitted(execution.superstep), draft.header.id, now))
            checkpoints.append(draft)
        token, opening = await self._claim(thread_id, run_id, tuple(checkpoints), tuple(told), before.token if before else None)
        return Admitted(graph, execution, drafts, birth_id, config, checkpoints[-1].header.id, settled, token, opening, began)

    async def resume(self, thread_id: str, graph: AnyGraph, answers: Answers, config: RunConfig) -> Admitted:
        """Raises: ConfigError; ThreadBusy; NotSuspended; RestoreRejected; InvalidResume; CheckpointWriteFailed."""
        check_breakpoints(graph.plan, config)
        given = given_answers(answers)
        held = self._standing.held(thread_id)
        if held is not None and held.graph is graph and held.status is CheckpointStatus.SUSPENDED:
            try:
                return await self._take_up(thread_id, held, continuations(held.execution, given), config)
            except (InvalidResume, ThreadBusy):  # perhaps the thread has moved on: what is to be said is found in the store
                pass
            except CheckpointWriteFailed:
                await self._checkpointer.head(thread_id)  # of a store that cannot even be read, that is what is said
                raise
        head = await self._checkpointer.head(thread_id)
        if head.status is CheckpointStatus.RUNNING:
            self._standing.check_free(thread_id, head)
        if head.status is not CheckpointStatus.SUSPENDED:
            raise NotSuspended(thread_id=thread_id)
        before = await self._standing.load(thread_id, graph, head)
        if before is None or before.status is not CheckpointStatus.SUSPENDED:
            raise NotSuspended(thread_id=thread_id)
        unknown = await self._standing.unknown(thread_id, before.execution, given)
        return await self._take_up(thread_id, before, continuations(before.execution, given, unknown), config)

    async def _take_up(self, thread_id: str, before: Held, tasks: list[tuple[str, Task]], config: RunConfig) -> Admitted:
        """Claim a thread that waits, with the answers that were checked; refused by the store where it is not as it is in `before`."""
        execution, patch = answered(before.execution, tasks)
        run_id = config.run_id or self._new_id()
        drafts = Drafts(before.graph.plan, thread_id, run_id, self._clock)
        now = self._clock.now()
        if before.rewrite:
            patch = (*before.rewrite, *patch)
        claim = drafts.checkpoint(CheckpointStatus.RUNNING, execution, patch, parent=before.checkpoint_id, settled=before.settled, now=now)
        id = claim.header.id
        told = drafts.event(events.RunResumed(tuple([id for id, _ in tasks]), config.principal), id, now)
        token, opening = await self._claim(thread_id, run_id, (claim,), (told,), before.token)
        began = execution.superstep
        return Admitted(before.graph, execution, drafts, before.birth_id, config, id, before.settled, token, opening, began)

    async def recover(self, thread_id: str, graph: AnyGraph, config: RunConfig) -> Admitted:
        """Raises: ConfigError; ThreadBusy; NothingToRecover; PendingInterrupts; RestoreRejected; CheckpointWriteFailed.

        The pending writes are read under the claim, so that a write its last holder made late is not lost (R6.26).
        """
        plan = graph.plan
        check_breakpoints(plan, config)
        head = await self._checkpointer.head(thread_id)
        if head.status is CheckpointStatus.SUSPENDED:
            raise await self._standing.pending(thread_id)
        if head.status is None or head.status.settled:
            raise NothingToRecover(thread_id=thread_id)
        self._standing.check_free(thread_id, head)
        await self._standing.check_restorable(thread_id, graph)
        run_id = config.run_id or self._new_id()
        claim = await self._take(thread_id, run_id)
        try:
            latest = await self._checkpointer.latest(thread_id)
            if latest is None or latest.checkpoint.status is not CheckpointStatus.RUNNING:
                raise ThreadBusy(thread_id=thread_id, checkpoint_id=latest.checkpoint.id if latest else None)
            before = latest.checkpoint
            restored = graph.restored(before)
            execution = restored.execution
            recorded = reused_results(plan, execution, latest.writes)
            settled, birth_id = settled_of(before.header), birth_of(before)
            drafts = Drafts(plan, thread_id, run_id, self._clock)
            draft = drafts.checkpoint(CheckpointStatus.RUNNING, execution, restored.rewrite, parent=before.id, settled=settled)
            carried = tuple(drafts.write(draft.header.id, result) for result in recorded.values())
            told = drafts.event(events.RunRecovered(before.id, config.principal), draft.header.id)
            records = await self._commit_claim(thread_id, claim, draft, carried, told)
        except BaseException:
            await self._give_back(thread_id, claim.token)
            raise
        opening = records[0].sequence or 1
        self._publish(thread_id, records)
        id, began = draft.header.id, execution.superstep
        return Admitted(graph, execution, drafts, birth_id, config, id, settled, claim.token, opening, began, recorded)

    # -- the claim ---------------------------------------------------------------------------------------------------

    async def _entered(
        self, execution: Execution, config: RunConfig, thread_id: str, run_id: str, birth_id: str, claim_id: str
    ) -> tuple[Advance, list[TaskResult]] | None:
        """The entry superstep of a bookkeeping node, which has no effects: its checkpoint rides with the claim (D18).

        None when it is not one, or does anything else than complete; it is then run after the claim like every other node.
        """
        entry = execution.frontier[0]
        held = held_before(entry, config) or entry.node in config.interrupt_after
        if not execution.plan.nodes[entry.node].bookkeeping or held or config.durability is Durability.ON_EXIT:
            return None
        caller = asyncio.current_task()
        results = await Superstep(execution, RunVoice(config, thread_id, run_id, birth_id), claim_id, caller, owned=True).run()
        if caller is not None and caller.cancelling():
            raise asyncio.CancelledError
        if results[0].ending is not Ending.COMPLETED:
            return None
        try:
            return advance(execution, results, config), results
        except Exception:
            return None

    async def _claim(
        self,
        thread_id: str,
        run_id: str,
        checkpoints: tuple[CheckpointDraft, ...],
        told: tuple[EventDraft, ...],
        parent_token: int | None,
    ) -> tuple[int, int]:
        """Claim the thread and commit what the run opens with, in one transaction: token and number of the opening event (R6.23).

        `parent_token` is what the latest checkpoint was written under, None for a new thread.

        Raises: ThreadBusy when either race is lost; CheckpointWriteFailed for any other failure of the store.
        """
        commit = Commit(0, checkpoints, events=told, parent_token=parent_token)
        try:
            claim, records = await self._checkpointer.claim_and_commit(thread_id, run_id, self._claims.ttl, commit)
        except ThreadBusy:
            raise
        except CheckpointConflict as error:
            raise ThreadBusy(thread_id=thread_id, checkpoint_id=error.actual) from error
        except Exception as error:
            raise CheckpointWriteFailed(cause=error) from error
        self._publish(thread_id, records)
        return claim.token, records[0].sequence or 1

    async def _take(self, thread_id: str, run_id: str) -> Claim:
        try:
            return await self._checkpointer.claim(thread_id, run_id, self._claims.ttl)
        except ThreadBusy:
            raise
        except Exception as error:
            raise CheckpointWriteFailed(cause=error) from error

    async def _commit_claim(
        self, thread_id: str, claim: Claim, draft: CheckpointDraft, writes: tuple[PendingWrite, ...], told: EventDraft
    ) -> tuple[EventRecord, ...]:
        commit = Commit(token=claim.token, checkpoints=(draft,), writes=writes, events=(told,))
        try:
            return await self._checkpointer.commit(thread_id, commit)
        except CheckpointConflict as error:
            raise ThreadBusy(thread_id=thread_id, checkpoint_id=error.actual) from error
        except Exception as error:
            raise CheckpointWriteFailed(cause=error) from error
