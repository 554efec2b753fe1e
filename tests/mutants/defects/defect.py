"""A small wrong change to a file, and the tests that find it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """A small wrong change.

    Attributes:
        file: path of the file below src/headscope, or from the root for a file of packages/.
        old: text that occurs exactly once in the file.
        new: text that replaces it.
        tests: tests that find the defect, as `folder/test_file.py::test_function`, below tests.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def path(self) -> str:
        """Path of the file from the root of the repository."""
        return self.file if self.file.startswith("packages/") else f"src/headscope/{self.file}"

    @property
    def folder(self) -> str:
        """Folder of src/headscope, or package, that contains the file."""
        parts = self.file.split("/")
        return parts[1] if parts[0] == "packages" else parts[0]


def defect(file: str, old: str, new: str, *tests: str) -> Defect:
    """Make a `Defect` from a line of a list."""
    return Defect(file, old, new, tests)
