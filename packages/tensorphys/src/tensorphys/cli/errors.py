"""What ends a command with one line instead of a traceback."""

from __future__ import annotations

import re

# Where in its own sources OpenUSD found a fault, and the text that matters.
_OPENUSD = re.compile(r"Error in '\S+' at line \d+ in file \S+ : '(.*?)'(?= Error in |$)")


class CommandError(ValueError):
    """The arguments or the stage do not allow what was asked for; the text is one line."""


def known_errors() -> tuple[type[BaseException], ...]:
    """Errors that a stage or an argument can cause, as opposed to a fault of this program."""
    from pxr import Tf

    import tensorphys_contact
    import tensorphys_dynamics
    import tensorphys_engine
    import tensorphys_scene
    import tensorphys_spatial
    import tensorphys_usd

    return (
        CommandError,
        tensorphys_usd.UsdError,
        tensorphys_scene.SceneError,
        tensorphys_spatial.SpatialError,
        tensorphys_contact.ContactError,
        tensorphys_dynamics.DynamicsError,
        tensorphys_engine.EngineError,
        Tf.ErrorException,
        OSError,
    )


def one_line(error: BaseException) -> str:
    """Text of an error in the words of the command line."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = _OPENUSD.sub(r"\1;", text).rstrip(";")
    return text.replace("ignore_unsupported=True leaves it out", "--ignore-unsupported leaves it out")
