"""Task biocoder: write one function of a bioinformatics program.

Source: BioCoder (Tang et al., 2023, https://arxiv.org/abs/2308.16458, https://github.com/gersteinlab/BioCoder), in the published layout. A row has
`problem`, `context` (a program in which the line `<<insert solution here>>` stands for the function), `signature`, `solution` and `idx`.

An attempt is a function. It is put into the program at the marker (`medagentgym.programs.marker`) and the program is run in a fresh box, where every
call of the function is a process of its own and its result comes back by value (`medagentgym.programs.forked_calls`). What the program then prints is
compared with what it prints with the reference function.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from medagentgym import environments
from medagentgym.built_data import Mode
from medagentgym.env.observation import describe_step
from medagentgym.errors import UserError
from medagentgym.judges.base import Evidence
from medagentgym.judges.program_output import ProgramOutputJudge, PublishedProgramOutputJudge
from medagentgym.programs.function_cheats import changed_result, function_cheats
from medagentgym.programs.function_runs import FunctionRun, run_function
from medagentgym.programs.marker import MARKER, Candidate, Context, UngradableError
from medagentgym.programs.reference_outputs import empty_candidate, reference_outputs
from medagentgym.sandbox import configured_limits
from medagentgym.sandbox.base import BoxSpec
from medagentgym.tasks.base import Instance
from medagentgym.tasks.execution import Boxes, Execution
from medagentgym.tasks.probes import CANNOT_RUN, Probe
from medagentgym.tasks.task_file import TaskFileTask

if TYPE_CHECKING:
    from medagentgym.config import Config, SyntheticConfig
    from medagentgym.judges.base import Judge
    from medagentgym.row_files import SourceRow

CACHE_FOLDER = ".reference_outputs"
"""Folder beside the built data in which outcomes of reference programs are kept."""

_QUESTION = """{problem}

The function takes the place of the line `{marker}` in this program, which then runs from its beginning to its end:

```python
{context}
```

Signature: `{signature}`"""


class BioCoder(TaskFileTask):
    """BioCoder's functions."""

    name: ClassVar[str] = "biocoder"
    environment_family: ClassVar[str] = "bioinformatics"
    code_modules: ClassVar[tuple[str, ...]] = ("medagentgym.tasks.task_file", "medagentgym.programs")
    boxes_an_episode: ClassVar[int] = 2
    preload: ClassVar[tuple[str, ...]] = (
        *BoxSpec.preload,
        "scipy.stats",
        "scipy.signal",
        "scipy.ndimage",
        "skimage.measure",
        "skimage.morphology",
        "sklearn.cluster",
        "sklearn.preprocessing",
        "pysam",
        "pyarrow.parquet",
    )
    attempt_form: ClassVar[str] = "no function has been given with which the program runs to its end"
    answer_form: ClassVar[str] = (
        "Give `validate_code` the definition of the function and nothing that does something by itself: the function, indented as if it stood alone, "
        "and the imports, constants and helper functions that it needs. Code that does more runs as a program of its own, to try things out."
    )

    # --- the build ------------------------------------------------------------------------------------------------------------------------------

    @classmethod
    def built_rows(cls, rows: list[SourceRow], mode: Mode, config: Config) -> list[dict[str, Any]]:
        """The built rows of a mode. The reference programs run here, in boxes."""
        built = [_built_row(row) for row in rows]
        gradable = [row for row in built if "ungradable" not in row["gold"]]
        programs = [reference_program(row) for row in gradable]
        cache = config.work_dir / "data" / CACHE_FOLDER / cls.name
        outputs = reference_outputs(programs, cls, config, cache, lambda line: print(f"{cls.name}: {mode}: {line}", file=sys.stderr, flush=True))
        for row, output in zip(gradable, outputs, strict=True):
            row["gold"] |= output
        return built

    @classmethod
    def made_up_rows(cls, synthetic: SyntheticConfig, mode: Mode) -> list[dict[str, Any]]:
        """Made-up functions (see `medagentgym.synthetic.functions`)."""
        from medagentgym.synthetic.functions import make_rows

        return make_rows(synthetic.seed, mode, getattr(synthetic, mode))

    @classmethod
    def counts_of_build(cls, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """How many contexts held a definition of the very function that is asked for."""
        return {"contexts_with_a_solution": sum(row["about"].get("taken_out", 0) > 0 for row in rows)}

    @classmethod
    def remarks_of_build(cls, rows: Mapping[Mode, list[dict[str, Any]]], config: Config) -> list[str]:
        """What was changed in the published contexts."""
        remarks = []
        for mode, of_mode in rows.items():
            changed = [str(row["idx"]) for row in of_mode if row["about"].get("taken_out")]
            if changed:
                remarks.append(
                    f"{cls.name}, {mode}: the contexts of {len(changed)} instances ({', '.join(changed)}) define the function that is asked for "
                    "besides, which would hide every solution; these definitions are taken out"
                )
        return remarks

    # --- while running --------------------------------------------------------------------------------------------------------------------------

    def prompt_fields(self, instance: Instance) -> dict[str, str]:
        """The fields of every task file, and what an attempt is."""
        return {
            **super().prompt_fields(instance),
            "purpose": "You write a function of a bioinformatics program.",
            "attempt_rule": "Code that does nothing but define the function is a solution; what the program prints with it is shown to you.",
            "what_counts": "the last solution with which the program ran to its end",
            "every_attempt": "Every solution with which the program runs to its end is an attempt.",
        }

    def execute(self, instance: Instance, code: str, boxes: Boxes, seed: int) -> Execution:
        """Run the program with a solution in a fresh box, or, in the episode's box, code that is none. Raises `InfrastructureError`."""
        limits, characters = configured_limits(self.config.sandbox), self.config.env.observation_characters
        try:
            context, _ = reference_program(instance.record)
            candidate = Candidate.read(code, context.function, context.owner)
        except UngradableError:
            candidate = "the place for it is inside something else"
        except (SyntaxError, ValueError) as error:
            candidate = f"it is no Python ({error})"
        except RecursionError:
            candidate = "it is nested too deeply"
        if isinstance(candidate, str):
            result = boxes.own().run(code, seed=seed)
            shown = describe_step(result, limits, characters, expects_answer=False)
            return Execution(result, None, f"The code was not taken as a solution: {candidate}.", shown)
        self._check_packages(instance)
        with boxes.fresh({}) as box:
            run = run_function(box, context, candidate)
        shown = describe_step(run.result, limits, characters, expects_answer=False)
        return Execution(run.result, _evidence(run), _remark(run), shown.replace("The code ran", "The program ran", 1))

    def reference_code(self, instance: Instance) -> str:
        """The reference function. Raises `UserError` where no place for it was found."""
        if "code" not in instance.record["gold"]:
            raise UserError(f"{self.name} {instance.idx}: {instance.record['gold'].get('ungradable', 'there is no reference')}")
        return str(instance.record["gold"]["code"])

    def broken_references(self, instance: Instance) -> dict[str, str]:
        """A function that does nothing, one that returns something else, and the reference with a changed result."""
        context, candidate = self._program(instance)
        return {
            "empty_body": empty_candidate(context, candidate).function,
            "wrong_body": empty_candidate(context, candidate).function.replace("pass", "return 'something else'"),
            "changed_result": changed_result(candidate),
        }

    def cheats(self, instance: Instance) -> list[Probe]:
        """Solutions that know the gold and do not compute it (see `medagentgym.programs.function_cheats`)."""
        try:
            context, candidate = self._program(instance)
        except UserError:
            return []
        gold = instance.record["gold"]
        return function_cheats(context, candidate, gold.get("output", "") + gold.get("printed", ""))

    @classmethod
    def judges(cls) -> dict[str, Judge]:
        """`strict`: the program prints what it prints with the reference; `published`: everything written is the same text, warnings included."""
        return {"strict": ProgramOutputJudge(), "published": PublishedProgramOutputJudge()}

    def _check_packages(self, instance: Instance) -> None:
        """Refuse to compare with what a reference printed with other packages. Raises `UserError`."""
        made_with = instance.record["gold"].get("environment")
        packages = environments.identity(self.config, self)
        if made_with is not None and made_with != packages:
            raise UserError(
                f"{self.folder}: its reference programs ran with other packages ({made_with}) than code steps have now ({packages}); delete the "
                "folder and build the data again, with the target `data`"
            )

    def _program(self, instance: Instance) -> tuple[Context, Candidate]:
        self.reference_code(instance)
        return reference_program(instance.record)


def reference_program(row: Mapping[str, Any]) -> tuple[Context, Candidate]:
    """The context of a built row and its reference as a candidate. Raises `UngradableError`."""
    context = Context.read(row["about"]["context"], row["gold"]["solution"])
    candidate = Candidate.read(row["gold"]["solution"], context.function, context.owner)
    if isinstance(candidate, str):
        raise UngradableError(f"the reference solution is no definition: {candidate}")
    return context, candidate


def _built_row(row: SourceRow) -> dict[str, Any]:
    given, solution = row.text("context"), row.text("solution")
    signature = row.text("signature", "").strip()
    about: dict[str, Any] = {"signature": signature, "context": given, "taken_out": 0}
    gold: dict[str, Any] = {"solution": solution}
    try:
        context = Context.read(given, solution)
        about |= {"context": context.shown, "taken_out": context.definitions_taken_out}
        reference_program({"about": about, "gold": gold})
        gold["code"] = solution
    except UngradableError as error:
        gold["ungradable"] = f"{CANNOT_RUN}: {error}"
    question = _QUESTION.format(problem=row.text("problem").strip(), marker=MARKER, context=about["context"].strip("\n"), signature=signature)
    return {"id": row.text("idx", str(row.idx)), "question": question, "gold": gold, "about": about}


def _evidence(run: FunctionRun) -> Evidence | None:
    """The evidence of a program that ran to its end; None for any other."""
    if run.problem is not None or run.result.exit_status != 0:
        return None
    return Evidence(
        has_answer=True,
        answer=None,
        stdout=run.result.stdout,
        stderr=run.result.stderr,
        exit_status=0,
        gathered={"printed": run.printed, "calls": run.calls},
    )


def _remark(run: FunctionRun) -> str:
    parts = []
    if run.printed.strip():
        printed = run.printed if len(run.printed) <= 2000 else run.printed[:2000] + "..."
        parts.append(f"Your function printed:\n{printed.rstrip()}")
    if run.problem is not None:
        parts.append(f"This was no attempt: {run.problem}.")
    elif run.calls == 0:
        parts.append("The program did not call your function.")
    return "\n".join(parts)
