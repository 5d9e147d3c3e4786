"""The typed configuration: the one source of defaults, of `config/schema.json` and of `docs/configuration.md`.

The docstring under a field is its documentation, in both.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]
"""A word that is safe as a folder name."""

CredentialName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
"""The name of a credential, which is also the name of an environment variable."""


IndexAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/?#@\\]+(/[^\s?#@\\]*)?$", max_length=500)]
"""The address of a package index, without credentials."""

HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$", max_length=260)]
"""A host, and a port where it is not the usual one."""

Index = Annotated[int, Ge(0)]
"""Position of an instance in the source question file, counted from 0."""


ReadKind = Literal["file", "folder", "file or folder"]


@dataclass(frozen=True)
class MustExist:
    """Marks a path that is read: it is looked for when a configuration is loaded, before anything else happens."""

    kind: ReadKind


def _not_empty(value: Any) -> Any:
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise ValueError("an empty path")
    return value


def _expand_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def _plain_folder(path: Path) -> Path:
    return Path(os.path.normpath(path))


ExpandedPath = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(_expand_home)]
"""A path; `~` at its beginning is the home folder, and a relative one starts at the current folder."""
WorkFolder = Annotated[ExpandedPath, AfterValidator(_plain_folder)]
"""A folder that is written, in the form in which Snakemake compares paths: `a/../b/` is `b`."""
InputFile = Annotated[ExpandedPath, MustExist("file")]
"""A file that is read."""
InputFolder = Annotated[ExpandedPath, MustExist("folder")]
"""A folder that is read."""
InputPath = Annotated[ExpandedPath, MustExist("file or folder")]
"""A file or folder that is read."""


def _mentions_bool(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(_mentions_bool(part) for part in get_args(annotation))


class Block(BaseModel):
    """A block of the configuration: unknown keys are mistakes, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, protected_namespaces=(), allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Python takes `true` for 1; in a configuration it is a mistake."""
        values = value if isinstance(value, list) else [value]
        if any(isinstance(item, bool) for item in values) and not _mentions_bool(cls.model_fields[str(info.field_name)].annotation):
            raise ValueError("true and false are no numbers")
        return value


class ModelPrice(Block):
    """Prices in units of currency for a million tokens."""

    prompt: float = Field(0.0, ge=0)
    """Price of a million prompt tokens."""
    completion: float = Field(0.0, ge=0)
    """Price of a million completion tokens, reasoning tokens included."""
    cached: float | None = Field(None, ge=0)
    """Price of a million cached prompt tokens; null: as `prompt`."""


class ModelConfig(Block):
    """A language model and how it is called."""

    model_type: Literal["OpenAI", "Azure", "vLLM"] = "OpenAI"
    """Kind of service. `OpenAI` with `base_url` is any OpenAI-compatible server."""
    model_name: str = "gpt-4.1-mini"
    """Model as the service calls it."""
    base_url: str | None = None
    """Address of the service; null: the service's own, or `OPENAI_BASE_URL` of the credentials or the environment."""
    port: int | None = Field(None, ge=1, le=65535)
    """`vLLM`: port on this machine, short for `base_url: http://127.0.0.1:<port>/v1`."""
    deployment_name: str | None = None
    """`Azure`: name of the deployment; null: `model_name`."""
    api_version: str | None = None
    """`Azure`: version of the interface; null: `API_VERSION` of the credentials or the environment."""
    api_key_name: CredentialName | None = None
    """Name of the credential that holds the key; null: `OPENAI_API_KEY`, `AZURE_OPENAI_API_KEY`, or none for `vLLM`."""
    max_total_tokens: int | None = Field(None, ge=1)
    """Size of the model's context window; an episode whose conversation outgrows it ends as out of budget."""
    max_input_tokens: int | None = Field(None, ge=1)
    """Longest prompt that is sent; a longer one ends the episode as out of budget."""
    max_new_tokens: int | None = Field(None, ge=1)
    """Longest reply, reasoning included."""
    token_param: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the service calls the longest reply: `max_completion_tokens` for reasoning models."""
    temperature: float | None = Field(0.0, ge=0)
    """Sampling temperature; null: not sent (reasoning models reject it)."""
    top_p: float | None = Field(None, gt=0, le=1)
    """Nucleus sampling; null: not sent."""
    send_seed: bool = True
    """Send the episode's seed with every call, so that a service that honours it repeats itself."""
    log_probs: bool = False
    """Ask for log probabilities of the reply's tokens and keep them in the record."""
    vision_support: bool = False
    """Whether the model accepts images."""
    extra_body: dict[str, Any] = {}
    """Further keys of the request, sent as they are."""
    timeout_seconds: float = Field(120.0, gt=0)
    """A call without an answer after this time is tried again."""
    price: ModelPrice | None = None
    """Prices; null: cost is unknown, and said to be."""


class AgentConfig(Block):
    """Who acts."""

    name: str = "llm"
    """Agent: `llm`, `baseline`, `reference`, `scripted`, or an entry point of `medagentgym.agents`."""
    llm: ModelConfig = ModelConfig()
    """The model of agent `llm`."""
    n_retry: int = Field(3, ge=0)
    """How often a failed model call is tried again for one reply."""
    retry_delay: float = Field(10.0, ge=0)
    """Seconds before the first retry; doubled for each further one, up to a minute."""
    replies: InputFile | None = None
    """Agent `scripted`: JSON file with a list of replies for every episode, or an object from `idx` to such a list."""
    max_cost: float | None = Field(None, gt=0)
    """An episode that has cost more ends as out of budget. Needs `llm.price`."""
    options: dict[str, Any] = {}
    """Options of a third-party agent."""


class SyntheticConfig(Block):
    """Made-up patients in the shape of raw MIMIC-III."""

    patients: int = Field(200, ge=10)
    """Number of patients."""
    seed: int = 0
    """The same seed gives the same bytes."""
    train: int = Field(100, ge=0)
    """Number of training questions."""
    test: int = Field(100, ge=1)
    """Number of test questions."""


class DatasetConfig(Block):
    """Where a task's data come from. Exactly one of `raw_path`, `sqlite_path`, `data_path` and `synthetic` is given, or `questions` alone."""

    raw_path: InputFolder | None = None
    """Directory of raw PhysioNet tables, `*.csv` or `*.csv.gz`; for task biodsbench, of cBioPortal studies (folders or archives)."""
    sqlite_path: InputFile | None = None
    """A database that is built already, in the shape of EHRSQL's."""
    data_path: InputFolder | None = None
    """Directory in the published layout: `*_tasks.jsonl` beside CSV tables."""
    synthetic: SyntheticConfig | None = None
    """Make the patients up."""
    metadata_path: ExpandedPath | None = None
    """Accepted for the published layout and not used: instances are counted in the task files themselves."""
    questions: dict[Literal["train", "test"], InputFile] = {}
    """Question files of `raw_path` and `sqlite_path`, by mode; for tasks that are made of task files alone, those files."""
    notes_path: InputFile | None = None
    """Task ehrcon, with `sqlite_path`: the CSV file of the notes."""
    credentialed: bool | None = None
    """Whether the records fall under a data use agreement that restricts sending them to model services; null: as the task knows it. Reports then
    quote no questions, answers and golds."""
    gold: Literal["executed", "stored"] = "executed"
    """`executed`: gold answers are made by running the gold SQL on the database at hand, at its own "now"; `stored`: as the task file has them."""
    impossible: Literal["exclude", "include", "only"] = "exclude"
    """Whether questions that the data cannot answer are asked: not at all, with the others, or alone. Where they are asked and the task has any,
    agents may `abstain`, which is the right answer to them and to no other question."""
    empty_gold: Literal["include", "exclude"] = "include"
    """Whether questions whose gold is empty on the database at hand are asked. `exclude` needs the data to be built first."""
    exclude: list[Index | Literal["audit"]] | Literal["audit"] = []
    """Instances to leave out, by `idx`. `audit`, alone or among them, leaves out those that the target `audit` found impossible to judge."""
    only: list[Index] | None = None
    """The only instances to ask, by `idx`; null: all."""
    sample_patients: int = Field(1000, ge=0)
    """Patients drawn for the cohort besides those that the questions name (`raw_path`)."""
    current_share: float = Field(0.1, ge=0, le=1)
    """Share of drawn patients whose last stay is still open at "now" (`raw_path`)."""
    seed: int = 0
    """Seed of the cohort's draws and of the made-up costs."""
    show_method: bool = False
    """Task medcalcbench: show how the value is calculated (the short summary of `calculation_method.jsonl`, beside the task files)."""
    gold_overrides: InputFile | None = None
    """Task medcalcbench: file of corrected labels that replace golds (JSON Lines or CSV; see docs/tasks.md). The summary says so."""

    @property
    def excluded_indices(self) -> frozenset[int]:
        """The instances that `exclude` names one by one."""
        return frozenset(item for item in self.exclude if isinstance(item, int))

    @property
    def excludes_ungradable(self) -> bool:
        """Whether `exclude` leaves out what the audit found impossible to judge."""
        return "audit" in self.exclude


class EnvironmentConfig(Block):
    """What an episode permits."""

    n_retry: int = Field(3, ge=0)
    """How many replies without a readable action an episode may have; one more ends it as unparsable."""
    observation_characters: int = Field(8000, ge=200)
    """Longest observation shown to the agent; of a longer one the head and the tail are shown, and how much was left out."""
    preview_rows: int = Field(3, ge=0)
    """Rows of each table that the prompt shows."""


class SandboxConfig(Block):
    """Where model-written code runs."""

    backend: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    """`auto`: the strongest that works here, else the run is refused. `none` runs code unprotected and is only taken by name."""
    network: Literal["none", "package-index"] = "none"
    """`package-index`: code can install from one package index, `package_index`, and reaches nothing else. Needs `bubblewrap`."""
    package_index: IndexAddress = "https://pypi.org/simple"
    """Address of that index, where its list of projects is; credentials are `PACKAGE_INDEX_USER` and `PACKAGE_INDEX_PASSWORD`."""
    package_index_hosts: list[HostName] = ["files.pythonhosted.org"]
    """Other hosts (`host` or `host:port`) from which files may be fetched that its pages link to."""
    package_index_mb: int = Field(512, ge=1)
    """What one episode may fetch from it, MiB."""
    python: InputPath | None = None
    """Interpreter for the code steps, or the folder of a virtual or conda environment; null: the environment of the task's family."""
    wall_seconds: float = Field(120.0, ge=0.1, le=604_800)
    """Longest run of one code step."""
    cpu_seconds: float = Field(120.0, ge=0.1, le=10_000_000)
    """Processor time of one code step."""
    memory_mb: int = Field(2048, ge=128, le=16_777_216)
    """Memory of one box, MiB."""
    processes: int = Field(64, ge=1, le=100_000)
    """Processes and threads of one box."""
    open_files: int = Field(256, ge=16, le=1_000_000)
    """Open files of one process."""
    file_mb: int = Field(256, ge=1, le=16_777_216)
    """Largest file, MiB."""
    work_mb: int = Field(512, ge=1, le=16_777_216)
    """Size of an episode's work folder, MiB."""
    work_files: int = Field(10_000, ge=10, le=100_000_000)
    """Number of files in an episode's work folder."""
    output_bytes: int = Field(1_000_000, ge=1000, le=100_000_000)
    """Bytes of output kept of one step."""
    answer_bytes: int = Field(1_000_000, ge=1000, le=100_000_000)
    """Size of the answer taken from one step, as JSON."""


class PromptConfig(Block):
    """Prompt templates; each null is the task's own."""

    system: InputFile | None = None
    """Template file of the system message."""
    user: InputFile | None = None
    """Template file of the first user message."""
    few_shot: InputFile | None = None
    """JSON Lines file of example conversations from the train split."""


class TrainingConfig(Block):
    """How trajectories are collected for training."""

    num_rollouts: int = Field(1, ge=1)
    """Episodes an instance."""
    rollout_indices: InputFile | None = None
    """JSON file `{task: {mode: [idx, ...]}}`: the only instances to ask."""
    seed: int = 0
    """Seed from which the seed of every episode follows."""


class ScoringConfig(Block):
    """How finished episodes are judged. Changing this re-scores without one new model call."""

    judges: list[Literal["strict", "published"]] = Field(["strict", "published"], min_length=1)
    """Judges that score every episode. The first is the one that the tables lead with."""
    size_tolerance: float = Field(0.0, ge=0, lt=1)
    """Task npowerai: by which share of the gold a sample size may differ under `strict`; 0: not at all."""


class DataPolicyAcknowledgement(Block):
    """A statement that records may be sent to an endpoint."""

    endpoint: str
    """Host of the endpoint, for example `my-resource.openai.azure.com`."""
    basis: str = Field(min_length=10)
    """On what basis: the agreement or service terms that permit it."""


class DataPolicyConfig(Block):
    """Where credentialed patient data may be sent."""

    private_hosts: list[str] = []
    """Hosts under your own control that may receive credentialed data, besides the loopback."""
    acknowledged: list[DataPolicyAcknowledgement] = []
    """Hosted endpoints for which you state a basis."""


class GeneralArgs(Block):
    """The published flags, with their published defaults."""

    config_path: ExpandedPath | None = None
    """YAML or JSON file."""
    task: Name = "mimic_iii"
    """Task to run."""
    credentials_path: ExpandedPath = Path("./credentials.toml")
    """TOML file with the credentials; also accepted as `credential_path`."""
    work_dir: WorkFolder = Path("./work_dir/")
    """Folder for data, episodes and reports. Private to its user."""
    result_dir_tag: Name | None = None
    """Folder of this experiment's episodes below `<work_dir>/<task>/`; null: made from the agent and the model."""
    start_idx: int = Field(0, ge=0)
    """First instance, counted from 0 in the source question file."""
    end_idx: int = Field(-1, ge=-1)
    """Instance before which to stop; -1: all."""
    num_steps: int = Field(30, ge=1)
    """Most actions of an episode."""
    async_run: bool = False
    """Run episodes in parallel."""
    n_jobs: int = Field(5, ge=1)
    """Cores for `async_run`."""
    parallel_backend: Literal["ray", "joblib"] = "ray"
    """Accepted for the published interface; both run on Snakemake."""
    mode: Literal["train", "test"] = "test"
    """Which questions."""


class BaseConfig(GeneralArgs):
    """General arguments with the blocks for data set, model and training."""

    data: DatasetConfig = DatasetConfig()
    """Where the data come from."""
    agent: AgentConfig = AgentConfig()
    """Who acts."""
    training: TrainingConfig = TrainingConfig()
    """How trajectories are collected."""


class Config(BaseConfig):
    """One experiment, or several that share what is not listed under `experiments`."""

    name: Name | None = None
    """Name of the run's reports folder; null: the stem of the configuration file."""
    debugger: ModelConfig | None = None
    """Model of the `debug` action; null: the agent's own."""
    env: EnvironmentConfig = EnvironmentConfig()
    """What an episode permits."""
    sandbox: SandboxConfig = SandboxConfig()
    """Where model-written code runs."""
    prompts: PromptConfig = PromptConfig()
    """Prompt templates."""
    protocol: Literal["submit", "oracle_stop"] = "submit"
    """`submit`: the agent says when it is done, and its last attempt is judged; in questions on patient tables, where no program ever left an
    `answer`, what the last one printed. `oracle_stop`: the first attempt that the stop judge accepts ends the episode."""
    stop_judge: Literal["strict", "published"] = "strict"
    """Judge that stops an episode under `oracle_stop`."""
    tell_verdict: bool = False
    """Under `oracle_stop`, tell the agent that an attempt was judged wrong."""
    scoring: ScoringConfig = ScoringConfig()
    """How finished episodes are judged."""
    data_policy: DataPolicyConfig = DataPolicyConfig()
    """Where credentialed patient data may be sent."""
    in_flight: int = Field(8, ge=1)
    """Episodes at once inside one worker."""
    batch_size: Annotated[int, Ge(1)] | Literal["auto"] = "auto"
    """Episodes a job; `auto` follows from the number of episodes."""
    experiments: list[dict[str, Any]] = []
    """Experiments of one run: each entry overrides keys of the rest of the file."""
