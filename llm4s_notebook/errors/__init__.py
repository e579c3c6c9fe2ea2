"""Every error this package raises, in one tree, sorted by one question: has anything changed?

```
Llm4sError
├─ Refusal            nothing changed; mend the call and ask again
│   ├─ ConfigError · InvalidGraph · UnknownStateKey · ForeignExecution
│   ├─ ThreadBusy · ThreadExists · ThreadNotFound · CheckpointNotFound · CheckpointConflict
│   ├─ PendingInterrupts · InvalidResume · NotSuspended · IncompleteRun · NothingToRecover
│   ├─ RestoreRejected · UnsupportedCheckpointFormat · DecodeError · EncodeError
│   ├─ ReplayUnavailable · SubscriptionLagged
│   ├─ DecisionMismatch · DecisionLogDamaged
│   └─ Refused · GuardrailBlocked
├─ RunError           an admitted run ended badly; `thread_id` and `run_id` say which
│   ├─ NodeFailed ─ ToolFailed · MiddlewareFailed · ModelFailed
│   ├─ UndeclaredWrite · InvalidRoute · StateUpdateFailed · UnsatisfiedJoin
│   └─ SuperstepLimitExceeded · DeadlineExceeded · RunCancelled · RunCrashed · CheckpointWriteFailed
├─ StoreError         a store refused; seen by authors of stores
│   └─ InvalidCommit · StaleClaim · StoreUnavailable
└─ ProviderFailed     a model's provider gave no usable answer; in a turn the cause of ModelFailed
```

Every error says what happened, where, and what to do next: `what`, `where` and `next_step`. In a notebook cell
these three lines are all that is printed; `%tb` shows the traceback.
"""

from __future__ import annotations

from ._base import Llm4sError, half_character, lines_in_a_cell, printable, text_of
from ._provider_failed import ProviderFailed, ProviderFault
from ._refusal import (
    NOTHING,
    CheckpointConflict,
    CheckpointNotFound,
    ConfigError,
    DecisionLogDamaged,
    DecisionMismatch,
    DecodeError,
    EncodeError,
    ForeignExecution,
    GuardrailBlocked,
    IncompleteRun,
    InvalidGraph,
    InvalidResume,
    NothingToRecover,
    NotSuspended,
    PendingInterrupts,
    Refusal,
    Refused,
    ReplayUnavailable,
    RestoreRejected,
    ResumeProblem,
    ShownDifference,
    SubscriptionLagged,
    ThreadBusy,
    ThreadExists,
    ThreadNotFound,
    UnknownStateKey,
    UnsupportedCheckpointFormat,
)
from ._run_error import (
    CheckpointWriteFailed,
    DeadlineExceeded,
    InvalidRoute,
    MiddlewareFailed,
    ModelFailed,
    NodeFailed,
    RunCancelled,
    RunCrashed,
    RunError,
    StateUpdateFailed,
    SuperstepLimitExceeded,
    ToolFailed,
    UndeclaredWrite,
    UnsatisfiedJoin,
)
from ._store_error import (
    InvalidCommit,
    StaleClaim,
    StoreError,
    StoreUnavailable,
)

__all__ = [
    "NOTHING",
    "CheckpointConflict",
    "CheckpointNotFound",
    "CheckpointWriteFailed",
    "ConfigError",
    "DeadlineExceeded",
    "DecisionLogDamaged",
    "DecisionMismatch",
    "DecodeError",
    "EncodeError",
    "ForeignExecution",
    "GuardrailBlocked",
    "IncompleteRun",
    "InvalidCommit",
    "InvalidGraph",
    "InvalidResume",
    "InvalidRoute",
    "Llm4sError",
    "MiddlewareFailed",
    "ModelFailed",
    "NodeFailed",
    "NotSuspended",
    "NothingToRecover",
    "PendingInterrupts",
    "ProviderFailed",
    "ProviderFault",
    "Refusal",
    "Refused",
    "ReplayUnavailable",
    "RestoreRejected",
    "ResumeProblem",
    "RunCancelled",
    "RunCrashed",
    "RunError",
    "ShownDifference",
    "StaleClaim",
    "StateUpdateFailed",
    "StoreError",
    "StoreUnavailable",
    "SubscriptionLagged",
    "SuperstepLimitExceeded",
    "ThreadBusy",
    "ThreadExists",
    "ThreadNotFound",
    "ToolFailed",
    "UndeclaredWrite",
    "UnknownStateKey",
    "UnsatisfiedJoin",
    "UnsupportedCheckpointFormat",
    "half_character",
    "lines_in_a_cell",
    "printable",
    "text_of",
]
