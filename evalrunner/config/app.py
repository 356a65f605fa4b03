"""Hydra, set up for us: search path with the user's overlay, our loader, and checks before anything runs."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from hydra import version
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import configure_log, env_override
from hydra.errors import MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evalrunner.config.commandline import Parsed
from evalrunner.config.explain import CONFIG_FAULTS
from evalrunner.config.loader import Loader
from evalrunner.config.registry import check_hydra
from evalrunner.errors import ConfigError, EvalrunnerError, Problem, UsageError, show
from evalrunner.paths import data_root, user_folder


def shadowed() -> list[str]:
    """The packaged options that the user's conf/ shadows, such as `model/fast`, in order."""
    user, packaged = user_folder("conf"), data_root() / "conf"
    if user is None:
        return []
    names = (file.relative_to(user) for file in user.rglob("*.yaml"))
    return sorted(str(name.with_suffix("")) for name in names if (packaged / name).is_file())


class App(Hydra):
    """One command's Hydra.

    Args:
        command: its name.
        config_dir: as given with `--config-dir`.
        ahead: as for `search_path`.
        sweeps: whether `-m` can be given, and may be advised.

    Attributes:
        composed: what was composed last; None before.
    """

    config_loader: Loader

    def __init__(
        self,
        command: str,
        config_dir: str | None = None,
        ahead: Path | None = None,
        *,
        sweeps: bool = False,
    ) -> None:
        version.setbase("1.3")
        loader = Loader(search_path(config_dir, ahead), sweeps=sweeps)
        super().__init__(task_name=command, config_loader=loader)
        self.composed: DictConfig | None = None
        self._made: tuple[object, DictConfig] | None = None

    def __enter__(self) -> "App":
        GlobalHydra.instance().initialize(self)
        return self

    def __exit__(self, *unused: object) -> None:
        GlobalHydra.instance().clear()

    def compose_config(  # noqa: PLR0917 - as Hydra calls it
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        with_log_configuration: bool = False,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """As Hydra's; the same question asked again is answered from memory, once.

        Raises:
            ConfigError: a file of the configuration cannot be read.
            TargetError: the node `hydra` names code that is not registered.
        """
        asked = (config_name, tuple(overrides), run_mode)
        if self._made is not None and self._made[0] == asked:
            config, self._made = self._made[1], None
        else:
            try:
                config = super().compose_config(
                    config_name,
                    overrides,
                    run_mode,
                    from_shell=from_shell,
                    validate_sweep_overrides=validate_sweep_overrides,
                )
            except MissingConfigException:
                raise
            except OSError as error:
                raise ConfigError(
                    Problem(str(error.filename), f"cannot be read: {error.strerror}")
                ) from error
            self._made = (asked, config)
        if with_log_configuration:
            check_hydra(_plain_hydra(config))
            configure_log(config.hydra.hydra_logging, config.hydra.verbose)
        self.composed = config
        return config

    def is_sweep(self, config_name: str, overrides: list[str]) -> bool:
        """Whether the configuration itself asks to be swept (`hydra.mode: MULTIRUN`).

        Raises what composing raises. A configuration that is to run once is composed here, and kept for it.
        """
        try:
            config = self.compose_config(config_name, overrides, RunMode.RUN)
        except (*CONFIG_FAULTS, EvalrunnerError):
            if self.get_mode(config_name, overrides) == RunMode.MULTIRUN:
                return True
            raise
        return bool(config.hydra.mode == RunMode.MULTIRUN)

    def show(self, config_name: str, parsed: Parsed) -> bool:
        """Prints what `--cfg`, `--info` or `--hydra-help` ask for; False when none of them was given.

        Raises:
            UsageError: `--package` names a part that the configuration does not have.
        """
        wanted, overrides = parsed.hydra, parsed.overrides
        if "--resolve" in wanted and "--cfg" not in wanted:
            raise UsageError(Problem("--resolve", "goes with --cfg"))
        if "--hydra-help" in wanted:
            arguments = Namespace(overrides=overrides, resolve=False)
            self.hydra_help(config_name, get_args_parser(), arguments)
        elif "--cfg" in wanted:
            package = wanted.get("--package")
            try:
                self.show_cfg(config_name, overrides, wanted["--cfg"], package, resolve="--resolve" in wanted)
            except SystemExit:
                raise UsageError(Problem("--package", "no such part", show(package))) from None
        elif "--info" in wanted:
            with env_override({"HYDRA_FULL_ERROR": "1"}):  # Hydra then raises, where else it would exit
                self.show_info(wanted["--info"], config_name, overrides)
        else:
            return False
        return True


def _plain_hydra(config: DictConfig) -> dict[str, Any]:
    parts = {
        part: OmegaConf.to_container(config.hydra[part], resolve=True)
        for part in ("callbacks", "launcher", "sweeper")
        if OmegaConf.is_config(config.hydra.get(part))
    }
    return dict(parts)


def search_path(config_dir: str | None = None, ahead: Path | None = None) -> ConfigSearchPathImpl:
    """Hydra's configs, the user's ./conf where there is one, the packaged conf/, then `--config-dir`.

    Args:
        config_dir: as given with `--config-dir`.
        ahead: a folder whose options win over all others; see `put_ahead`.

    Raises:
        UsageError: `--config-dir` is no folder.
    """
    made = create_config_search_path(str(data_root() / "conf"))
    assert isinstance(made, ConfigSearchPathImpl)
    user = user_folder("conf")
    if user is not None:
        made.prepend("user", f"file://{user}", anchor=SearchPathQuery(provider="main"))
    if config_dir is not None:
        folder = Path(config_dir).absolute()
        if not folder.is_dir():
            raise UsageError(Problem("--config-dir", "is no folder", show(config_dir)))
        made.prepend("command-line", f"file://{folder}", anchor=SearchPathQuery(provider="schema"))
    return made if ahead is None else put_ahead(made, ahead)


def put_ahead(path: ConfigSearchPath, folder: Path) -> ConfigSearchPathImpl:
    """The search path with a folder before all others: a baseline as another commit has it."""
    made = ConfigSearchPathImpl()
    made.config_search_path = list(path.get_path())
    made.prepend("ahead", f"file://{folder.absolute()}")
    return made
