"""From the instances of a task to what each judge accepted of them, and which cannot be judged.

What a program leaves behind depends on the program and on the data that its box shows. Where the task takes the evidence from the code step alone
(`Task.execute` is the one of the base class), a cheat that is the same for many instances is therefore played once for all that show it the same
data, and its evidence judged against each reference.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from medagentgym.audit.playing import Played, Player
from medagentgym.built_data import digest
from medagentgym.errors import UserError, infrastructure_boundary, one_line
from medagentgym.judges.base import Judge
from medagentgym.judges.references import ReferenceSummary, SummarisesReferences
from medagentgym.tasks.base import Instance, Task
from medagentgym.tasks.probes import (
    BROKEN_PASSES,
    CANNOT_RUN,
    CONTRADICTION,
    EMPTY,
    NONDETERMINISTIC,
    REASONS,
    REFERENCE_FAILS,
    Floor,
    Kind,
    Probe,
)

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.sandbox.pool import BoxPool

SEEDS = (1, 2)
"""Seeds of the two plays of a reference; everything else is played with the first."""
COMMONEST = 10
"""How many of the commonest golds are tried as answers to all instances."""
PROGRESS_SECONDS = 10.0
IMPOSSIBLE = "impossible"


@dataclass(frozen=True)
class ProbeForm:
    """What the same probes of all instances have in common."""

    name: str
    kind: Kind
    floor: Floor
    guesses: int
    """Attempts that count together: 1 but for `guesses`."""
    abstains: bool = False
    """Whether it abstains, which solves impossible questions; nothing else does."""


@dataclass
class AuditedInstance:
    """One instance, and what was accepted of it."""

    mode: str
    instance: Instance
    kind: Literal["answerable", "impossible"]
    reference: Any
    gold: ReferenceSummary | None
    """None where no judge can sum references up."""
    sees: str
    """Digest of what an agent sees of the instance."""
    mounts: str
    """Digest of the folders that its boxes show."""
    played: Played | None = None
    """The first play of the reference, None where there is no reference."""
    reasons: dict[str, str] = field(default_factory=dict)
    """What speaks against judging it, with more words."""
    accepted: dict[str, dict[str, bool]] = field(default_factory=dict)
    """Probe -> judge -> whether it was accepted."""

    @property
    def reason(self) -> str | None:
        """Why it cannot be judged, None where it can: the first of the reasons in their order."""
        order = {reason: position for position, reason in enumerate(REASONS)}
        return min(self.reasons, key=lambda reason: order.get(reason, -1), default=None)

    @property
    def gradable(self) -> bool:
        """Whether an attempt at it can be judged."""
        return not self.reasons

    @property
    def satisfied_by(self) -> ReferenceSummary:
        """Which answers solve it, for floors: those of the same key, or in the range."""
        if self.kind == IMPOSSIBLE:
            return ReferenceSummary("usable", IMPOSSIBLE)
        return self.gold if self.gold is not None else ReferenceSummary("usable", digest(self.reference))

    @property
    def key(self) -> str:
        """The same for instances that one and the same answer solves."""
        return self.satisfied_by.key


@dataclass(frozen=True)
class Instances:
    """All audited instances of one mode."""

    judges: tuple[str, ...]
    probes: tuple[ProbeForm, ...]
    audited: tuple[AuditedInstance, ...]

    @property
    def gradable(self) -> list[AuditedInstance]:
        """Those that can be judged."""
        return [audited for audited in self.audited if audited.gradable]


class Progress:
    """Says now and then how far the audit is. May be used by several threads."""

    def __init__(self, tell: Callable[[str], None], what: str, count: int) -> None:
        self._tell = tell
        self._what = what
        self._count = count
        self._done = 0
        self._told = time.monotonic()
        self._mutex = threading.Lock()

    def step(self) -> None:
        """One more is done."""
        with self._mutex:
            self._done += 1
            if time.monotonic() - self._told > PROGRESS_SECONDS:
                self._told = time.monotonic()
                self._tell(f"{self._what}: {self._done} of {self._count}")


class InstanceAudit:
    """The audit of the instances of one mode of a task."""

    def __init__(self, config: Config, task: Task, pool: BoxPool, threads: int, tell: Callable[[str], None]) -> None:
        self._config = config
        self._task = task
        self._player = Player(config, task, pool)
        self._threads = threads
        self._tell = tell
        self._judges: dict[str, Judge] = task.judges()
        self._summarising = next((judge for judge in self._judges.values() if isinstance(judge, SummarisesReferences)), None)
        self._is_shared = type(task).execute is Task.execute
        self._forms: dict[str, ProbeForm] = {}
        self._order: dict[str, None] = {}
        """Names of the probes in the order of the instances, which is not that in which threads come to them."""

    def run(self, indices: Sequence[int]) -> Instances:
        """Audit the instances. Raises `UserError` for a task whose probes cannot be told apart, and `InfrastructureError`."""
        self._forms = {"reference": ProbeForm("reference", "reference", "none", 1)}
        audited = [self._described(idx) for idx in indices]
        self._in_parallel("references", audited, self._audit_references)
        self._order = {name: None for one in audited for name in one.accepted}
        self._find_contradictions(audited)
        if self._is_shared:
            self._play_shared_cheats(audited)
            self._try_commonest(audited)
        else:
            self._in_parallel("cheats", audited, self._play_own_cheats)
            self._order |= {name: None for one in audited for name in one.accepted}
        return Instances(tuple(self._judges), tuple(self._forms[name] for name in self._order), tuple(audited))

    # --- one instance -------------------------------------------------------------------------------------------------------------------------------

    def _described(self, idx: int) -> AuditedInstance:
        instance = self._task.instance(idx)
        impossible = bool(self._task.is_impossible(instance))
        reference = self._task.reference(instance)
        mounts = digest({path: str(folder) for path, folder in self._task.mounts(instance).items()})
        audited = AuditedInstance(
            mode=self._config.mode,
            instance=instance,
            kind="impossible" if impossible else "answerable",
            reference=reference,
            gold=self._summarising.summarise(reference) if self._summarising is not None else None,
            sees=digest([self._task.prompt_fields(instance), mounts]),
            mounts=mounts,
        )
        known = self._task.ungradable(instance)
        if known is not None:
            reason, _, detail = known.partition(":")
            audited.reasons[one_line(reason)] = one_line(detail)
        if not impossible and audited.gold is not None and audited.gold.status in ("empty", "error"):
            reason = EMPTY if audited.gold.status == "empty" else CANNOT_RUN
            audited.reasons.setdefault(reason, "" if reason == EMPTY else "the gold could not be computed")
        return audited

    def _audit_references(self, audited: AuditedInstance) -> None:
        """Play the reference twice and every broken reference once."""
        try:
            actions = self._task.reference_actions(audited.instance)
            broken = self._task.broken_references(audited.instance)
        except UserError as error:
            audited.reasons.setdefault(CANNOT_RUN, one_line(error))
            return
        first, second = (self._player.play(audited.instance, actions, seed) for seed in SEEDS)
        audited.played = first
        self._judge(audited, self._forms["reference"], first)
        if first.no_attempt is not None:
            audited.reasons.setdefault(*first.no_attempt)
        elif first.differs_from(second):
            audited.reasons.setdefault(NONDETERMINISTIC, "two runs of the reference left different answers or outputs")
        elif not audited.accepted["reference"]["strict"]:
            audited.reasons.setdefault(REFERENCE_FAILS, first.verdict(self._judges["strict"], audited.reference, "none").reason)
        for name, program in broken.items():
            form = self._form(Probe(name, "broken", (("validate_code", {"code": program}),), "none"))
            self._judge(audited, form, self._player.play(audited.instance, [("validate_code", {"code": program})], SEEDS[0]))
            if audited.accepted[name]["strict"]:
                audited.reasons.setdefault(BROKEN_PASSES, name)

    def _play_own_cheats(self, audited: AuditedInstance) -> None:
        for probe in self._cheats_of(audited):
            self._judge(audited, self._form(probe), self._player.play(audited.instance, probe.actions, SEEDS[0]))

    def _cheats_of(self, audited: AuditedInstance) -> list[Probe]:
        """The cheats of an instance. One without a reference may have none either. Raises `UserError`."""
        try:
            return self._task.cheats(audited.instance)
        except UserError:
            if audited.gradable:
                raise
            return []

    def _judge(self, audited: AuditedInstance, form: ProbeForm, played: Played) -> None:
        verdicts = {name: played.verdict(judge, audited.reference, form.floor) for name, judge in self._judges.items()}
        audited.accepted[form.name] = {name: verdict.correct for name, verdict in verdicts.items()}

    def _form(self, probe: Probe) -> ProbeForm:
        """The common form of the probes of this name. Raises `UserError` where they differ, or the name is none."""
        abstains = any(action == "abstain" for action, _ in probe.actions)
        form = ProbeForm(probe.name, probe.kind, probe.floor, len(probe.actions) if probe.floor == "guesses" else 1, abstains)
        known = self._forms.setdefault(probe.name, form)
        if known != form:
            raise UserError(
                f"task {self._task.name}: two probes are called {probe.name} and differ in kind, floor, guesses or abstaining; rename one"
            )
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", probe.name):
            raise UserError(f"task {self._task.name}: a probe is called {probe.name!r}; use letters, digits and underscores")
        return form

    # --- all instances ------------------------------------------------------------------------------------------------------------------------------

    def _play_shared_cheats(self, audited: Sequence[AuditedInstance]) -> None:
        """Play every cheat once for the instances on which it does the same and sees the same, and judge it against each of them."""
        groups: dict[str, tuple[Probe, list[AuditedInstance]]] = {}
        for one in audited:
            for probe in self._cheats_of(one):
                self._order.setdefault(self._form(probe).name)
                groups.setdefault(digest([probe.name, probe.actions, one.mounts]), (probe, []))[1].append(one)

        def play(group: tuple[Probe, list[AuditedInstance]]) -> None:
            probe, members = group
            played = self._player.play(members[0].instance, probe.actions, SEEDS[0])
            for member in members:
                self._judge(member, self._forms[probe.name], played)

        self._in_parallel("cheats", list(groups.values()), play)

    def _try_commonest(self, audited: Sequence[AuditedInstance]) -> None:
        """Give the reference answers of the commonest golds to all instances: the best constant, and that many guesses."""
        answerable = [one for one in audited if one.gradable and one.kind != IMPOSSIBLE]
        first_of: dict[str, AuditedInstance] = {}
        for one in answerable:
            first_of.setdefault(one.key, one)
        counts = Counter(one.key for one in answerable)
        plays = [first_of[key].played for key, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:COMMONEST]]
        attempts = [played.attempts[-1] for played in plays if played is not None]
        if not attempts:
            return
        best = self._forms.setdefault("commonest_gold", ProbeForm("commonest_gold", "cheat", "constant", 1))
        several = self._forms.setdefault("commonest_golds", ProbeForm("commonest_golds", "cheat", "guesses", len(attempts)))
        self._order |= {best.name: None, several.name: None}
        for one in audited:
            self._judge(one, best, Played((attempts[0],)))
            self._judge(one, several, Played(tuple(attempts)))

    def _find_contradictions(self, audited: Sequence[AuditedInstance]) -> None:
        """Of instances that look the same to an agent, none can be judged where what solves one does not solve another.

        An instance whose reference is not accepted says nothing of others.
        """
        groups: dict[str, list[AuditedInstance]] = defaultdict(list)
        for one in audited:
            if one.played is not None and one.accepted["reference"]["strict"]:
                groups[one.sees].append(one)
        for members in groups.values():
            for one in members:
                other = next((other for other in members if other is not one and self._contradict(one, other)), None)
                if other is not None:
                    one.reasons.setdefault(CONTRADICTION, f"instance {other.instance.idx}: the same question with another gold")

    def _contradict(self, one: AuditedInstance, other: AuditedInstance) -> bool:
        """Whether what solves the one does not solve the other; where evidence says nothing of another instance, the keys of their golds tell."""
        if one.kind != other.kind or not self._is_shared:
            return one.key != other.key
        strict = self._judges["strict"]
        pairs = ((one, other), (other, one))
        return not all(solving.played and solving.played.verdict(strict, solved.reference, "none").correct for solving, solved in pairs)

    def _in_parallel(self, what: str, items: Sequence[Any], function: Callable[[Any], None]) -> None:
        """Call `function` for every item, several at once. The first failure ends it."""
        from joblib import Parallel, delayed

        progress = Progress(self._tell, f"{self._task.name}/{self._config.mode}, {what}", len(items))

        def one(item: Any) -> None:
            with infrastructure_boundary("machine"):
                function(item)
            progress.step()

        Parallel(n_jobs=self._threads, backend="threading", batch_size=1)(delayed(one)(item) for item in items)


def counts_by_reason(audited: Iterable[AuditedInstance]) -> dict[str, int]:
    """How many instances cannot be judged, by reason, in the order of the reasons."""
    counts: Mapping[str, int] = Counter(one.reason for one in audited if one.reason is not None)
    known = [reason for reason in REASONS if reason in counts]
    return {reason: counts[reason] for reason in [*known, *sorted(set(counts) - set(known))]}
