"""The Gymnasium environment of one task: an agent's actions in, observations and a reward out.

One object serves one episode at a time. `reset` chooses the instance, `step` carries out one action. The environment keeps the steps and the attempts
of the episode (`trajectory`), from which the record is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import gymnasium

from medagentgym.agent.base import Message, Usage
from medagentgym.env.observation import describe_step, shorten
from medagentgym.env.replies import parse_reply
from medagentgym.env.spaces import TextSpace, sample_replies
from medagentgym.environments import interpreter
from medagentgym.errors import AgentError, UserError, infrastructure_boundary
from medagentgym.judges.base import Evidence, Judge, Verdict
from medagentgym.prompting import render_prompt
from medagentgym.sandbox import box_spec, configured_limits
from medagentgym.sandbox.base import Box, BoxSpec, StepResult
from medagentgym.tasks.base import Instance, Task
from medagentgym.tasks.execution import evidence_of
from medagentgym.tasks.selection import why_none_is_left

if TYPE_CHECKING:
    from medagentgym.config import Config
    from medagentgym.llm.debugger import Debugger
    from medagentgym.sandbox.pool import BoxPool

EVIDENCE_OUTPUT_CHARACTERS = 20_000
"""Characters of each output stream kept as evidence."""
EVIDENCE_ANSWER_CHARACTERS = 200_000
"""Characters of an answer (as JSON) kept as evidence."""
EVIDENCE_GATHERED_CHARACTERS = 200_000
"""Characters of what a task gathered (as JSON) kept as evidence."""
MAX_TEXT_LENGTH = 1_000_000
"""Longest observation or reply in the spaces of the environment, characters."""


@dataclass
class Trajectory:
    """What has happened in an episode so far."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    debugger_usage: Usage = field(default_factory=Usage)
    printed: tuple[int, Evidence] | None = None
    """The last successful execution that printed something and left no answer, as position of its step and evidence."""
    unreadable: int = 0
    """Replies without a readable action."""
    stop_reason: str | None = None
    verdict: Verdict | None = None

    @property
    def actions(self) -> int:
        """Actions that count against `num_steps`: all but unreadable replies."""
        return sum(step["action"] != "error" for step in self.steps)


class EpisodeEnvironment(gymnasium.Env[str, str]):
    """The environment of a task. Without a `debugger`, the action `debug` is not permitted.

    `step` takes a reply as a model writes it, or the name of an action with its parameters as keywords. The reward is 0 until the episode ends, then
    the score of the verdict. `terminated` means that the episode ended by itself (submitted, abstained, accepted, unparsable), `truncated` that steps
    or budget ran out.

    An *attempt* is an execution that leaves an `answer`, or an abstention. Under `protocol: submit` the last one is judged. In tasks where a
    `printed_value_counts`, the last successful execution that printed something becomes the attempt of an episode that ends without any.
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(
        self,
        task: Task,
        config: Config,
        pool: BoxPool,
        *,
        debugger: Callable[[], Debugger] | None = None,
        render_mode: str | None = None,
        is_alone: bool = False,
    ) -> None:
        self.task = task
        self.config = config
        self.pool = pool
        self.render_mode = render_mode
        self._is_alone = is_alone
        self._make_debugger = debugger
        self.judges: dict[str, Judge] = task.judges()
        final = {"abstain": task.may_abstain, "submit": config.protocol == "submit"}
        unavailable = {*final} if debugger is not None else {*final, "debug"}
        permitted = [action for action in task.permitted_actions if action not in unavailable]
        self.permitted_actions = (*permitted, *(action for action, is_permitted in final.items() if is_permitted))
        self.action_space = TextSpace(MAX_TEXT_LENGTH, sample_replies(self.permitted_actions))
        self.observation_space = TextSpace(MAX_TEXT_LENGTH)
        self.limits = configured_limits(config.sandbox)
        self.trajectory = Trajectory()
        self._box: Box | None = None
        self._episode = ExitStack()
        self._indices: list[int] | None = None
        self._last_observation = ""

    # --- Gymnasium ------------------------------------------------------------------------------------------------------------------------------

    def reset(self, task_id: int | None = None, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode on the instance `task_id` (or `options["idx"]`); without either, one is drawn with the environment's generator.

        `seed` seeds that generator and the code steps. Gives the text of the first user message; `info["messages"]` is the whole prompt.
        Raises `UserError` where the instance does not exist.
        """
        super().reset(seed=seed)
        self._end_box()
        given = dict(options or {})
        idx = task_id if task_id is not None else given.get("idx")
        if idx is None:
            if self._indices is None:
                self._indices = type(self.task).indices(self.config)
            if not self._indices:
                raise UserError(f"reset: no instance is left to draw: {why_none_is_left(self.config, type(self.task))}")
            idx = self._indices[int(self.np_random.integers(len(self._indices)))]
        if not isinstance(idx, int) or isinstance(idx, bool):
            raise UserError(f"reset: options['idx'] is {idx!r}; give the position of an instance as a whole number")
        self.instance: Instance = self.task.instance(idx)
        self.seed = int(seed if seed is not None else given.get("seed", self.np_random.integers(2**31)))
        self.trajectory = Trajectory()
        self.fields = self.task.prompt_fields(self.instance)
        self.prompt: list[Message] = render_prompt(self.config, self.fields, self.permitted_actions)
        self._last_observation = str(self.prompt[-1]["content"])
        return self._last_observation, {**self._info(), "messages": self.prompt}

    def step(self, action: str, **params: Any) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out one action. Raises `InfrastructureError` where that failed for a reason that is not the agent's."""
        if self.trajectory.stop_reason is not None:
            raise UserError("step: the episode has ended; call reset first")
        remarks: tuple[str, ...] = ()
        if action not in (*self.permitted_actions, "error"):
            parsed = parse_reply(action, self.permitted_actions)
            action, params, remarks = parsed.action, parsed.params, tuple(parsed.remarks)
        return self.act(action, params, remarks)

    def act(self, action: str, params: Mapping[str, Any], remarks: tuple[str, ...] = ()) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """`step` for an action that is parsed already. `remarks` on how the reply was read stand before the observation."""
        step: dict[str, Any] = {"action": action, "params": dict(params)}
        self.trajectory.steps.append(step)
        with infrastructure_boundary("machine"):
            try:
                observation = self._carry_out(action, params, step)
            except AgentError as error:
                observation = str(error)
        for_reader = "\n".join([*remarks, observation])
        step["observation"] = shorten(for_reader, self.config.env.observation_characters)
        if self.trajectory.stop_reason is None and self.trajectory.actions >= self.config.num_steps:
            self.end("out_of_steps")
        self._last_observation = step["observation"]
        verdict, reason = self.trajectory.verdict, self.trajectory.stop_reason
        truncated = reason in ("out_of_steps", "out_of_budget")
        reward = verdict.score if reason is not None and verdict is not None else 0.0
        return step["observation"], reward, reason is not None and not truncated, truncated, self._info()

    def render(self) -> str:
        """The last observation (render mode `ansi`)."""
        return self._last_observation

    def close(self) -> None:
        """Give the box back; where pool and task belong to this environment alone, close them."""
        self._end_box()
        if self._is_alone:
            self.pool.close()
            self.task.close()

    # --- the episode ----------------------------------------------------------------------------------------------------------------------------

    def end(self, stop_reason: str) -> None:
        """End the episode for `stop_reason`, and judge its last attempt unless it is unparsable."""
        if self.trajectory.stop_reason is not None:
            return
        self.trajectory.stop_reason = stop_reason
        if stop_reason != "unparsable" and not self.trajectory.attempts and self.trajectory.printed is not None:
            self._attempt(*self.trajectory.printed)
        if stop_reason == "unparsable" or not self.trajectory.attempts:
            what = "no readable action" if stop_reason == "unparsable" else "no attempt was made"
            self.trajectory.verdict = Verdict(correct=False, score=0.0, reason=what)
        else:
            self.trajectory.verdict = Verdict(**self.trajectory.attempts[-1]["verdicts"][self.config.stop_judge])
        self._end_box()

    def _carry_out(self, action: str, params: Mapping[str, Any], step: dict[str, Any]) -> str:
        if action == "error":
            return self._unreadable(params)
        if action not in self.permitted_actions:
            raise AgentError(f"The action {action!r} is not permitted here. Permitted actions: {', '.join(self.permitted_actions)}.")
        if action == "request_info":
            return self.task.request_info(params)
        if action == "validate_code":
            return self._validate_code(_text(params, "code"), step)
        if action == "terminal":
            return self._describe(self.own().shell(_text(params, "cmd")), step)
        if action == "debug":
            return self._debug(_text(params, "code"), _text(params, "error_msg"))
        if action == "abstain":
            return self._abstain()
        return self._submit()

    def _unreadable(self, params: Mapping[str, Any]) -> str:
        if params.get("kind") == "prose" and self.trajectory.attempts and self.config.protocol == "submit":
            self.end("submitted")
            return "Your reply holds no action, so your last answer is taken as final."
        self.trajectory.unreadable += 1
        if self.trajectory.unreadable > self.config.env.n_retry:
            self.end("unparsable")
        return str(params.get("message", "The reply holds no action."))

    def _abstain(self) -> str:
        abstention = Evidence(has_answer=False, answer=None, stdout="", stderr="", exit_status=None, abstained=True)
        self._attempt(len(self.trajectory.steps) - 1, abstention)
        self.end("abstained")
        return "That the data cannot answer the question is taken as final."

    def _submit(self) -> str:
        if not self.trajectory.attempts and self.trajectory.printed is not None:
            self.end("submitted")
            return "No code has left a variable `answer`, so what the last one printed is taken as final."
        if not self.trajectory.attempts:
            raise AgentError(f"There is nothing to submit yet: {self.task.attempt_form}.")
        self.end("submitted")
        return "Your last answer is taken as final."

    def _validate_code(self, code: str, step: dict[str, Any]) -> str:
        seed = (self.seed + len(self.trajectory.steps)) % 2**31
        execution = self.task.execute(self.instance, code, self, seed)
        observation = self._describe(execution.result, step)
        if execution.observation is not None:
            observation = execution.observation
        if execution.remark:
            observation += f"\n{execution.remark}"
        evidence, position = execution.evidence, len(self.trajectory.steps) - 1
        # The published stop judge reads what code prints, so under it every execution that succeeds is an attempt.
        reads_output = self.config.protocol == "oracle_stop" and self.config.stop_judge == "published"
        if evidence is None and reads_output and execution.result.exit_status == 0:
            evidence = evidence_of(execution.result)
        if evidence is None:
            if self.config.protocol == "submit" and self.task.printed_value_counts and _has_printed(execution.result):
                self.trajectory.printed = position, evidence_of(execution.result)
            return observation
        verdict = self._attempt(position, evidence)
        if self.config.protocol != "oracle_stop":
            return observation
        if verdict.correct:
            self.end("accepted")
        elif self.config.tell_verdict:
            observation += "\nThis answer was judged to be wrong."
        return observation

    def _attempt(self, position: int, evidence: Evidence) -> Verdict:
        """Judge the attempt that the step at `position` made with every judge of the task and keep the evidence; gives the stop judge's verdict."""
        reference = self.task.reference(self.instance)
        verdicts = {name: judge.judge(reference, evidence) for name, judge in self.judges.items()}
        self.trajectory.attempts.append(
            {
                "step": position,
                "evidence": capped_evidence(evidence).to_json(),
                "verdicts": {name: verdict.to_json() for name, verdict in verdicts.items()},
            }
        )
        return verdicts[self.config.stop_judge]

    def _debug(self, code: str, error_message: str) -> str:
        assert self._make_debugger is not None
        text, usage = self._make_debugger().explain(code, error_message)
        self.trajectory.debugger_usage.add(usage)
        return text

    def _describe(self, result: StepResult, step: dict[str, Any]) -> str:
        step |= {
            "exit_status": result.exit_status,
            "has_answer": result.has_answer,
            "limits_hit": list(result.limits_hit),
            "output_bytes": result.output_bytes,
            "wall_seconds": round(result.wall_seconds, 4),
            "cpu_seconds": round(result.cpu_seconds, 4),
        }
        return describe_step(result, self.limits, self.config.env.observation_characters)

    # --- boxes (`medagentgym.tasks.execution.Boxes`) --------------------------------------------------------------------------------------------

    def own(self) -> Box:
        """The episode's box, taken from the pool at its first use; another one where a step has cost it."""
        if self._box is not None and self._box.closed:
            self._end_box()
        if self._box is None:
            with infrastructure_boundary("sandbox"):
                self._box = self._episode.enter_context(self.pool.box(self._spec(None)))
        return self._box

    @contextmanager
    def fresh(self, read_only: Mapping[str, Path] | None = None) -> Iterator[Box]:
        """A clean box beside that of the episode, without network."""
        with infrastructure_boundary("sandbox"), self.pool.box(replace(self._spec(read_only), package_index=None)) as box:
            yield box

    def _spec(self, read_only: Mapping[str, Path] | None) -> BoxSpec:
        mounts = self.task.mounts(self.instance) if read_only is None else read_only
        return replace(box_spec(self.config.sandbox, interpreter(self.config, self.task), mounts), preload=self.task.preload)

    def _end_box(self) -> None:
        self._box = None
        episode, self._episode = self._episode, ExitStack()
        with infrastructure_boundary("sandbox"):
            episode.close()

    def _info(self) -> dict[str, Any]:
        verdict = self.trajectory.verdict
        return {
            "idx": self.instance.idx,
            "instance_id": self.instance.instance_id,
            "steps": len(self.trajectory.steps),
            "attempts": len(self.trajectory.attempts),
            "stop_reason": self.trajectory.stop_reason,
            "correct": None if verdict is None else verdict.correct,
        }


def capped_evidence(evidence: Evidence) -> Evidence:
    """Evidence as it is stored: what is over the cap is cut or left out, and `complete` says so."""
    stdout, stderr = evidence.stdout[:EVIDENCE_OUTPUT_CHARACTERS], evidence.stderr[:EVIDENCE_OUTPUT_CHARACTERS]
    fits = len(json.dumps(evidence.answer)) <= EVIDENCE_ANSWER_CHARACTERS
    gathered_fits = len(json.dumps(evidence.gathered)) <= EVIDENCE_GATHERED_CHARACTERS
    complete = evidence.complete and fits and gathered_fits and (stdout, stderr) == (evidence.stdout, evidence.stderr)
    return replace(
        evidence,
        answer=evidence.answer if fits else None,
        gathered=evidence.gathered if gathered_fits else None,
        stdout=stdout,
        stderr=stderr,
        complete=complete,
    )


def _has_printed(result: StepResult) -> bool:
    return result.exit_status == 0 and bool(result.stdout.strip())


def _text(params: Mapping[str, Any], name: str) -> str:
    """A parameter that must be a text. Raises `AgentError` where it is missing or something else."""
    value = params.get(name)
    if not isinstance(value, str):
        raise AgentError(f"The action needs the parameter {name!r} as a text.")
    return value
