"""The Dockerfile of the repository, as Docker reads it: its instructions, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass, field

from helpers.sources import ROOT

DOCKERFILE = ROOT / "infra" / "docker" / "Dockerfile"


@dataclass
class Stage:
    """A stage of the build.

    Attributes:
        image: that it begins from.
        instructions: name and argument of each instruction after FROM.
    """

    image: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        """The arguments of the instructions of a name, in order."""
        return [rest for found, rest in self.instructions if found == name]


def stages() -> list[Stage]:
    """The stages in order, without comments, continued lines joined."""
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#")).replace("\\\n", " ")
    found: list[Stage] = []
    for name, _, rest in (line.partition(" ") for line in text.splitlines() if line):
        if name == "FROM":
            found.append(Stage(rest.split()[0]))
        else:
            found[-1].instructions.append((name, rest))
    return found
